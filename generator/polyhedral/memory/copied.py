"""The exact check of shared copies: the copied box contains everything that statements below a fill point read.

The box's corner is the expression that is printed. Its names are given their values here; that generated code runs with
these values is checked by `coverage.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Expr, Name
from generator.linear import terms
from generator.polyhedral.kit.members import value_range
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.memory.footprint import FillPoint, StagedArray
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program, Statement


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of the `sizes[d]` elements from index `corner[d]` on, for the accesses of `footprint`.

    Where `below[d]`, elements before the array are skipped; where `above[d]`, those after it.
    """

    footprint: StagedArray
    corner: tuple[Expr, ...]
    sizes: tuple[int, ...]
    below: tuple[bool, ...]
    above: tuple[bool, ...]


def check_copied(program: Program, part: KernelPart, point: FillPoint, copied: Copied,
                 values: Mapping[str, Any]) -> None:
    """Compare the subscripts of all accesses to the copy with its box, exactly, over all instances below it.

    `values`: what the names in its corner are, as functions of the instance (isl UnionPwAffs).

    Raises:
        IllegalPlan: the array is written in the same launch, an access leaves the box, or the box the array.
    """
    array = copied.footprint.array
    writers = [s for s in part.statements if program.statement(s).body.target.array == array]
    if writers:
        raise IllegalPlan(f"`{array}` has a shared copy but {writers[0]} writes it in the same launch")
    for name in point.statements:
        statement = program.statement(name)
        instances = point.domain.extract_set(set_of(statement.domain).get_space())
        read = [access.relation for number, access in enumerate(statement.accesses)
                if (name, number) in copied.footprint.accesses]
        corners = [_corner(first, instances, values) for first in copied.corner] if read else []
        for relation in read:
            _check_access(relation, statement, instances, corners, copied)
        _check_inside(program, copied, corners)


def _check_inside(program: Program, copied: Copied, corners: list[Any]) -> None:
    """Raise IllegalPlan if elements outside of the array would be copied."""
    array = program.array(copied.footprint.array)
    for dim, corner in enumerate(corners):
        low, high = value_range(corner)
        last = high + copied.sizes[dim] - 1
        if (low < 0 and not copied.below[dim]) or (last >= array.extents[dim] and not copied.above[dim]):
            raise IllegalPlan(f"the shared copy of `{array.name}` leaves it: subscript {dim} goes from {low} to {last}")


def _check_access(access: str, statement: Statement, instances: Any, corners: list[Any], copied: Copied) -> None:
    relation = map_of(access).intersect_domain(instances)
    if relation.is_empty():
        return
    index = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(relation))
    for dim, (corner, size) in enumerate(zip(corners, copied.sizes, strict=True)):
        local = index.get_pw_aff(dim).sub(corner).intersect_domain(instances)
        low, high = value_range(local)
        if low < 0 or high >= size:
            raise IllegalPlan(f"{statement.name} reads `{copied.footprint.array}` outside its shared copy: local "
                              f"subscript {dim} goes from {low} to {high}, the copy has {size}")


def _corner(first: Expr, instances: Any, values: Mapping[str, Any]) -> Any:
    """Return the box's first index as a function of the instance (isl PwAff)."""
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(instances.get_space()))
    space = instances.get_space().from_domain().add_dims(isl.dim_type.out, 1)
    parts = terms(first)
    corner = isl.PwAff.from_aff(zero.set_constant_val(isl.Val(parts.pop(None, 0)))).intersect_domain(instances)
    for name, factor in parts.items():
        assert isinstance(name, Name), "a corner is a sum of multiples of names"
        corner = corner.add(values[name.name].extract_pw_aff(space).scale_val(isl.Val(factor)))
    return corner
