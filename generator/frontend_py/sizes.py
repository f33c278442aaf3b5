"""The coordinates of inputs that are known when a pipeline is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generator.errors import InputError
from generator.frontend_py.images import Image

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sizes:
    """(min, extent) by dimension of the inputs (by `id`); None if reads determine it.

    `wanted`: the extents that the command requested, by dimension.
    """

    known: Mapping[int, tuple[Range | None, ...]]
    wanted: tuple[int, ...]

    def edge(self, image: Image, dim: int, what: str) -> int:
        """Return a bound of an input. Raises InputError if its size is unknown."""
        found = self.known[id(image)][dim]
        if found is None:
            raise InputError(
                f"it is unknown how large image `{image.title}` is in dimension {dim}: give its estimates "
                f"({image.name or 'image'}.set_estimates([(min, extent), ...])), data, or --size (in Python: "
                "parameters={'width': ..., 'height': ...})",
                image.at,
            )
        return found[0] if what == "min" else found[1]
