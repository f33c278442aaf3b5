"""Sizes by name, `--size 512x512`: which dimensions of an output they are, beside those that `bound` fixes.

    out[c, x, y] = ...; out.bound(c, 0, 3)        --size 512x512: width is the extent of x, height that of y

Sizes are given from the first dimension on. If that contradicts `bound`, they are those of the other dimensions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from generator.errors import InputError, Location
from generator.frontend_py.func import Func
from generator.frontend_py.promises import promised

SIZES = ("width", "height", "channels", "frames")
"""The names of the extents of `--size`, by dimension."""
_FEW = 4  # channels of a picture


def by_dimension(outputs: Sequence[Func], sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the extents from the first dimension on: `sizes`, or, if `bound` contradicts them, with its extents before
    and between them.

    They are returned unchanged if they fit, or if no order does.
    """
    found = {_placed(func, sizes) for func in outputs}
    return found.pop() if len(found) == 1 else tuple(sizes)


def _placed(func: Func, sizes: Sequence[int]) -> tuple[int, ...]:
    fixed = _fixed(func)
    agrees = all(known in (None, size) for size, known in zip(sizes, fixed, strict=False))
    if agrees or len(sizes) > fixed.count(None):
        return tuple(sizes)
    rest, found = list(sizes), list[int]()
    for known in fixed:
        if rest:
            found.append(rest.pop(0) if known is None else known)
    return tuple(found)


def _fixed(func: Func) -> list[int | None]:
    """Return the extents that `bound` promises, by dimension; nothing for a Func that is not defined."""
    limits = [promised(func, var.key) for var in func.args()] if func.defined() else []
    return [None if limit is None else limit[1] for limit in limits]


def check_names(outputs: Sequence[Func], parameters: Mapping[str, float], taken: Collection[str], title: str,
                place: Location) -> None:
    """Refuse sizes by name that are obviously those of other dimensions: 3x512x512 for `out[c, x, y]` is width = 3.

    `taken`: the names that the function `title` has as arguments.

    Raises:
        InputError: such a size is an argument of the function.
    """
    given = [(name, parameters[name]) for name in SIZES if name in parameters]
    if not any(name in taken for name, _ in given):
        return
    for func in outputs:
        both = list(zip((size for _, size in given), _fixed(func), strict=False))
        channels = next((k for k, (size, known) in enumerate(both) if known == size <= _FEW), len(both))
        if any(known is None and size > _FEW for size, known in both[channels:]):
            told = ", ".join(f"{name} = {value}" for name, value in given)
            rest = [size for size, known in both if known is None]
            better = ", ".join(f"{name} = {size}" for name, size in zip(SIZES, rest, strict=False))
            raise InputError(
                f"`{title}` gets {told}, but dimension `{func.args()[channels].name}` (number {channels}) of output "
                f"`{func.title}` has the extent {both[channels][1]} by `bound`: leave it out, as in --size "
                f"{'x'.join(map(str, rest))}, for {better}", place)
