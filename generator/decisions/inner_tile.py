"""The inner tile size: the tile size of the sequential members of a kernel's band (1: untiled).

Several members may have different sizes. The first question is about the smallest of these, which all have unless the
following questions, one per member, multiply it.

In a block that runs the diagonals of a tile, an inner tile is what a thread runs between two barriers.
"""

from __future__ import annotations

from collections.abc import Generator

from generator.decisions.base import Decided, KernelDecision, Known, Offer, Option, Question, Row
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.fragments import tensor_depths
from generator.decisions.products import PRODUCTS
from generator.decisions.shared import SHARED, fits
from generator.decisions.size_lists import InnerTiles, Sizes, smallest_inner
from generator.decisions.sizes import SIZES
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.unroll import UNROLL, inner_tiles
from generator.forms import Form, is_positive

MOST_LOOPS = 4
"""The most inner loops of a kernel for which searches offer sizes of their own."""

WHOLE_LOOP = 0
"""The answer for a loop that is not tiled."""

_MULTIPLE = "inner tile multiple of loop"
_IN_DIAGONALS = (2, 4)
"""Inner tiles of diagonals: larger ones leave few threads busy."""


def _offer(known: Known) -> Offer[InnerTiles]:
    """Offers the sizes with which the copies, if any, and the stages of a block fit."""
    if known[PRODUCTS] != PRODUCTS.default:
        options = tensor_depths(known.shape, known.target, known[PRODUCTS], known[SIZES].tile)
        return Offer(options, ((PRODUCTS.name, known[PRODUCTS]), ("offered", options)))
    if known[DIAGONALS]:
        return _in_diagonals(known)
    inner = inner_tiles(known, known[UNROLL])
    options = tuple(t for t in inner if fits(known, t, 0, known[SHARED], known[UNCOPIED])) or inner[:1]
    return Offer(options, (("offered", options),))


def _in_diagonals(known: Known) -> Offer[InnerTiles]:
    """Offers the sizes whose diagonals are legal, with an inner tile for each thread along a row.

    Their number is compared first: the test of the diagonals takes long.
    """
    rows = tuple(zip(known[SIZES].block, known.shape.diagonals, strict=True))
    options = (1, *(size for size in _IN_DIAGONALS if all(n <= points // min(size, points) for n, points in rows)
                    and known.shape.inner_diagonals(size)))
    return Offer(options, (("offered", options),))


def _loops(known: Known) -> Sizes:
    """Return the extents of the loops that may have sizes of their own; () if all have the same."""
    plain = known.wide and known[PRODUCTS] == PRODUCTS.default and not known[DIAGONALS]
    copied = known[SHARED] and len(known.shape.shareable) > len(known[UNCOPIED])
    extents = known.shape.inner_extents(copied or known.shape.computes) if plain else ()
    return extents if 1 < len(extents) <= MOST_LOOPS else ()


def _multiples(known: Known, smallest: int, chosen: Sizes, extents: Sizes) -> Sizes:
    """Return the multiples of `smallest` that fit as size of the next loop after those `chosen`; WHOLE_LOOP is last.

    The last loop has the smallest size if no other one has it: then no two ways of answering lead to one plan.
    """
    number, rest = len(chosen), len(extents) - len(chosen) - 1
    if not rest and smallest not in chosen:
        return (1,)
    larger = [t for t in inner_tiles(known, known[UNROLL]) if smallest < t < extents[number]]
    larger += [1] if smallest < extents[number] else []
    fitting = (t for t in larger
               if fits(known, (*chosen, t, *(smallest,) * rest), 0, known[SHARED], known[UNCOPIED]))
    return (1, *(t // smallest if t > 1 else WHOLE_LOOP for t in fitting))


class _InnerTile(KernelDecision[InnerTiles]):
    """One question, and one per loop if there are several."""

    def ask(self, known: Known) -> Generator[Question, Option, InnerTiles]:
        """See KernelDecision."""
        smallest = yield from super().ask(known)
        extents, chosen = _loops(known), tuple[int, ...]()
        if not isinstance(smallest, int) or smallest == 1 or not extents:
            return smallest
        for number in range(len(extents)):
            options = _multiples(known, smallest, chosen, extents)
            answer: Option = options[0]
            if len(options) > 1:
                answer = yield Question(f"{_MULTIPLE} {number + 1}", options, (("offered", options),))
            multiple = next(option for option in options if option == answer)
            chosen = (*chosen, multiple * smallest if multiple != WHOLE_LOOP else 1)
        return smallest if set(chosen) == {smallest} else chosen

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """See KernelDecision."""
        sizes = self.of(kernel)
        smallest = smallest_inner(sizes)  # a size that is no multiple of it is not on offer
        each = (sizes,) * MOST_LOOPS if isinstance(sizes, int) else sizes
        found: dict[str, Option] = {self.name: smallest}
        for number, size in enumerate(each, 1):
            found[f"{_MULTIPLE} {number}"] = size // smallest if size > 1 or smallest == 1 else WHOLE_LOOP
        return found

    def rows(self) -> tuple[tuple[str, Row], ...]:
        """See KernelDecision."""
        return (self.shown, self.row), (f"{_MULTIPLE} 1, 2, 3, 4", _MULTIPLE_ROW)


def _text(sizes: InnerTiles) -> str:
    """`8`, or `4x16xwhole`."""
    return str(sizes) if isinstance(sizes, int) else "x".join(str(size) if size > 1 else "whole" for size in sizes)


def _is_sizes(value: object) -> bool:
    several = isinstance(value, list) and all(map(is_positive, value)) and len(set(value)) > 1
    return several or is_positive(value)


_MULTIPLE_ROW = Row(
    "1, 2, 4, 8, 16 times the inner tile size, whole (0)",
    "a sequential loop with a tile size of its own, the outermost loop first; whole: this loop is not tiled. In plans, "
    "`inner_tile` is then a list with the size of each loop, 1 for a whole one: `[4, 16]`",
    "wide, kernels with 2 to 4 sequential loops that can be tiled",
)
INNER_TILE = _InnerTile(
    "inner_tile",
    "inner tile size",
    1,
    Form(_is_sizes, "a positive integer, or a list of positive integers that are not all equal, one per inner loop"),
    _offer,
    Row(
        "1, 4, 8, 16, 32, 64 above the unroll factor",
        "tile size of the sequential loops; sets how much is copied to shared memory at a time (on tensor cores: how "
        "many terms of a sum; with diagonals 2 or 4: a thread runs inner tiles of a diagonal instead of single points, "
        "so there are fewer barriers)",
    ),
    _text,
)
