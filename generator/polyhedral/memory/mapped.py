"""Check that a mapped kernel respects every dependence, whatever its sizes; once per kernel if possible.

Blocks, their steps, threads and the points of a thread are numbered by functions of the parallel members, tiles by the
quotients of members and sizes, rounded down. So every mapping of a part is legal if its own tree is and these hold:

- Both ends of each dependence have the same parallel members. Then they run in one thread, at the same point, and the
  loops over steps and points order nothing.
- No dependence decreases a member that may be tiled, unless the loops around it order its ends. Then none decreases the
  number of a tile, and the inner loops order dependences within a tile as before.

Both are tested exactly. If one does not hold, each mapped tree is checked separately.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, assert_never

from generator.errors import IllegalPlan
from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Mapping, Sequence, Tree, multi
from generator.polyhedral.memory.loops_around import tiled_members
from generator.polyhedral.schedules.kernels import KernelPart
from generator.polyhedral.schedules.legality import check_kernel, check_threads


def check_mapped(part: KernelPart, tree: Tree) -> None:
    """Raise IllegalPlan unless `tree`, made from `part` by `map_kernel`, respects the dependences within a launch."""
    if not legal_for_all_sizes(part):
        check_threads(tree, part.dependences)
        check_kernel(tree, part.dependences)


@lru_cache(maxsize=1024)
def legal_for_all_sizes(part: KernelPart) -> bool:
    """Return whether every mapping of `part` is known to be legal."""
    members, dependences = tuple(dimension.member for dimension in part.parallel), part.dependences
    if members and not dependences.subtract(dependences.eq_at_multi_union_pw_aff(multi(members))).is_empty():
        return False
    try:
        check_kernel(part.tree, dependences)
    except IllegalPlan:
        return False
    return _tiles_in_order(part.tree, dependences)


def _tiles_in_order(tree: Tree, dependences: Any) -> bool:
    """Return whether no dependence decreases a member of a band that `map_kernel` may tile."""
    match tree:
        case Leaf():
            return True
        case Band(members=members, child=child):
            together = tiled_members(tree)
            if not all(dependences.lex_gt_at_multi_union_pw_aff(multi((m,))).is_empty() for m in members[:together]):
                return False
            inside = dependences.eq_at_multi_union_pw_aff(multi((members[0],)))
            inner = replace(tree, members=members[1:], coincident=tree.coincident[1:]) if members[1:] else child
            return _tiles_in_order(inner, inside)
        case Sequence(filters, children):
            return all(_tiles_in_order(child, dependences.intersect_domain(part).intersect_range(part))
                       for part, child in zip(filters, children, strict=True))
        case Launch() | Mapping() | Fill():
            raise AssertionError("a part has neither threads nor launches yet")
        case _:
            assert_never(tree)
