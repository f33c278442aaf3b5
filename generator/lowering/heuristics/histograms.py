"""Start plans for GPUs with parallel reductions of pipelines: histograms, and few long sums.

Without them, a thread updates all elements of a row of a histogram, or one sum, one after the other in global memory.
In parallel, a block updates a copy of the histogram in shared memory (`combine: private`), and sums are split as in
`split_sums`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from generator.arithmetic import FLOATING
from generator.decisions.size_lists import cover
from generator.expr import loads_of, names_of
from generator.lowering.analysis.shapes import KernelShape
from generator.lowering.heuristics.split_sums import split_kernel
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import sums
from generator.program import Program, Statement
from generator.target import Target

FEW = 1 << 15
"""So many sums, each in a thread, leave most of a GPU idle."""
_ROW, _THREADS = 2048, 256
"""The longest piece of a row that a block adds to its copy of a histogram, and the threads that do it."""


def parallel_updates(program: Program, reductions: Iterable[str]) -> tuple[str, ...]:
    """Return those of `reductions` that pipelines gain from running in parallel: histograms, whose elements data
    choose, and few sums.
    """
    given, sizes = tuple(reductions), {array.name: prod(array.extents) for array in program.arrays}
    rounded = sums(program, given)

    def gains(name: str) -> bool:
        statement = program.statement(name)
        target = statement.body.target.array
        exact = name in rounded or program.array(target).type not in FLOATING
        return exact and (_by_data(statement) or sizes[target] <= FEW)

    return tuple(filter(gains, given))


def _by_data(statement: Statement) -> bool:
    """Return whether data choose the element that an instance updates."""
    own = set(statement.iterators)
    return any(any(loads_of(index)) or not names_of(index) <= own for index in statement.body.target.index)


def reduced_kernel(program: Program, shape: KernelShape, target: Target, points: KernelPlan) -> KernelPlan:
    """Return a kernel for a parallel reduction: split sums; or `points`, updating copies of histograms, in rows if no
    loop runs inside a thread.
    """
    split = split_kernel(program, shape, target, points.order)
    if split is not None:
        return split
    tile, block = points.tile, points.block
    if not shape.sequential and tile:
        outer = (1,) * (len(tile) - 1)
        x = shape.ordered(points.order).extents[-1]
        whole = cover(x)
        tile, block = (*outer, min(_ROW, whole)), (*outer, min(_THREADS, whole))
    return KernelPlan(shape.statements, tile, block, order=points.order, combine="private")
