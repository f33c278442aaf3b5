"""Properties of band members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import islpy as isl

from generator.program import Program


def iterator_of(member: Any, program: Program) -> str | None:
    """Return the source iterator of `member`: `i` for `i + 1` or `floor(i / 32)`; None for a mixture of several."""
    names = set()
    for name, _, involved in _parts(member):
        if len(involved) > 1:
            return None
        names |= {program.statement(name).iterators[d] for d in involved}
    return min(names) if names else None


def followed(member: Any, program: Program) -> Mapping[str, str] | None:
    """Return the source iterator of each statement that `member` follows step by step: `i` for `i + 1` or `-i`; None if
    it is another function for one of them.
    """
    found = dict[str, str]()
    for name, part, involved in _parts(member):
        if len(involved) != 1 or not part.isa_aff():
            return None
        affine = part.as_aff()
        step = affine.get_coefficient_val(isl.dim_type.in_, involved[0])
        if affine.dim(isl.dim_type.div) or not step.abs().is_one() or name in found:
            return None
        found[name] = program.statement(name).iterators[involved[0]]
    return found


def mixes(member: Any) -> bool:
    """Return whether `member` is a function of several iterators, for some statement."""
    return any(len(involved) > 1 for _, _, involved in _parts(member))


def step_of(member: Any, domain: Any) -> tuple[int, int] | None:
    """Return position and constant of a member `iterator + constant` on an isl Set; None for other functions."""
    value = member.extract_pw_aff(domain.get_space().from_domain().add_dims(isl.dim_type.out, 1)).gist(domain)
    if not value.isa_aff():
        return None
    affine = value.as_aff()
    factors = [affine.get_coefficient_val(isl.dim_type.in_, d).to_python() for d in range(affine.dim(isl.dim_type.in_))]
    if affine.dim(isl.dim_type.div) or sorted(factors) != [0] * (len(factors) - 1) + [1]:
        return None
    return factors.index(1), int(affine.get_constant_val().to_python())


def _parts(member: Any) -> Iterator[tuple[str, Any, list[int]]]:
    """Yield, for each statement, its name, `member` as an isl PwAff, and the iterators in it by number."""
    parts = member.get_pw_aff_list()
    for index in range(parts.n_pw_aff()):
        part = parts.get_at(index)
        name = part.domain().get_tuple_name()
        part = part.gist(part.domain())  # bounds of the domain would count as involved
        yield name, part, [d for d in range(part.dim(isl.dim_type.in_)) if part.involves_dims(isl.dim_type.in_, d, 1)]


def value_range(values: Any) -> tuple[int, int]:
    """Return the least and the greatest value of an isl PwAff or UnionPwAff with a bounded, non-empty domain.

    Computed from the set of values: isl's own `min_val` fails for an integer written as `(i + 16)/5`.
    """
    if isinstance(values, isl.PwAff):
        values = isl.UnionPwAff.from_pw_aff(values)
    taken = isl.Set.from_union_set(isl.UnionMap.from_union_pw_aff(values).range())
    return ends_along(taken, 0)


def ends_along(points: Any, dim: int) -> tuple[int, int]:
    """Return the least and the greatest value of one dimension of a bounded, non-empty isl Set."""
    return int(points.dim_min_val(dim).to_python()), int(points.dim_max_val(dim).to_python())


def ends(points: Any) -> tuple[tuple[int, int], ...]:
    """Return the least and the greatest value of each dimension of a bounded, non-empty isl Set."""
    return tuple(ends_along(points, dim) for dim in range(points.dim(isl.dim_type.set)))


def images(members: tuple[Any, ...], domain: Any, name: str) -> Any:
    """Return `{ name[v] : v = values of members on domain }` as an isl Set."""
    if not members:
        return isl.Set(f"{{ {name}[] }}")
    parts = isl.UnionMap.from_union_pw_aff(members[0]).intersect_domain(domain)
    for member in members[1:]:
        parts = parts.flat_range_product(isl.UnionMap.from_union_pw_aff(member).intersect_domain(domain))
    return isl.Set.from_union_set(parts.range()).coalesce().set_tuple_name(name)


def without_gaps(points: Any) -> Any:
    """Return a superset of a bounded, non-empty isl Set that has strides but no other integer divisions.

    Sets without integer divisions are returned unchanged. The bounds of every dimension stay the same.
    """
    if all(not part.dim(isl.dim_type.div) for part in points.get_basic_sets()):
        return points
    around = points.remove_divs().intersect(isl.Set.from_basic_set(points.affine_hull()))
    for dim, (low, high) in enumerate(ends(points)):
        around = around.lower_bound_val(isl.dim_type.set, dim, isl.Val(low))
        around = around.upper_bound_val(isl.dim_type.set, dim, isl.Val(high))
    return around.coalesce()


@lru_cache(maxsize=1024)
def coordinate(space_name: str, count: int, position: int) -> Any:
    """Return the isl UnionPwAff `{ name[v0, ..] -> v_position }`."""
    names = ", ".join(f"v{k}" for k in range(count))
    return isl.UnionPwAff(f"{{ {space_name}[{names}] -> [(v{position})] }}")


def union_of(sets: list[Any]) -> Any:
    """Return the isl UnionSet of some isl Sets."""
    result = isl.UnionSet.from_set(sets[0])
    for other in sets[1:]:
        result = result.union(isl.UnionSet.from_set(other))
    return result
