"""Loops of the original order, and the live ranges of an array: the accesses that share values, and the loops that
these values cross.

    for (i ...) {
        w = a[i]; b[i] = w * w;    one live range of w: written here, read here; it does not cross loop i
        w = b[i]; c[i] = w / 2;    another one
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl

from generator.polyhedral.dependences.flow import value_flow
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.kit.tree import Band, Sequence, Tree, from_isl, statements_of
from generator.program import AccessKind, Program, Statement

Reference: TypeAlias = tuple[str, int]  # a statement's name and the number of one of its accesses


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """A loop of the source: over iterator number `depth` of the statements inside."""

    depth: int
    statements: frozenset[str]


@dataclass(frozen=True, slots=True)
class LiveRange:
    """Accesses to `array` that share values with each other and with no other access.

    `loops`: those around all accesses, outermost first, that pass no value from one iteration to another. `along`: the
    depths of those of them with a copy per iteration.
    """

    array: str
    references: tuple[Reference, ...]
    loops: tuple[SourceLoop, ...]
    along: tuple[int, ...] = ()

    @property
    def statements(self) -> frozenset[str]:
        """The statements of the accesses."""
        return frozenset(name for name, _ in self.references)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """One access with the isl Map of its elements."""

    reference: Reference
    array: str
    kind: AccessKind
    relation: Any


def source_loops(program: Program) -> tuple[SourceLoop, ...]:
    """Return the loops of the original schedule, outer ones before inner ones."""
    schedule = isl.Schedule(program.schedule)
    found = _loops(from_isl(schedule), frozenset(statements_of(schedule.get_domain())), 0)
    return tuple(sorted(found, key=lambda loop: (loop.depth, sorted(loop.statements))))


def _loops(tree: Tree, statements: frozenset[str], depth: int) -> Iterator[SourceLoop]:
    match tree:
        case Band(members=members, child=child):
            yield from (SourceLoop(depth + k, statements) for k in range(len(members)))
            yield from _loops(child, statements, depth + len(members))
        case Sequence(filters, children):
            for part, child in zip(filters, children, strict=True):
                yield from _loops(child, frozenset(statements_of(part)), depth)
        case _:
            return


def reaches(program: Program, arrays: Iterable[str] | None = None) -> tuple[Reach, ...]:
    """Return all accesses, or those to `arrays`, in the order of the statements."""
    chosen = None if arrays is None else frozenset(arrays)
    return tuple(Reach((s.name, k), a.array, a.kind, map_of(a.relation)) for s in program.statements
                 for k, a in enumerate(s.accesses) if chosen is None or a.array in chosen)


def union(accesses: Iterable[Reach], *kinds: AccessKind) -> Any:
    """Return the isl UnionMap of those `accesses` whose kind is one of `kinds` (all without `kinds`)."""
    result = isl.UnionMap("{ }")
    for access in accesses:
        if not kinds or access.kind in kinds:
            result = result.union(isl.UnionMap.from_map(access.relation))
    return result


def order_among(program: Program, accesses: Iterable[Reach]) -> Any:
    """Return the original isl Schedule of the instances that make `accesses`."""
    return isl.Schedule(program.schedule).intersect_domain(union(accesses).domain())


def by_iterations(relation: Any, program: Program, loop: SourceLoop) -> Any:
    """Return the isl UnionMap `relation` with each instance inside `loop` replaced by its iterators down to that loop.
    """
    result = isl.UnionMap("{ }")
    for name in sorted(loop.statements):
        iterators = [f"i{d}" for d in range(len(program.statement(name).iterators))]
        outer = ", ".join(iterators[:loop.depth + 1])
        result = result.union(isl.UnionMap(f"{{ {name}[{', '.join(iterators)}] -> [{outer}] }}"))
    return relation.apply_domain(result)


def crosses(accesses: Iterable[Reach], program: Program, loop: SourceLoop) -> bool:
    """Return whether one of `accesses` writes an element that another accesses in another iteration of `loop`.

    Both are in the same iterations of the outer loops.
    """
    inside = [a for a in accesses if a.reference[0] in loop.statements]
    writes = union(inside, "write", "may_write")
    if writes.is_empty():
        return False
    pairs = by_iterations(writes, program, loop).apply_range(by_iterations(union(inside), program, loop).reverse())
    outer = [f"i{d}" for d in range(loop.depth)]
    rounds = f"[{', '.join([*outer, 'i'])}] -> [{', '.join([*outer, 'j'])}]"
    return not pairs.intersect(isl.UnionMap(f"{{ {rounds} : i != j }}")).is_empty()


def live_ranges(program: Program, array: str, loops: tuple[SourceLoop, ...]) -> tuple[LiveRange, ...]:
    """Return the live ranges of `array`, by their first accesses; () if an element may be read before it is written."""
    accesses = reaches(program, [array])
    must, may = union(accesses, "write"), union(accesses, "write", "may_write")
    schedule = order_among(program, accesses)
    writers = {a.reference[0]: a.reference for a in accesses if a.kind != "read"}
    groups: dict[Reference, list[Reference]] = {a.reference: [a.reference] for a in accesses}
    flows: list[tuple[Reference, Any]] = []
    for access in accesses:
        if access.kind != "read":
            continue
        found = value_flow(union([access]), must, may, schedule)
        if not found.unsourced.is_empty():
            return ()
        flows.append((access.reference, found.dependences))
        for name in statements_of(found.dependences.domain()):
            _join(groups, writers[name], access.reference)
        if _updates(program.statement(access.reference[0]), access.reference[1]):
            _join(groups, writers[access.reference[0]], access.reference)
    listed = {id(group): group for group in groups.values()}.values()
    return tuple(_range(program, array, sorted(group, key=list(groups).index), loops,
                        [flow for reference, flow in flows if reference in group]) for group in listed)


def _updates(statement: Statement, number: int) -> bool:
    """Return whether access `number` is the read of a compound assignment to its target."""
    return bool(statement.body.op) and number == statement.body.target.access - 1


def _join(groups: dict[Reference, list[Reference]], one: Reference, other: Reference) -> None:
    if groups[one] is not groups[other]:
        groups[one].extend(groups[other])
        for reference in groups[other]:
            groups[reference] = groups[one]


def _range(program: Program, array: str, references: list[Reference], loops: tuple[SourceLoop, ...],
           flows: list[Any]) -> LiveRange:
    statements = {name for name, _ in references}
    around = tuple(loop for loop in loops if statements <= loop.statements
                   and not any(_passes(flow, program, loop) for flow in flows))
    return LiveRange(array, tuple(references), around)


def _passes(flow: Any, program: Program, loop: SourceLoop) -> bool:
    """Return whether `flow` relates instances that differ in the iterator of `loop`."""
    pairs = by_iterations(by_iterations(flow, program, loop).reverse(), program, loop)
    rounds = [", ".join([*(f"{side}{d}" for d in range(loop.depth)), side]) for side in ("i", "j")]
    return not pairs.intersect(isl.UnionMap(f"{{ [{rounds[0]}] -> [{rounds[1]}] : i != j }}")).is_empty()


def last_writers(program: Program, array: str) -> Any:
    """Return the isl UnionMap from instances to the elements of `array` that nothing overwrites after them."""
    accesses = reaches(program, [array])
    writes, must = union(accesses, "write", "may_write"), union(accesses, "write")
    schedule = order_among(program, accesses)
    times = schedule.get_map().intersect_domain(schedule.get_domain())
    later = times.lex_lt_union_map(times)  # x -> what runs after x
    overwritten = writes.domain_map().apply_range(later).intersect(writes.range_map().apply_range(must.reverse()))
    return writes.wrap().subtract(overwritten.domain()).unwrap().coalesce()
