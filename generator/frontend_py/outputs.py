"""What definitions say of the memory of their outputs: `f.output_buffer().dim(2).set_bounds(0, 3)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.errors import InputError
from generator.frontend_py.ignored import Scheduled
from generator.frontend_py.nodes import Var
from generator.frontend_py.where import here

if TYPE_CHECKING:
    from generator.frontend_py.func import Func


class OutputBuffer(Scheduled):
    """The memory of an output. How it lies there is decided here, its bounds are those of the Func."""

    def __init__(self, func: Func) -> None:
        self.func = func

    def dimensions(self) -> int:
        """The number of dimensions."""
        return self.func.dimensions()

    def dim(self, number: int) -> OutputDimension:
        """One dimension. Raises InputError when there is none of that number."""
        if not 0 <= number < self.dimensions():
            raise InputError(
                f"output `{self.func.title}` has {self.dimensions()} dimensions, number {number} is not one of them",
                here(),
            )
        return OutputDimension(self.func, number)

    def width(self) -> Var:
        """The extent of dimension 0, for schedules."""
        return self.dim(0).extent()

    def height(self) -> Var:
        """The extent of dimension 1, for schedules."""
        return self.dim(1).extent()

    def channels(self) -> Var:
        """The extent of dimension 2, for schedules."""
        return self.dim(2).extent()


class OutputDimension:
    """One dimension of an output. Its edges are names that only a schedule can use."""

    def __init__(self, func: Func, number: int) -> None:
        self.func, self.number = func, number

    def dim(self, number: int) -> OutputDimension:
        """Another dimension of the same output."""
        return OutputBuffer(self.func).dim(number)

    def min(self) -> Var:
        """The least coordinate."""
        return Var(f"{self.func.title}.min.{self.number}")

    def extent(self) -> Var:
        """How many coordinates there are."""
        return Var(f"{self.func.title}.extent.{self.number}")

    def max(self) -> Var:
        """The greatest coordinate."""
        return Var(f"{self.func.title}.max.{self.number}")

    def set_bounds(self, low: int, extent: int) -> OutputDimension:
        """Promise that only these coordinates are wanted: the Func's `bound`."""
        self.func.bound(self.func.args()[self.number], low, extent)
        return self

    def set_extent(self, extent: int) -> OutputDimension:
        """Promise that so many coordinates are wanted, from 0 on."""
        return self.set_bounds(0, extent)

    def set_estimate(self, low: int, extent: int) -> OutputDimension:
        """Say which coordinates are wanted where nothing else says it."""
        self.func.set_estimate(self.func.args()[self.number], low, extent)
        return self

    def set_min(self, low: int) -> OutputDimension:
        """The coordinates begin at 0. Raises InputError for another number, which needs an extent, too."""
        if low != 0:
            raise InputError(
                f"output `{self.func.title}`: say set_bounds({low}, extent) instead of set_min({low})", here()
            )
        return self

    def set_stride(self, stride: int) -> OutputDimension:
        """Accepted without effect: how data lies in memory is decided here."""
        return self
