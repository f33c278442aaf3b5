"""Inputs: images whose data comes from outside, and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.nodes import Edge, Expr, Given, Pixel, as_expr
from generator.frontend_py.types import Type, type_of_numpy
from generator.frontend_py.where import here


class Image:
    """An input of `dims` dimensions; `data` (numpy, last dimension first) when it is known.

    `estimates` are (min, extent) by dimension, None where nobody said anything.
    """

    def __init__(self, kind: Type, dims: int, name: str, data: NDArray[Any] | None = None) -> None:
        self.type, self.dims, self.name, self.at = kind, dims, name, here()
        self.data: NDArray[Any] | None = None
        self.estimates: list[tuple[int, int] | None] = [None] * dims
        if data is not None:
            self._take(data)

    def _take(self, data: NDArray[Any]) -> None:
        if data.ndim != self.dims or type_of_numpy(data.dtype) != self.type:
            raise InputError(f"image `{self.title}` has {self.dims} dimensions of {self.type}, but the data has {data.ndim} "
                             f"of {type_of_numpy(data.dtype)}", here())
        self.data = np.ascontiguousarray(data)
        self.estimates = [(0, n) for n in reversed(data.shape)]

    @property
    def title(self) -> str:
        """Its name, or where it was made."""
        return self.name or f"(unnamed, line {self.at.line})"

    def __getitem__(self, index: Any) -> Pixel:
        args = tuple(as_expr(i) for i in (index if isinstance(index, tuple) else (index,)))
        if len(args) != self.dims:
            raise InputError(f"image `{self.title}` has {self.dims} dimensions but is used with {len(args)} coordinates", here())
        bad = next((a for a in args if a.type.is_float()), None)
        if bad is not None:
            raise InputError(f"image `{self.title}` is used with a coordinate of type {bad.type}; cast it to int32", here())
        return Pixel(self, args, here())

    def __call__(self, *index: Any) -> Pixel:
        """The same as `self[index]`."""
        return self[index]

    def dimensions(self) -> int:
        """The number of dimensions."""
        return self.dims

    def dim(self, number: int) -> Dimension:
        """One dimension: its `min()`, `extent()`, `max()`. Raises InputError when there is none of that number."""
        if not 0 <= number < self.dims:
            raise InputError(f"image `{self.title}` has {self.dims} dimensions, number {number} is not one of them", here())
        return Dimension(self, number)

    def width(self) -> Any:
        """The extent of dimension 0."""
        return self.dim(0).extent()

    def height(self) -> Any:
        """The extent of dimension 1."""
        return self.dim(1).extent()

    def channels(self) -> Any:
        """The extent of dimension 2."""
        return self.dim(2).extent()

    def left(self) -> Any:
        """The least coordinate of dimension 0."""
        return self.dim(0).min()

    def top(self) -> Any:
        """The least coordinate of dimension 1."""
        return self.dim(1).min()

    def right(self) -> Any:
        """The greatest coordinate of dimension 0."""
        return self.dim(0).max()

    def bottom(self) -> Any:
        """The greatest coordinate of dimension 1."""
        return self.dim(1).max()

    def bounds(self) -> list[tuple[Any, Any]]:
        """(min, extent) of all dimensions."""
        return [(self.dim(d).min(), self.dim(d).extent()) for d in range(self.dims)]

    def set_estimates(self, bounds: Sequence[tuple[int, int]]) -> None:
        """Say (min, extent) of all dimensions. Raises InputError for another number of pairs."""
        if len(bounds) != self.dims:
            raise InputError(f"image `{self.title}` has {self.dims} dimensions but {len(bounds)} estimates", here())
        for number, (low, extent) in enumerate(bounds):
            self.dim(number).set_estimate(low, extent)


class Dimension:
    """One dimension of an input."""

    def __init__(self, image: Image, number: int) -> None:
        self.image, self.number = image, number

    def min(self) -> Any:
        """The least coordinate: an expression, of a Buffer a number."""
        return self._edge("min")

    def extent(self) -> Any:
        """How many coordinates there are: an expression, of a Buffer a number."""
        return self._edge("extent")

    def max(self) -> Any:
        """The greatest coordinate: an expression, of a Buffer a number."""
        return self.min() + self.extent() - 1

    def _edge(self, what: str) -> Expr | int:
        known = self.image.estimates[self.number] if isinstance(self.image, Buffer) else None
        return Edge(self.image, self.number, what) if known is None else known[what == "extent"]

    def set_estimate(self, low: int, extent: int) -> Dimension:
        """Say where the data will be. Raises InputError for a range without elements, or when the data says otherwise."""
        if extent < 1:
            raise InputError(f"image `{self.image.title}`: an extent of {extent} in dimension {self.number}", here())
        if self.image.data is None:
            self.image.estimates[self.number] = (int(low), int(extent))
        return self

    set_bounds = set_estimate

    def set_stride(self, stride: int) -> Dimension:
        """Accepted without effect: how data lies in memory is decided here."""
        return self


class ImageParam(Image):
    """An input that is given later: by `set`, or seeded random data of the size that the estimates or the command say."""

    def __init__(self, kind: Type, dimensions: int, name: str = "") -> None:
        super().__init__(kind, dimensions, name)

    def set(self, data: Any) -> None:
        """Use this Buffer or numpy array (last dimension first). Raises InputError when it does not fit."""
        given = data.data if isinstance(data, Image) else np.asarray(data)
        if given is None:
            raise InputError(f"image `{self.title}` is set to an image that has no data", here())
        self._take(given)


class Buffer(Image):
    """An input with its data: a numpy array whose last axis is dimension 0, or `Buffer(type, [w, h, ...])` of zeros."""

    def __init__(self, source: Any, sizes: Any = None, name: str = "") -> None:
        if isinstance(sizes, str):
            sizes, name = None, sizes
        data = np.zeros(tuple(reversed(sizes)), source.numpy) if isinstance(source, Type) else np.asarray(source)
        super().__init__(type_of_numpy(data.dtype), data.ndim, name, data)

    def __getitem__(self, index: Any) -> Any:
        """The element at some coordinates: for numbers its value, else an expression."""
        spot = index if isinstance(index, tuple) else (index,)
        if self.data is None or not all(isinstance(i, int) for i in spot) or len(spot) != self.dims:
            return super().__getitem__(index)
        bad = next((d for d, i in enumerate(spot) if not 0 <= i < self.data.shape[self.dims - 1 - d]), None)
        if bad is not None:
            raise InputError(f"image `{self.title}` has no element {spot[bad]} in dimension {bad}", here())
        return self.data[tuple(reversed(spot))].item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.data, dtype=dtype)


class Param(Expr):
    """A number that is given from outside; here: with the pipeline, at the latest by `set`."""

    def __init__(self, kind: Type, name: str | float = "", value: float | None = None) -> None:
        given = value if isinstance(name, str) else name
        self.kind, self.name, self.at = kind, name if isinstance(name, str) else "", here()
        self.value = given

    @property
    def type(self) -> Type:
        """The type of its value."""
        return self.kind

    def set(self, value: float) -> None:
        """Give it a value."""
        self.value = value

    set_estimate = set

    def as_expr(self) -> Expr:
        """Its value in an expression."""
        return Given(self)

    def number(self) -> int | float:
        """Its value. Raises InputError when nobody gave one, or one that its type does not have."""
        if self.value is None or not self.type.holds(self.value):
            known = f"has the value {self.value}, which does not exist in" if self.value is not None else "has no value of type"
            raise InputError(f"Param `{self.name or '(unnamed)'}` {known} {self.type}; give it one: Param(type, name, value)",
                             self.at)
        return float(self.value) if self.type.is_float() else int(self.value)
