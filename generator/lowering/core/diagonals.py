"""The loops of blocks that run one tile of a wavefront each, diagonal by diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from generator.decisions.size_lists import smallest_inner
from generator.expr import Binary, Expr, Int, Name
from generator.linear import combination
from generator.lowering.naming import fresh_name, loop_names
from generator.nest import Barrier, For, If, Node
from generator.plan import KernelPlan
from generator.polyhedral.kit.ast import LoopName, box_context, condition_of, generate
from generator.polyhedral.memory.coverage import check_instances, values_at
from generator.polyhedral.memory.diagonals import (
    Diagonals,
    at_place,
    diagonals_of,
    first_tiles,
    full_tiles,
    place_of_longest,
    places_of,
    steps_of,
    with_inner_tiles,
)
from generator.polyhedral.memory.loop_values import loop_values
from generator.polyhedral.memory.mapping import block_names, check_fits, thread_names
from generator.polyhedral.schedules.kernels import KernelPart, dimension
from generator.polyhedral.schedules.legality import indices
from generator.program import Program


def diagonal_loops(
    program: Program, part: KernelPart, plan: KernelPlan, prefix: Sequence[str], leaving: bool
) -> tuple[Node, ...]:
    """Return the loops of a thread, for given host iterators, block and thread indices; statements are Instances.

        for (diagonal = 0; diagonal < 70; ++diagonal) {
            for (in0 = t0; in0 < 8; in0 += 4)
                for (in1 = t1; in1 < 32; in1 += 16)
                    if (..) S(..);
            barrier
        }

    With inner tiles, `in0` and `in1` are numbers of these, and there are loops over the points of one around `S`.

    `leaving`: blocks whose tile is empty may skip all of it.

    Raises:
        IllegalPlan: the threads of a block cannot share a tile, or sizes do not fit the kernel.
    """
    check_fits(part, plan)
    part = with_inner_tiles(part, smallest_inner(plan.inner_tile))
    found = diagonals_of(part, plan)
    names = _names(program, part, found, prefix)
    hosts = (dimension(member, part.domain) for member in part.prefix)
    bounds = [(name, d.low, d.high) for name, d in zip(prefix, hosts, strict=True)]
    blocks, threads = block_names(len(part.parallel)), thread_names(len(part.parallel))
    bounds += [(name, 0, d.extent - 1) for name, d in zip(blocks, part.parallel, strict=True)]
    whole = _whole(part, plan, found, names, bounds)
    around = _first_tile(part, prefix) if leaving else None
    members = (*part.prefix, *indices(found.tree, "block"), *indices(found.tree, "thread"), found.number, *found.inside)
    check_instances(
        _under(around, whole),
        [*bounds, *((name, 0, size - 1) for name, size in zip(threads, plan.block, strict=True))],
        values_at(members, part.domain),
        dict.fromkeys(part.statements, (names.diagonal, *names.inside.values())),
        loop_values(found.at_point, part.domain, names.below),
    )
    return _under(around, replace(whole, body=(*whole.body, Barrier(arrays=True))))


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the host loops, of the loops over diagonals and along the rows of the tile (by row), and of those
    below.
    """

    prefix: Sequence[str]
    diagonal: str
    inside: Mapping[int, str]
    below: tuple[LoopName, ...]


def _names(program: Program, part: KernelPart, found: Diagonals, prefix: Sequence[str]) -> _Names:
    count = len(part.parallel)
    taken = {*prefix, *block_names(count), *thread_names(count), *(array.name for array in program.arrays)}
    below = loop_names(found.at_point, program, taken)
    taken |= {loop.name for loop in below}
    return _Names(
        prefix, fresh_name("diagonal", taken), {row: fresh_name(f"in{row}", taken) for row in found.rows}, below
    )


def _whole(
    part: KernelPart, plan: KernelPlan, found: Diagonals, names: _Names, bounds: Sequence[tuple[str, int, int]]
) -> For:
    """Return the loop over the diagonals. `bounds`: those of host iterators and blocks.

    Tiles that are completely in the domain have their own loops, without the conditions of the others.
    """
    outside, steps = box_context(bounds), (names.diagonal, 0, found.steps - 1)
    along = [(name, 0, places_of(part)[row] - 1) for row, name in names.inside.items()]
    context = box_context([*bounds, steps, *along])
    domain = at_place(part, names.prefix, names.diagonal, names.inside)
    nodes = _along(part, plan, found, names, generate(found.at_point, domain, context, names.below, part.coarse))
    full = _full(part, names, bounds)
    if full is not None:
        whole = domain.intersect_params(full)
        inner = generate(found.at_point, whole, context.intersect(full), names.below, part.coarse)
        nodes = (If(condition_of(full, outside), _along(part, plan, found, names, inner), nodes),)
    return _loop(names.diagonal, Int(0), found.steps, 1, nodes, "diagonals of the tile, one after the other")


def _full(part: KernelPart, names: _Names, bounds: Sequence[tuple[str, int, int]]) -> Any | None:
    """Return the isl parameter Set of the tiles that are completely in the domain: each point, also of inner tiles.

    None if it is not convex, or empty.
    """
    part = part.outer or part
    along = [(name, 0, places_of(part)[row] - 1) for row, name in names.inside.items()]
    points = box_context([*bounds, (names.diagonal, 0, steps_of(part) - 1), *along])
    points = points.intersect(place_of_longest(part, names.diagonal, names.inside))
    domain = at_place(part, names.prefix, names.diagonal, names.inside)
    return full_tiles(domain, box_context(bounds), points, [names.diagonal, *names.inside.values()])


def _along(
    part: KernelPart, plan: KernelPlan, found: Diagonals, names: _Names, nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """Return `nodes` in loops that distribute the rows of the tile over the threads of a block."""
    threads = thread_names(len(part.parallel))
    for dim, (row, name) in reversed(list(zip(found.dims, names.inside.items(), strict=True))):
        note = "threads of the block along a row of the tile"
        nodes = (_loop(name, Name(threads[dim]), places_of(part)[row], plan.block[dim], nodes, note),)
    return nodes


def _loop(iterator: str, start: Expr, end: int, step: int, body: tuple[Node, ...], note: str) -> For:
    return For(iterator, start, Binary("<", Name(iterator), Int(end)), step, body, note)


def _first_tile(part: KernelPart, prefix: Sequence[str]) -> Expr:
    """Return whether the first tiled row has a tile with the remaining number: the sum minus the others."""
    low, high = first_tiles(part)
    terms: dict[Expr, int] = {Name(prefix[-1]): 1}
    terms |= {Name(name): -1 for name in block_names(len(part.parallel))}
    begin = sum(dimension.low for dimension in part.parallel)
    return Binary(
        "&&",
        Binary("<=", Int(0), combination(terms, -begin - low)),
        Binary("<=", combination(terms, -begin - high), Int(0)),
    )


def _under(condition: Expr | None, node: Node) -> tuple[Node, ...]:
    return (node,) if condition is None else (If(condition, (node,)),)
