"""Tiles that share rows of stages evenly.

All tiles of a kernel compute boxes of the same size, so the last tile of a row overlaps with the one before: two tiles
of 2048 elements compute a row of 2560 1.6 times, five of 512 elements once.
"""

from __future__ import annotations

from generator.decisions.size_lists import cover

_LEAST, _MOST_COMPUTED = 256, 1.125
"""The shortest tile for the sake of even shares; computed elements per element that are accepted."""


def even_size(extent: int, most: int) -> int:
    """Return a tile size for rows of `extent` elements, a power of two up to `most`."""
    size = min(cover(extent), most)
    while size > _LEAST and size < extent and -(-extent // size) * size > _MOST_COMPUTED * extent:
        size //= 2
    return size
