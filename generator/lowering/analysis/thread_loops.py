"""The loops of a kernel's threads, for decisions about single loops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from generator.decisions.size_lists import smallest_inner
from generator.decisions.thread_loops import POINTS, Loops, ThreadLoop
from generator.lowering.naming import LoopKey, loop_keys
from generator.plan import KernelPlan
from generator.polyhedral.memory.footprint import plan_points
from generator.polyhedral.memory.mapping import map_kernel
from generator.polyhedral.memory.thread_values import thread_values
from generator.polyhedral.schedules.kernels import KernelPart, is_even, reordered
from generator.program import Program

_LEAST = 4
"""The least extent of a dimension with two points in each of two runs."""


@dataclass(frozen=True, slots=True)
class ThreadLoops:
    """The loops of a kernel's threads, which depend on its sizes and on the order of its parallel dimensions.

    `whole`: the kernel's program is the whole program.
    """

    program: Program
    part: KernelPart
    whole: bool

    def found(self, decided: Loops, order: tuple[int, ...]) -> tuple[ThreadLoop, ...]:
        """Return all of them, the outermost first."""
        loops = _loops(self.program, self.part, alike(reordered(self.part, order), decided), order)
        together = decided.points_inside or smallest_inner(decided.inner_tile) > 1  # else one point after the other
        if not (together and self.whole and thread_values(self.program, self.part)):
            return loops
        return tuple(replace(loop, own=loop.kind in POINTS) for loop in loops)


def alike(part: KernelPart, decided: Loops) -> Loops:
    """Return the smallest sizes with the same loops over points as `decided`, because many sizes have the same loops:
    along each dimension there is a loop over runs or not, and one in a run or not.
    """
    if any(dim.extent < _LEAST for dim in part.parallel) or not is_even(part):
        return decided
    tiles, last = [], len(part.parallel) - 1
    for d, (dim, tile, block) in enumerate(zip(part.parallel, decided.tile, decided.block, strict=True)):
        run = decided.run if d == last else 1
        several = min(tile, dim.extent) > block * run
        tiles.append((2 if several else 1) * (2 if run > 1 else 1))
    return replace(decided, tile=tuple(tiles), block=(1,) * len(tiles), run=2 if decided.run > 1 and tiles else 1)


@lru_cache(maxsize=4096)
def _loops(program: Program, part: KernelPart, decided: Loops, order: tuple[int, ...]) -> tuple[ThreadLoop, ...]:
    part = reordered(part, order)
    plan = KernelPlan(part.statements, decided.tile, decided.block, decided.shared, decided.inner_tile,
                      points_inside=decided.points_inside, run=decided.run, uncopied=decided.uncopied,
                      whole=decided.whole, depth=decided.depth)
    points = plan_points(program, part, decided.whole, depth=decided.depth)
    tree = map_kernel(part, plan, points, numbered=False).tree
    keys = loop_keys(tree, part.domain, program)
    inside = dict[LoopKey, set[str]]()
    for (name, depth), key in sorted(keys.items(), key=lambda one: one[0][1]):
        inside.setdefault(key, set()).update(
            one.kind for (other, below), one in keys.items() if other == name and below > depth)
    return tuple(ThreadLoop(key.name, key.kind, frozenset(kinds)) for key, kinds in inside.items())
