"""The memory of outputs in definitions: `f.output_buffer().dim(2).set_bounds(0, 3)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.errors import InputError
from generator.frontend_py.ignored import Scheduled
from generator.frontend_py.nodes import Var
from generator.frontend_py.where import here

if TYPE_CHECKING:
    from generator.frontend_py.func import Func


class OutputBuffer(Scheduled):
    """The memory of an output. Its layout is fixed, its bounds are those of the Func."""

    def __init__(self, func: Func) -> None:
        self.func = func

    def dimensions(self) -> int:
        """Return the number of dimensions."""
        return self.func.dimensions()

    def dim(self, number: int) -> OutputDimension:
        """Return one dimension. Raises InputError if it does not exist."""
        if not 0 <= number < self.dimensions():
            raise InputError(
                f"output `{self.func.title}` has {self.dimensions()} dimensions, number {number} is not one of them",
                here(),
            )
        return OutputDimension(self.func, number)

    def width(self) -> Var:
        """Return the extent of dimension 0, for schedules."""
        return self.dim(0).extent()

    def height(self) -> Var:
        """Return the extent of dimension 1, for schedules."""
        return self.dim(1).extent()

    def channels(self) -> Var:
        """Return the extent of dimension 2, for schedules."""
        return self.dim(2).extent()


class OutputDimension:
    """One dimension of an output. Its bounds are names that only a schedule can use."""

    def __init__(self, func: Func, number: int) -> None:
        self.func, self.number = func, number

    def dim(self, number: int) -> OutputDimension:
        """Return another dimension of the same output."""
        return OutputBuffer(self.func).dim(number)

    def min(self) -> Var:
        """Return the least coordinate."""
        return Var(f"{self.func.title}.min.{self.number}")

    def extent(self) -> Var:
        """Return the number of coordinates."""
        return Var(f"{self.func.title}.extent.{self.number}")

    def max(self) -> Var:
        """Return the greatest coordinate."""
        return Var(f"{self.func.title}.max.{self.number}")

    def set_bounds(self, low: int, extent: int) -> OutputDimension:
        """Promise that only these coordinates are wanted: the Func's `bound`."""
        self.func.bound(self.func.args()[self.number], low, extent)
        return self

    def set_extent(self, extent: int) -> OutputDimension:
        """Promise the number of wanted coordinates, from 0 on."""
        return self.set_bounds(0, extent)

    def set_estimate(self, low: int, extent: int) -> OutputDimension:
        """Set the coordinates that are wanted by default."""
        self.func.set_estimate(self.func.args()[self.number], low, extent)
        return self

    def set_min(self, low: int) -> OutputDimension:
        """Check that the coordinates begin at 0. Raises InputError for another number, which also needs an extent."""
        if low != 0:
            raise InputError(
                f"output `{self.func.title}`: say set_bounds({low}, extent) instead of set_min({low})", here()
            )
        return self

    def set_stride(self, stride: int) -> OutputDimension:
        """Accepted without effect: the memory layout is fixed."""
        return self
