"""The locations of the elements that a thread keeps, as expressions over host, block, thread and point numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from generator.expr import Expr
from generator.plan import KernelPlan
from generator.polyhedral.kit.ast import box_context, expression
from generator.polyhedral.kit.members import value_range
from generator.polyhedral.memory.accumulate import Kept, places
from generator.polyhedral.memory.mapping import (
    Points,
    block_names,
    point_member,
    thread_member,
    thread_names,
    tile_member,
)
from generator.polyhedral.schedules.kernels import Dimension, KernelPart


@dataclass(frozen=True, slots=True)
class Location:
    """The subscripts of a point's element, and whether it exists."""

    element: tuple[Expr, ...]
    exists: Expr


def locate(kept: Kept, part: KernelPart, plan: KernelPlan, prefix: Sequence[str], points: Sequence[tuple[Points, str]],
           every_thread: bool) -> Location:
    """Return the location of the element that a thread keeps for one of its points.

    `prefix`: names of the host loops. `points`: with names of the point numbers. `every_thread`: the element exists for
    a thread if this thread accesses it; otherwise if some thread does that differs only in dimensions on which the
    element does not depend.
    """
    dims = range(len(part.parallel))
    threads = [d for d in dims if every_thread or d in kept.owned]
    sizes = list(zip(part.parallel, plan.tile, plan.block, strict=True))
    names = [*prefix, *block_names(len(sizes)), *(thread_names(len(sizes))[d] for d in threads),
             *(n for _, n in points)]
    members = [*part.prefix, *(tile_member(d, t) for d, t, _ in sizes),
               *(thread_member(*sizes[d], _run(plan, d)) for d in threads),
               *(point_member(*sizes[p.dim][:2], p) for p, _ in points)]
    hosts = [value_range(member.intersect_domain(part.domain)) for member in part.prefix]
    bounds = [(name, *ends) for name, ends in zip(prefix, hosts, strict=True)]
    counts = _counts(sizes, threads, points)
    bounds += [(name, 0, count - 1) for name, count in zip(names[len(prefix):], counts, strict=True)]
    where = places(kept, members)
    for position, name in enumerate(names):
        where = where.set_dim_name(isl.dim_type.set, position, name)
    numbers = _members_of(kept, plan, part, points)
    by_number = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join([*prefix, *numbers])}] }}")
    element = by_number.apply_range(kept.element).intersect_domain(where)
    context = box_context(bounds)
    build = isl.AstBuild.from_context(context)
    index = isl.PwMultiAff.from_map(_with_parameters(element, names))
    known = where.move_dims(isl.dim_type.param, 0, isl.dim_type.set, 0, len(names)).params()
    subscripts = tuple(
        expression(build.expr_from_pw_aff(
            index.get_pw_aff(d).project_domain_on_params().gist_params(known).gist_params(context)))
        for d in range(element.dim(isl.dim_type.out)))
    return Location(subscripts, expression(build.expr_from_set(known.gist_params(context))))


def _counts(sizes: Sequence[tuple[Dimension, int, int]], threads: Sequence[int],
            points: Sequence[tuple[Points, str]]) -> list[int]:
    """Return the numbers of blocks, threads and points per dimension."""
    blocks = [-(-dim.extent // tile) for dim, tile, _ in sizes]
    return [*blocks, *(sizes[d][2] for d in threads), *(p.count for p, _ in points)]


def _run(plan: KernelPlan, dim: int) -> int:
    """Return the number of consecutive neighbours of a thread."""
    return plan.run if dim == len(plan.tile) - 1 else 1


def _members_of(kept: Kept, plan: KernelPlan, part: KernelPart, points: Sequence[tuple[Points, str]]) -> list[str]:
    """Return the owned parallel members in terms of block, thread and point numbers, as isl text."""
    blocks, threads = block_names(len(part.parallel)), thread_names(len(part.parallel))
    texts = []
    for d in kept.owned:
        text = f"{part.parallel[d].low} + {plan.tile[d]} * {blocks[d]} + {_run(plan, d)} * {threads[d]}"
        texts.append("".join([text, *(f" + {p.stride} * {name}" for p, name in points if p.dim == d)]))
    return texts


def _with_parameters(relation: Any, names: Sequence[str]) -> Any:
    """Return `relation` with its inputs as parameters with these names."""
    for position, name in enumerate(names):
        relation = relation.set_dim_name(isl.dim_type.in_, position, name)
    return relation.move_dims(isl.dim_type.param, 0, isl.dim_type.in_, 0, len(names))
