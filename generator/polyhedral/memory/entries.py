"""The numbers of steps and tiles around a fill point, and their exact check in generated loops.

The boxes filled there are functions of these numbers. Generated code passes the numbers to each fill point:

    for (int q = 0; q < 4; ++q) { enter_0(q); for (int k = 8 * q; k < 8 * q + 8; ++k) S(k); }

Here `S(k)` reads boxes of tile `q`, and has to be in tile `floor(k / 8)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import islpy as isl

from generator.decisions.size_lists import InnerTiles
from generator.decisions.walk import walked
from generator.errors import IllegalPlan
from generator.expr import Expr
from generator.plan import KernelPlan
from generator.polyhedral.dependences.model import maps
from generator.polyhedral.kit.affine import Iteration, affine
from generator.polyhedral.kit.ast import enter
from generator.polyhedral.kit.tree import multi
from generator.polyhedral.memory.footprint import FillPoint
from generator.polyhedral.memory.mapping import MappedKernel, block_names, step_member, tile_member
from generator.polyhedral.schedules.kernels import KernelPart
from generator.polyhedral.schedules.legality import indices

STEP = "antune_step"
"""The name of the step number in a block that walks. Like the names below, it is one that no loop has
(`emit/names.py`): a box's corner may have the names of host loops beside them.
"""

Entries: TypeAlias = Mapping[str, Mapping[str, Any]]
"""By statement and fill point (its pseudo statement): the isl Map from instances to the numbers around the point."""


def host_numbers(count: int) -> tuple[str, ...]:
    """Return names of the numbers of launches, in boxes of stages: one per host loop."""
    return tuple(f"antune_host{d}" for d in range(count))


def tile_names(point: FillPoint, walk: int = 0) -> tuple[str, ...]:
    """Return names of the numbers of the steps and tiles around a fill point."""
    return (STEP,) if walk else tuple(f"antune_tile{d}" for d in range(len(point.tiled)))


def tile_numbers(part: KernelPart, point: FillPoint, tile: tuple[int, ...], inner_tile: InnerTiles,
                 walk: int = 0) -> tuple[Any, ...]:
    """Return these numbers as functions of an instance below the fill point (isl UnionPwAffs)."""
    if point.whole:
        return ()
    along = walked(len(tile))
    steps = (step_member(part.parallel[along], tile[along], walk),) if walk else ()
    return (*steps, *map(tile_member, point.tiled, point.tiles(inner_tile)))


def corner_values(part: KernelPart, plan: KernelPlan, point: FillPoint, mapped: MappedKernel,
                  prefix: Sequence[str]) -> Mapping[str, Any]:
    """Return what names in a box's corner are: functions of an instance below its fill point (isl UnionPwAffs).

    `prefix`: names of the host loops.
    """
    blocks = zip(block_names(len(part.parallel)), indices(mapped.tree, "block"), strict=True)
    tiles = zip(tile_names(point), tile_numbers(part, point, plan.tile, plan.inner_tile), strict=False)
    return dict([*zip(prefix, part.prefix, strict=True), *blocks, *tiles])


def entries_of(part: KernelPart, plan: KernelPlan, points: Sequence[FillPoint]) -> Entries:
    """Return the Entries of all fill points where a kernel fills something."""
    found: dict[str, dict[str, Any]] = {name: {} for name in part.statements}
    for number, point in enumerate(points):
        numbers = tile_numbers(part, point, plan.tile, plan.inner_tile, plan.walk)
        if numbers and point.needed(plan.shared, plan.uncopied):
            together = isl.UnionMap.from_multi_union_pw_aff(multi(numbers)).intersect_domain(point.domain)
            for one in maps(together):
                found[one.get_tuple_name(isl.dim_type.in_)][enter(number)] = one
    return found


def check_entered(name: str, places: Any, entered: Mapping[str, Sequence[Expr]], at: Iteration,
                  numbers: Mapping[str, Any]) -> None:
    """Compare the numbers at which fill points were entered with those of the instances of a statement that run then.

    `places`: the isl Map from these instances to the iterations `at`. `entered`: the arguments of the pseudo statements
    that have run there before; `numbers`: what they should be. Raises IllegalPlan.
    """
    for point, right in numbers.items():
        if point not in entered:
            continue  # its copies are not used
        made = isl.Map.from_domain(at.domain)
        for argument in entered[point]:
            made = made.flat_range_product(isl.Map.from_pw_aff(affine(argument, at)))
        count = made.dim(isl.dim_type.out)
        if count != right.dim(isl.dim_type.out) or not places.apply_range(made).is_subset(right):
            raise IllegalPlan(f"the generated loops run an instance of {name} with the copies of another tile; use "
                              "other sizes or another schedule")
