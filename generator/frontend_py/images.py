"""Inputs: images with data from outside; `buffer.py` has those with data, `param.py` has numbers."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.called import Word
from generator.frontend_py.ignored import Scheduled
from generator.frontend_py.implicit import placed
from generator.frontend_py.nodes import Edge, Expr, Pixel, as_expr
from generator.frontend_py.types import Type, type_of_numpy
from generator.frontend_py.where import here


class Image(Scheduled):
    """An input of `dims` dimensions. `data`: numpy, last dimension first, if known.

    `estimates`: (min, extent) by dimension, None if unknown. `limits`: promised ones (`set_bounds`), which hold for any
    size and for data. `lows`: promised least coordinates only (`set_min`). `made_at`: a time, which orders all inputs.
    """

    fixed = False
    """Whether its coordinates are numbers, as for a Buffer."""

    def __init__(self, kind: Type, dims: int, name: str, data: NDArray[Any] | None = None) -> None:
        self.type, self.dims, self.name, self.at = kind, dims, Word(name), here()
        self.made_at = perf_counter_ns()
        self.data: NDArray[Any] | None = None
        self.estimates: list[tuple[int, int] | None] = [None] * dims
        self.limits: list[tuple[int, int] | None] = [None] * dims
        self.lows: list[int | None] = [None] * dims
        if data is not None:
            self._take(data, [0] * dims)

    def _take(self, data: NDArray[Any], lows: Sequence[int]) -> None:
        """Use these elements, which begin at the coordinates `lows`. Raises InputError if they do not fit."""
        if data.ndim != self.dims or type_of_numpy(data.dtype) != self.type:
            raise InputError(
                f"image `{self.title}` has {self.dims} dimensions of {self.type}, but the data has {data.ndim} "
                f"of {type_of_numpy(data.dtype)}",
                here(),
            )
        region = list(zip(lows, reversed(data.shape), strict=True))
        for dim, (limit, low, given) in enumerate(zip(self.limits, self.lows, region, strict=True)):
            if (limit is not None and limit != given) or (low is not None and low != given[0]):
                promised = f"set_bounds{limit}" if limit is not None else f"set_min({low})"
                raise InputError(f"the data of image `{self.title}` has (min, extent) {given} in dimension {dim}, but "
                                 f"dim({dim}).{promised} promises something else", here())
        self.data = np.asarray(data)
        self.estimates = list(region)

    @property
    def title(self) -> str:
        """Its name, or its location in the source."""
        return self.name or f"(unnamed, line {self.at.line})"

    def __getitem__(self, index: Any) -> Pixel:
        args = placed(tuple(as_expr(i) for i in (index if isinstance(index, tuple) else (index,))), self.dims)
        if len(args) != self.dims:
            raise InputError(
                f"image `{self.title}` has {self.dims} dimensions but is used with {len(args)} coordinates", here()
            )
        bad = next((a for a in args if a.type.is_float()), None)
        if bad is not None:
            raise InputError(
                f"image `{self.title}` is used with a coordinate of type {bad.type}; cast it to int32", here()
            )
        return Pixel(self, args, here())

    def __call__(self, *index: Any) -> Pixel:
        """Return the same as `self[index]`."""
        return self[index]

    def dimensions(self) -> int:
        """Return the number of dimensions."""
        return self.dims

    def defined(self) -> bool:
        """Return True: an input is always defined."""
        return True

    def dim(self, number: int) -> Dimension:
        """Return one dimension: its `min()`, `extent()`, `max()`. Raises InputError if it does not exist."""
        if not 0 <= number < self.dims:
            raise InputError(
                f"image `{self.title}` has {self.dims} dimensions, number {number} is not one of them", here()
            )
        return Dimension(self, number)

    def width(self) -> Any:
        """Return the extent of dimension 0."""
        return self.dim(0).extent()

    def height(self) -> Any:
        """Return the extent of dimension 1."""
        return self.dim(1).extent()

    def channels(self) -> Any:
        """Return the extent of dimension 2."""
        return self.dim(2).extent()

    def left(self) -> Any:
        """Return the least coordinate of dimension 0."""
        return self.dim(0).min()

    def top(self) -> Any:
        """Return the least coordinate of dimension 1."""
        return self.dim(1).min()

    def right(self) -> Any:
        """Return the greatest coordinate of dimension 0."""
        return self.dim(0).max()

    def bottom(self) -> Any:
        """Return the greatest coordinate of dimension 1."""
        return self.dim(1).max()

    def bounds(self) -> list[tuple[Any, Any]]:
        """Return (min, extent) of all dimensions."""
        return [(self.dim(d).min(), self.dim(d).extent()) for d in range(self.dims)]

    def set_estimates(self, bounds: Sequence[tuple[int, int]]) -> None:
        """Set (min, extent) estimates of all dimensions. Raises InputError for another number of pairs."""
        if len(bounds) != self.dims:
            raise InputError(f"image `{self.title}` has {self.dims} dimensions but {len(bounds)} estimates", here())
        for number, (low, extent) in enumerate(bounds):
            self.dim(number).set_estimate(low, extent)


class Dimension:
    """One dimension of an input."""

    def __init__(self, image: Image, number: int) -> None:
        self.image, self.number = image, number

    def min(self) -> Any:
        """Return the least coordinate: an expression, or a number for a Buffer."""
        return self._edge("min")

    def extent(self) -> Any:
        """Return the number of coordinates: an expression, or a number for a Buffer."""
        return self._edge("extent")

    def max(self) -> Any:
        """Return the greatest coordinate: an expression, or a number for a Buffer."""
        return self.min() + self.extent() - 1

    def stride(self) -> Any:
        """Return the distance of neighbours in memory: of a Buffer that of its data, else without gaps."""
        if self.image.fixed and self.image.data is not None:
            axis = self.image.dims - 1 - self.number
            return self.image.data.strides[axis] // self.image.data.itemsize
        found: Any = 1
        for number in range(self.number):
            found = found * self.dim(number).extent()
        return found

    def _edge(self, what: str) -> Expr | int:
        known = self.image.estimates[self.number] if self.image.fixed else None
        return Edge(self.image, self.number, what) if known is None else known[what == "extent"]

    def set_estimate(self, low: int, extent: int) -> Dimension:
        """Set the expected coordinates. Raises InputError for a range without elements, or one that differs from the
        data.
        """
        if extent < 1:
            raise InputError(f"image `{self.image.title}`: an extent of {extent} in dimension {self.number}", here())
        if self.image.data is None:
            self.image.estimates[self.number] = (int(low), int(extent))
        return self

    def set_bounds(self, low: int, extent: int) -> Dimension:
        """Promise the coordinates, for every size. Raises InputError for a range without elements, or other data."""
        if extent < 1:
            raise InputError(f"image `{self.image.title}`: an extent of {extent} in dimension {self.number}", here())
        promised, known = (int(low), int(extent)), self.image.estimates[self.number]
        if self.image.data is not None and known != promised:
            raise InputError(
                f"image `{self.image.title}` has data with (min, extent) {known} in dimension {self.number}, which "
                f"set_bounds{promised} does not allow",
                here(),
            )
        self.image.limits[self.number], self.image.lows[self.number] = promised, None
        return self

    def set_min(self, low: int) -> Dimension:
        """Promise the least coordinate; reads determine the number of coordinates, unless `set_extent` does."""
        limit, known = self.image.limits[self.number], self.image.estimates[self.number]
        if limit is not None:
            return self.set_bounds(low, limit[1])
        if self.image.data is not None and known is not None and known[0] != low:
            raise InputError(
                f"image `{self.image.title}` has data from {known[0]} on in dimension {self.number}, which "
                f"set_min({low}) does not allow",
                here(),
            )
        self.image.lows[self.number] = int(low)
        return self

    def set_extent(self, extent: int) -> Dimension:
        """Promise the number of coordinates, from that of `set_min` or from 0 on."""
        limit = self.image.limits[self.number]
        return self.set_bounds(limit[0] if limit is not None else self.image.lows[self.number] or 0, extent)

    def dim(self, number: int) -> Dimension:
        """Return another dimension of the same input."""
        return self.image.dim(number)

    def set_stride(self, stride: int) -> Dimension:
        """Accepted without effect: the memory layout is fixed."""
        return self


class ImageParam(Image):
    """An input whose data come later: from `set`, or seeded random data of the size in the estimates or the command."""

    def __init__(self, kind: Type, dimensions: int, name: str = "") -> None:
        super().__init__(kind, dimensions, name)

    def set(self, data: Any) -> None:
        """Use this Buffer or numpy array (last dimension first). Raises InputError if it does not fit."""
        given = data.data if isinstance(data, Image) else np.asarray(data)
        if given is None:
            raise InputError(f"image `{self.title}` is set to an image that has no data", here())
        known = data.estimates if isinstance(data, Image) else [None] * given.ndim
        self._take(given, [0 if region is None else region[0] for region in known])
