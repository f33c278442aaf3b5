"""The exact check of shared copies: the copied box contains everything that statements below a fill point read."""

from __future__ import annotations

from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.plan import KernelPlan
from generator.polyhedral.kit.members import value_range
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.memory.footprint import Extent, FillPoint, StagedArray
from generator.polyhedral.schedules.kernels import Dimension, KernelPart
from generator.program import Program, Statement


def check_copied(program: Program, part: KernelPart, plan: KernelPlan, point: FillPoint, footprint: StagedArray,
                sizes: tuple[int, ...]) -> None:
    """Compare the subscripts of all accesses to the copy with its box, exactly, over all instances below it.

    This does not depend on how the box was found: the tile indices are recomputed from the members.

    Raises:
        IllegalPlan: the array is written in the same launch, or an access leaves the box.
    """
    writers = [s for s in part.statements if program.statement(s).body.target.array == footprint.array]
    if writers:
        raise IllegalPlan(f"`{footprint.array}` has a shared copy but {writers[0]} writes it in the same launch")
    for name in point.statements:
        statement = program.statement(name)
        instances = point.domain.extract_set(set_of(statement.domain).get_space())
        read = [access.relation for number, access in enumerate(statement.accesses)
                if (name, number) in footprint.accesses]
        corners = [_corner(extent, instances, part, plan, point) for extent in footprint.extents] if read else []
        for relation in read:
            _check_access(relation, statement, instances, corners, footprint, sizes)


def _check_access(access: str, statement: Statement, instances: Any, corners: list[Any], footprint: StagedArray,
                  sizes: tuple[int, ...]) -> None:
    relation = map_of(access).intersect_domain(instances)
    if relation.is_empty():
        return
    index = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(relation))
    for dim, (corner, size) in enumerate(zip(corners, sizes, strict=True)):
        local = index.get_pw_aff(dim).sub(corner).intersect_domain(instances)
        low, high = value_range(local)
        if low < 0 or high >= size:
            raise IllegalPlan(f"{statement.name} reads `{footprint.array}` outside its shared copy: local subscript "
                              f"{dim} goes from {low} to {high}, the copy has {size}")


def _corner(extent: Extent, instances: Any, part: KernelPart, plan: KernelPlan, point: FillPoint) -> Any:
    """Return the box's first index as a function of the instance."""
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(instances.get_space()))
    corner = isl.PwAff.from_aff(zero.set_constant_val(isl.Val(extent.low)))
    inner = point.tiles(plan.inner_tile) or [d.extent for d in point.tiled]
    steps = zip((*extent.parallel, *extent.tiled), (*part.parallel, *point.tiled), (*plan.tile, *inner), strict=True)
    for coefficient, dim, size in steps:
        first = _tile_start(dim, size, instances)
        least = dim.low * coefficient + min(0, coefficient * (min(size, dim.extent) - 1))
        corner = corner.add(first.scale_val(isl.Val(coefficient)))
        corner = corner.add(isl.PwAff.from_aff(zero.set_constant_val(isl.Val(least))))
    for coefficient, member in zip(extent.prefix, part.prefix, strict=False):
        value = member.extract_pw_aff(instances.get_space().from_domain().add_dims(isl.dim_type.out, 1))
        corner = corner.add(value.scale_val(isl.Val(coefficient)))
    return corner


def _tile_start(dim: Dimension, size: int, instances: Any) -> Any:
    """Return `size * floor((member - low) / size)` as an isl PwAff over the instances."""
    member = dim.member.extract_pw_aff(instances.get_space().from_domain().add_dims(isl.dim_type.out, 1))
    low = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(instances.get_space())).set_constant_val(isl.Val(dim.low))
    shifted = member.sub(isl.PwAff.from_aff(low))
    return shifted.scale_down_val(isl.Val(size)).floor().scale_val(isl.Val(size))
