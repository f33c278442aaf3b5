"""Buffers: inputs with their data, which a definition's file can fill and slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.images import Image
from generator.frontend_py.types import Type, type_of_numpy
from generator.frontend_py.where import here


class Buffer(Image):
    """An input with its data: a numpy array whose last axis is dimension 0, or `Buffer(type, [w, h, ...])` of zeros.

    `b[x, y]` is a number for numbers, and an expression for expressions; `b[x, y] = 3` changes the data.
    """

    fixed = True

    def __init__(self, source: Any, sizes: Any = None, name: str = "") -> None:
        if isinstance(sizes, str):
            sizes, name = None, sizes
        data = np.zeros(tuple(reversed(sizes)), source.numpy) if isinstance(source, Type) else np.asarray(source)
        super().__init__(type_of_numpy(data.dtype), data.ndim, name, data)

    def __getitem__(self, index: Any) -> Any:
        """Return the element at these coordinates: for numbers its value, else an expression."""
        place = self._place(index)
        return super().__getitem__(index) if place is None else self._array()[place].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        """Set the element at coordinates that are numbers. Raises InputError for missing elements and invalid values.
        """
        place = self._place(index)
        if place is None:
            raise InputError(
                f"an element of Buffer `{self.title}` is set by {self.dims} numbers as coordinates", here()
            )
        self._array()[place] = self._number(value)

    def fill(self, value: float) -> Buffer:
        """Set all elements. Raises InputError for a value outside of its type."""
        self._array()[...] = self._number(value)
        return self

    def set_min(self, lows: Sequence[int]) -> None:
        """Set the least coordinates of the data, from the first dimension on. Raises InputError for too many."""
        if len(lows) > self.dims:
            raise InputError(
                f"Buffer `{self.title}` has {self.dims} dimensions, {len(lows)} least coordinates are given", here()
            )
        new = [*lows, *(0 if region is None else region[0] for region in self.estimates[len(lows):])]
        self._take(self._array(), [int(low) for low in new])

    def copy(self) -> Buffer:
        """Return a copy of the elements at the same coordinates."""
        return self._part(self._array().copy(), [low for low, _ in self._region()])

    def cropped(self, dimension: Any, low: int | None = None, extent: int | None = None) -> Buffer:
        """Return a part in one dimension, or in all dimensions of a list [(min, extent), ...]; it shares the elements.

        Raises InputError for a part that does not exist.
        """
        if low is not None and extent is not None:
            wanted = self._region()
            wanted[self._dimension(dimension)] = (int(low), int(extent))
        else:
            wanted = [*((int(a), int(n)) for a, n in dimension), *self._region()[len(dimension):]]
        for dim, ((first, count), (start, n)) in enumerate(zip(self._region(), wanted, strict=True)):
            if n < 1 or start < first or start + n > first + count:
                raise InputError(f"Buffer `{self.title}` has the coordinates {first} to {first + count - 1} in "
                                 f"dimension {dim}; {start} to {start + n - 1} are not all among them", here())
        window = tuple(slice(start - first, start - first + n)
                       for (first, _), (start, n) in zip(reversed(self._region()), reversed(wanted), strict=True))
        return self._part(self._array()[window], [start for start, _ in wanted])

    def sliced(self, dimension: int, position: int | None = None) -> Buffer:
        """Return the elements at one coordinate of a dimension, with one dimension less; they are shared.

        `position`: the least coordinate by default.
        """
        dim = self._dimension(dimension)
        part = self.cropped(dim, self._region()[dim][0] if position is None else position, 1)
        lows = [low for d, (low, _) in enumerate(part._region()) if d != dim]
        return self._part(part._array().squeeze(self.dims - 1 - dim), lows)

    def translated(self, dimension: Any, delta: int | None = None) -> Buffer:
        """Return the same elements, moved by `delta` coordinates in one dimension, or by a list with a number per
        dimension.
        """
        moved = [0] * self.dims
        if delta is not None:
            moved[self._dimension(dimension)] = int(delta)
        else:
            moved[:len(dimension)] = [int(d) for d in dimension]
        if len(moved) > self.dims:
            raise InputError(f"Buffer `{self.title}` has {self.dims} dimensions, it is moved in {len(moved)}", here())
        return self._part(self._array(), [low + d for (low, _), d in zip(self._region(), moved, strict=True)])

    def transposed(self, one: Any, other: int | None = None) -> Buffer:
        """Return the buffer with two dimensions exchanged, or all in the order of a list; it shares the elements."""
        order = list(range(self.dims))
        if other is not None:
            a, b = self._dimension(one), self._dimension(other)
            order[a], order[b] = b, a
        else:
            order = [self._dimension(d) for d in one]
        if sorted(order) != list(range(self.dims)):
            raise InputError(f"Buffer `{self.title}` has {self.dims} dimensions, {order} is not an order of them",
                             here())
        axes = [self.dims - 1 - d for d in reversed(order)]
        return self._part(self._array().transpose(axes), [self._region()[d][0] for d in order])

    def embedded(self, dimension: int, position: int = 0) -> Buffer:
        """Return the elements with one more dimension, of one coordinate; they are shared. Raises InputError for a
        dimension that does not follow the others.
        """
        if not 0 <= dimension <= self.dims:
            raise InputError(f"Buffer `{self.title}` has {self.dims} dimensions, none can be added as number "
                             f"{dimension}", here())
        lows = [low for low, _ in self._region()]
        return self._part(np.expand_dims(self._array(), self.dims - dimension),
                          [*lows[:dimension], int(position), *lows[dimension:]])

    def crop(self, dimension: Any, low: int | None = None, extent: int | None = None) -> None:
        """Keep only what `cropped` returns."""
        self._become(self.cropped(dimension, low, extent))

    def slice(self, dimension: int, position: int | None = None) -> None:
        """Keep only what `sliced` returns."""
        self._become(self.sliced(dimension, position))

    def embed(self, dimension: int, position: int = 0) -> None:
        """Add a dimension, as `embedded`."""
        self._become(self.embedded(dimension, position))

    def translate(self, dimension: Any, delta: int | None = None) -> None:
        """Move the coordinates, as `translated`."""
        self._become(self.translated(dimension, delta))

    def transpose(self, one: Any, other: int | None = None) -> None:
        """Exchange dimensions, as `transposed`."""
        self._become(self.transposed(one, other))

    def copy_from(self, other: Buffer) -> None:
        """Take the elements of another Buffer at the coordinates that both have. Raises InputError for another type."""
        if other.dims != self.dims or other.type != self.type:
            raise InputError(f"Buffer `{self.title}` has {self.dims} dimensions of {self.type}, the other one "
                             f"{other.dims} of {other.type}", here())
        shared = [(max(a, b), min(a + n, b + m) - max(a, b))
                  for (a, n), (b, m) in zip(self._region(), other._region(), strict=True)]
        if all(extent > 0 for _, extent in shared):
            self.cropped(shared).store(other.cropped(shared)._array())

    def number_of_elements(self) -> int:
        """Return the number of elements."""
        return self._array().size

    def size_in_bytes(self) -> int:
        """Return the size of the elements."""
        return self._array().nbytes

    def contains(self, place: Any) -> bool:
        """Return whether there is an element at these coordinates, the first ones if there are more dimensions."""
        spot = place if isinstance(place, list | tuple) else [place]
        return all(low <= int(i) < low + n for i, (low, n) in zip(spot, self._region(), strict=False))

    def all_equal(self, value: float) -> bool:
        """Return whether all elements have this value."""
        return bool((self._array() == self._number(value)).all())

    @staticmethod
    def make_scalar(source: Any, name: str = "") -> Buffer:
        """Return a Buffer of one element without coordinates, of this type."""
        return Buffer(source, [], name)

    @staticmethod
    def make_interleaved(source: Type, width: int, height: int, channels: int, name: str = "") -> Buffer:
        """Return a Buffer of zeros whose channels are next to each other in memory."""
        data = np.zeros((height, width, channels), source.numpy)
        return Buffer(data.transpose(2, 0, 1), name)

    def _become(self, part: Buffer) -> None:
        """Have the coordinates and elements of `part`."""
        self.dims, self.data = part.dims, part.data
        self.estimates, self.limits, self.lows = part.estimates, part.limits, part.lows

    def _part(self, data: NDArray[Any], lows: Sequence[int]) -> Buffer:
        made = Buffer(data, self.name)
        made.set_min(lows)
        return made

    def _region(self) -> list[tuple[int, int]]:
        return [region for region in self.estimates if region is not None]

    def _dimension(self, number: int) -> int:
        return self.dim(number).number

    def store(self, values: NDArray[Any]) -> None:
        """Set all elements to these values, last dimension first."""
        self._array()[...] = values

    def _array(self) -> NDArray[Any]:
        assert self.data is not None, "a Buffer is made with data"
        return self.data

    def _place(self, index: Any) -> tuple[int, ...] | None:
        """Return the position of an element in the data; None unless the index is numbers. Raises InputError if it is
        missing.
        """
        spot = index if isinstance(index, tuple) else (index,)
        if len(spot) != self.dims or not all(isinstance(i, int | np.integer) for i in spot):
            return None
        place = [int(i) - region[0] for i, region in zip(spot, self.estimates, strict=True) if region is not None]
        bad = next((d for d, i in enumerate(place) if not 0 <= i < self._array().shape[self.dims - 1 - d]), None)
        if bad is not None:
            raise InputError(f"image `{self.title}` has no element {spot[bad]} in dimension {bad}", here())
        return tuple(reversed(place))

    def _number(self, value: Any) -> int | float:
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, int | float) or not self.type.holds(number):
            raise InputError(
                f"an element of Buffer `{self.title}` is a number of type {self.type}, which {number!r} is not", here()
            )
        return number

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.data, dtype=dtype)
