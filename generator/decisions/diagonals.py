"""Diagonals: the threads of a block run one tile of a wavefront together, diagonal by diagonal (ours).

Otherwise each thread runs its own tiles. Decided before sizes, because a block then runs one tile, and its threads are
distributed along the rows of the tile instead of over tiles.
"""

from __future__ import annotations

from collections.abc import Generator
from math import prod

from generator.decisions.base import Depends, KernelDecision, Known, Offer, Option, Question, Row, switch
from generator.decisions.shape import Shape
from generator.decisions.size_lists import MIN_THREADS, Sizes
from generator.forms import FLAG
from generator.target import Target


def _offer(known: Known) -> Offer[bool]:
    """Offered on GPUs if a tile has work for a warp. On a CPU, one core per tile is best."""
    rows = known.shape.diagonals
    enough = bool(rows) and prod(rows) >= MIN_THREADS
    return switch(known.wide and enough and not known.target.shares_host_cores, (("rows", rows),) if enough else ())


def inside_tiles(known: Known, names: tuple[str, ...]) -> Generator[Question, Option, tuple[Sizes, Sizes]]:
    """Return one tile, and the threads along its rows, x last; asked x first, with these names of questions."""
    rows = known.shape.diagonals[::-1]
    threads: Sizes = ()
    for name, _ in zip(names, rows, strict=False):
        depends: Depends = (("rows", rows), ("threads", prod(threads)))
        answer = yield Question(name, _threads_along(rows, threads, known.target), depends)
        assert isinstance(answer, int)
        threads = (*threads, answer)
    return (1,) * len(rows), threads[::-1]


def _threads_along(rows: Sizes, chosen: Sizes, target: Target) -> Sizes:
    """Return the numbers of threads along the next row of a tile that a block runs: powers of two up to its size.

    `rows`: the sizes of the tile, x first. `chosen`: the threads along the previous rows. In total there are at least
    MIN_THREADS, if the tile is large enough, and at most the threads of a block.
    """
    limits = [min(row, most) for row, most in zip(rows, target.max_block, strict=False)]
    before, rest = prod(chosen), prod(limits[len(chosen) + 1 :])
    least = min(MIN_THREADS, prod(limits))
    sizes = (1 << n for n in range(limits[len(chosen)].bit_length()))
    return tuple(n for n in sizes if least <= before * n * rest and before * n <= target.max_threads) or (1,)


class _Diagonals(KernelDecision[bool]):
    """Later decisions see a kernel whose threads keep nothing, and whose blocks can copy what their tile needs."""

    def turned(self, shape: Shape, value: bool) -> Shape:
        """See KernelDecision."""
        return shape.along_diagonals() if value else shape


DIAGONALS = _Diagonals(
    "diagonals",
    "diagonals of tiles",
    False,
    FLAG,
    _offer,
    Row(
        "no, yes",
        "yes: a block runs one tile, one diagonal after the other, with barriers between them; its threads are "
        "distributed along the rows of the tile (the thread block sizes refer to these rows, up to the sizes of the "
        "tile) and run the points of a diagonal in parallel, several each if the tile is larger than the block",
        "wide, on GPUs, tiles of a wavefront",
    ),
    lambda _: "",
    younger=True,
)
