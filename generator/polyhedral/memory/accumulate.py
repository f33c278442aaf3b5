"""The array elements that a thread can keep in registers while a kernel runs, and the other threads that update them.

An array qualifies if every access of the kernel to it names one element per point of the parallel loops, and different
points (of the loops that matter) name different elements. Then a thread needs one register per point; it loads the
element before the loops and stores it after them. If the updates are a relaxed reduction and other threads update the
same element, each thread starts from the neutral element and the values are combined at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import islpy as isl

from generator.polyhedral.dependences.reductions import updates_of_one_element
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program

Sharing: TypeAlias = Literal["thread", "block", "grid"]
"""The threads that update an element within one launch: one thread, several of one block, or of several blocks."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """An array that may be kept in registers.

    `owned`: the parallel dimensions on which its subscripts depend. `element`: the isl Map from the values of the
    kernel's prefix and its owned dimensions to the element. `statements` access the array; `accessing`: their instances
    that do so (not all if a condition selects what is read).
    """

    array: str
    statements: tuple[str, ...]
    owned: tuple[int, ...]
    element: Any
    accessing: Any


def keepable(program: Program, part: KernelPart) -> tuple[Kept, ...]:
    """Return the arrays of a kernel that a thread can keep in registers, by name."""
    written = sorted({program.statement(name).body.target.array for name in part.statements})
    return tuple(kept for array in written if (kept := _kept(program, part, array)) is not None)


def summed(program: Program, part: KernelPart) -> tuple[int, ...]:
    """Return the parallel dimensions over which a kernel only sums: no array that a thread can keep depends on them."""
    owned = {d for kept in keepable(program, part) for d in kept.owned}
    return tuple(d for d in range(len(part.parallel)) if d not in owned) if owned else ()


def _kept(program: Program, part: KernelPart, array: str) -> Kept | None:
    outer = (*part.prefix, *(d.member for d in part.parallel))
    statements = []
    by_loops, accessing = None, isl.UnionSet("{ }")
    for name in part.statements:
        accesses = [a for a in program.statement(name).accesses if a.array == array]
        if not accesses:
            continue
        statements.append(name)
        for access in accesses:
            relation = map_of(access.relation)
            relation = relation.intersect_domain(part.domain.extract_set(relation.domain().get_space()))
            if relation.is_empty():
                continue
            accessing = accessing.union(isl.UnionSet.from_set(relation.domain()))
            element = _element(relation, outer)
            by_loops = element if by_loops is None else by_loops.union(element)
    if by_loops is None or not by_loops.is_single_valued():
        return None
    by_loops = by_loops.coalesce()
    owned = tuple(d for d in range(len(part.parallel)) if _matters(by_loops, len(part.prefix) + d))
    free = [len(part.prefix) + d for d in range(len(part.parallel)) if d not in owned]
    for position in reversed(free):
        by_loops = by_loops.project_out(isl.dim_type.in_, position, 1)
    if not (by_loops.is_single_valued() and _apart(by_loops, len(part.prefix))):
        return None
    return Kept(array, tuple(statements), owned, by_loops, accessing)


def _element(accessed: Any, outer: tuple[Any, ...]) -> Any:
    """Return the isl Map from values of the outer loops to the elements accessed there."""
    domain = isl.UnionSet.from_set(accessed.domain())
    times = values_at([m.intersect_domain(domain) for m in outer], domain)
    return isl.Map.from_union_map(times.reverse().apply_range(isl.UnionMap.from_map(accessed)))


def _matters(element: Any, position: int) -> bool:
    """Return whether the element depends on input `position`: without it, several elements are possible."""
    return not element.project_out(isl.dim_type.in_, position, 1).is_single_valued()


def _apart(element: Any, prefix: int) -> bool:
    """Return whether different inputs have different elements, within one launch."""
    pairs = element.apply_range(element.reverse())
    for position in range(prefix):
        pairs = pairs.equate(isl.dim_type.in_, position, isl.dim_type.out, position)
    return bool(pairs.is_subset(isl.Map.identity(pairs.get_space())))


def sharing(program: Program, name: str, part: KernelPart, blocks: Sequence[Any], threads: Sequence[Any]) -> Sharing:
    """Return who updates one element of reduction `name` in one launch. `blocks`, `threads`: the members mapped to
    them.
    """
    pairs = updates_of_one_element(program, name).intersect_domain(part.domain).intersect_range(part.domain)
    pairs = _same(pairs, part.prefix)
    inside = _same(pairs, blocks)
    if not pairs.is_subset(inside):
        return "grid"
    return "thread" if inside.is_subset(_same(inside, threads)) else "block"


def _same(pairs: Any, members: Sequence[Any]) -> Any:
    """Return the pairs whose ends agree in all members."""
    for member in members:
        single = isl.MultiUnionPwAff.from_union_pw_aff(member)
        pairs = pairs.eq_at_multi_union_pw_aff(single)
    return pairs


def places(kept: Kept, members: Sequence[Any]) -> Any:
    """Return the isl Set of values of `members` at which some instance accesses the kept array."""
    domain = kept.accessing
    return isl.Set.from_union_set(values_at([m.intersect_domain(domain) for m in members], domain).range()).coalesce()
