"""Blocks in which a statement runs: in a triangle of tiles, only those on one side of its diagonal."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from generator.expr import Expr
from generator.polyhedral.kit.ast import box_context, condition_of, index_filter
from generator.polyhedral.kit.tree import Tree
from generator.polyhedral.memory.mapping import block_names
from generator.polyhedral.schedules.kernels import KernelPart, dimension
from generator.polyhedral.schedules.legality import indices


def used_blocks(
    part: KernelPart, tree: Tree, blocks: Sequence[int], statement: str, prefix: Sequence[str]
) -> Expr | None:
    """Return a condition that holds for all blocks in which `statement` has instances, and for few others.

    It is on block indices and iterators of host loops (`prefix`). None if the statement has instances in all blocks.
    `tree` maps `part` to `blocks`.
    """
    names = block_names(len(blocks))
    ranges = [dimension(member, part.domain) for member in part.prefix]
    bounds = [(name, d.low, d.high) for name, d in zip(prefix, ranges, strict=True)]
    bounds += [(name, 0, count - 1) for name, count in zip(names, blocks, strict=True)]
    whole = part.domain.get_set_list()
    own = [isl.UnionSet.from_set(one) for one in map(whole.get_at, range(whole.n_set()))
           if one.get_tuple_name() == statement]
    here = own[0].intersect(index_filter((*part.prefix, *indices(tree, "block")), (*prefix, *names)))
    context = box_context(bounds)
    # one conjunction without divisions: it may hold for more blocks, which only costs time
    used = here.params().coalesce().remove_divs().simple_hull()
    return None if context.is_subset(used) else condition_of(isl.Set.from_basic_set(used), context)
