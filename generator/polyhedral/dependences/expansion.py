"""Expansion: iterations get private copies of scalars and small arrays that only pass values within them.

    for (i ...) { w = a[i]; b[i] = w * w; }   ->   for (i ...) { w[i] = a[i]; b[i] = w[i] * w[i]; }

Every iteration overwrites w, so no iteration can begin before the previous one has read it. With a copy per iteration
the loop is parallel. This is array expansion (Feautrier, ICS 1988), done per live range of an array (`live_ranges.py`),
and only if the loop becomes parallel.

Values of a result array (role `out`) that live after the SCoP are copied back from the last iteration's copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import islpy as isl

from generator.expr import Binary, Expr, Int, Load, Name
from generator.polyhedral.dependences.flow import value_flow
from generator.polyhedral.dependences.live_ranges import (
    LiveRange,
    Reach,
    Reference,
    SourceLoop,
    crosses,
    last_writers,
    live_ranges,
    order_among,
    reaches,
    source_loops,
    union,
)
from generator.polyhedral.dependences.original import Loop, Once, Order, original_schedule
from generator.polyhedral.kit.members import ends_along
from generator.polyhedral.kit.readdressed import readdressed
from generator.program import Access, Array, Assignment, Program, Statement

# All copies together; useful devices have several times as much memory.
MAX_BYTES = 512 * 2**20
# One array's copies, relative to the bytes of the program's largest array: a fully parallel loop nest writes about as
# many elements as it has iterations, so much larger copies are suspicious.
MAX_GROWTH = 64


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of a live range: an array whose leading subscripts are iterators minus their least values."""

    array: str
    along: tuple[int, ...]
    low: tuple[int, ...]

    def index(self, iterators: Sequence[str]) -> tuple[Expr, ...]:
        """Return the leading subscripts in a statement with these iterators."""
        return tuple(_offset(Name(iterators[depth]), low) for depth, low in zip(self.along, self.low, strict=True))

    def relation(self, relation: Any) -> Any:
        """Return the isl Map of an access, with the leading subscripts."""
        count = relation.dim(isl.dim_type.in_)
        name = relation.get_tuple_name(isl.dim_type.in_)
        leading = ", ".join(f"i{d} - ({low})" for d, low in zip(self.along, self.low, strict=True))
        copies = isl.Map(f"{{ {name}[{', '.join(f'i{d}' for d in range(count))}] -> [{leading}] }}")
        inner = relation.reset_tuple_id(isl.dim_type.out)
        return copies.flat_range_product(inner).set_tuple_name(isl.dim_type.out, self.array)


def _offset(iterator: Expr, low: int) -> Expr:
    if low == 0:
        return iterator
    return Binary("-", iterator, Int(low)) if low > 0 else Binary("+", iterator, Int(-low))


def expand(program: Program) -> Program:
    """Return `program` with copies per iteration wherever they make a loop parallel; the same Program if there are
    none.

    The flow of values is the same, which is checked exactly; the result orders no iterations that were free before.
    """
    loops = source_loops(program)
    chosen = [r for r in _settled(program, loops, _candidates(program, loops)) if r.along]
    if not chosen:
        return program
    places = _places(program, chosen)
    result = _copied_back(program, _rewritten(program, chosen, places), chosen, places)
    _verify(program, result, {r.array for r in chosen})
    return result


def _candidates(program: Program, loops: tuple[SourceLoop, ...]) -> list[LiveRange]:
    """Return live ranges of the arrays that alone keep some loop serial, expanded along all loops that this may free.
    """
    accesses: dict[str, list[Reach]] = {}
    for access in reaches(program):
        accesses.setdefault(access.array, []).append(access)
    open_ = {name for name, own in accesses.items() if _expandable(program, own)}
    serial: dict[SourceLoop, set[str]] = {}
    for loop in loops:
        blocking = {name for name, own in accesses.items() if crosses(own, program, loop)}
        if blocking and blocking <= open_:
            serial[loop] = blocking
    wanted = sorted(set().union(*serial.values()))
    found = []
    for name in wanted:
        last = last_writers(program, name) if program.array(name).role == "out" else None
        for live in live_ranges(program, name, loops):
            own = [a for a in accesses[name] if a.reference in live.references]
            along = tuple(loop.depth for loop in live.loops if loop in serial and crosses(own, program, loop)
                          and (last is None or _constant(last, live, loop)))
            found.append(replace(live, along=along))
    return found


def _expandable(program: Program, accesses: list[Reach]) -> bool:
    """Return whether an array's values end with the SCoP, or are always written in it; no subscript may depend on data.
    """
    role = program.array(accesses[0].array).role
    return ((role == "temp" or (role == "out" and all(a.kind != "may_write" for a in accesses)))
            and all(a.relation.is_single_valued() for a in accesses))


def _constant(last: Any, live: LiveRange, loop: SourceLoop) -> bool:
    """Return whether all final values of `live` come from one iteration of `loop`."""
    values = {ends_along(part, loop.depth) for part in _instances(last.domain()) if part.get_tuple_name()
              in live.statements}
    return not values or (len(values) == 1 and all(low == high for low, high in values))


def _instances(domain: Any) -> list[Any]:
    listed = domain.get_set_list()
    return [listed.get_at(k) for k in range(listed.n_set())]


def _settled(program: Program, loops: tuple[SourceLoop, ...], found: list[LiveRange]) -> list[LiveRange]:
    """Return `found` without the copies that free no loop or are too large.

    Copies along a loop that stays serial are dropped, which may keep another loop serial, and so on.
    """
    while True:
        placed = list(_placed(program, found))
        arrays = sorted({a.array for a in placed})
        kept = found
        for loop in loops:
            if any(_is_along(live, loop) for live in kept) and any(
                    crosses((a for a in placed if a.array == name), program, loop) for name in arrays):
                kept = [_without(live, loop.depth) if _is_along(live, loop) else live for live in kept]
        kept = _within_memory(program, kept)
        if kept == found:
            return found
        found = kept


def _is_along(live: LiveRange, loop: SourceLoop) -> bool:
    return loop.depth in live.along and live.statements <= loop.statements


def _without(live: LiveRange, depth: int) -> LiveRange:
    return replace(live, along=tuple(d for d in live.along if d != depth))


def _placed(program: Program, found: list[LiveRange]) -> Iterator[Reach]:
    """Yield all accesses of the program as if `found` were expanded."""
    chosen = [live for live in found if live.along]
    moves = {r: place for live, place in zip(chosen, _places(program, chosen), strict=True) for r in live.references}
    for access in reaches(program):
        place = moves.get(access.reference)
        yield replace(access, array=place.array, relation=place.relation(access.relation)) if place else access


def _within_memory(program: Program, found: list[LiveRange]) -> list[LiveRange]:
    """Return `found` with innermost dimensions dropped until the copies fit, those of the largest live range first."""
    most = MAX_GROWTH * max(array.bytes for array in program.arrays)
    found = list(found)
    while True:
        sizes = [prod(_extents(program, live)) * program.array(live.array).bytes if live.along else 0
                 for live in found]
        if sum(sizes) <= MAX_BYTES and max(sizes, default=0) <= most:
            return found
        largest = sizes.index(max(sizes))
        found[largest] = _without(found[largest], found[largest].along[-1])


def _extents(program: Program, live: LiveRange) -> tuple[int, ...]:
    """Return the number of copies along each dimension."""
    return tuple(high - low + 1 for low, high in _box(program, live))


def _box(program: Program, live: LiveRange) -> list[tuple[int, int]]:
    """Return the least and the greatest value of the iterators along which `live` is expanded."""
    domains = [isl.Set(program.statement(name).domain) for name in sorted(live.statements)]
    bounds = [[ends_along(domain, depth) for domain in domains] for depth in live.along]
    return [(min(low for low, _ in ends), max(high for _, high in ends)) for ends in bounds]


def _places(program: Program, chosen: list[LiveRange]) -> list[_Place]:
    """Return the places of the live ranges. An array's name stays with its unexpanded part, else with its first live
    range.
    """
    moved = {r for live in chosen for r in live.references}
    kept = {a.array for a in reaches(program) if a.reference not in moved}
    used = {a.name for a in program.arrays} | {name for name, _ in program.parameters}
    used |= {iterator for s in program.statements for iterator in s.iterators}
    kept |= {a.name for a in program.arrays if a.role == "out"}
    places = []
    for live in chosen:
        name, number = live.array, 1
        while name in kept or (number > 1 and name in used):
            number += 1
            name = f"{live.array}_{number}"
        kept.add(name)
        used.add(name)
        places.append(_Place(name, live.along, tuple(low for low, _ in _box(program, live))))
    return places


def _rewritten(program: Program, chosen: list[LiveRange], places: list[_Place]) -> Program:
    """Return `program` with the accesses of the live ranges redirected to their places."""
    moves = {r: place for live, place in zip(chosen, places, strict=True) for r in live.references}
    statements = tuple(_moved(s, moves) for s in program.statements)
    used = {a.array for s in statements for a in s.accesses}
    grown = []
    for live, place in zip(chosen, places, strict=True):
        array = program.array(live.array)
        name = next(iter(live.statements))
        iterators = tuple(program.statement(name).iterators[depth] for depth in live.along)
        grown.append(Array(place.array, array.type, (*_extents(program, live), *array.extents), "temp", iterators))
    taken = {array.name for array in grown}
    arrays = [a for a in program.arrays if a.name not in taken and (a.name in used or a.role == "out")]
    ends = {live.array for live in chosen if program.array(live.array).role == "temp"}
    return replace(program, arrays=tuple(sorted((*arrays, *grown), key=lambda a: a.name)), statements=statements,
                   poison=tuple(box for box in program.poison if box.array not in ends))


def _moved(statement: Statement, moves: dict[Reference, _Place]) -> Statement:
    def load(one: Load) -> Load:
        place = moves.get((statement.name, one.access))
        return one if place is None else Load(place.array, (*place.index(statement.iterators), *one.index), one.access)

    def access(number: int, one: Access) -> Access:
        place = moves.get((statement.name, number))
        return one if place is None else Access(place.array, str(place.relation(isl.Map(one.relation))), one.kind)

    return readdressed(statement, load, access)


def _copied_back(program: Program, moved: Program, chosen: list[LiveRange], places: list[_Place]) -> Program:
    """Return `moved` with a statement at its end for each live range with final values of a result."""
    statements = list(moved.statements)
    schedule = isl.Schedule(moved.schedule)
    for live, place in zip(chosen, places, strict=True):
        if program.array(live.array).role != "out":
            continue
        last = [m for m in _maps(last_writers(program, live.array))
                if m.get_tuple_name(isl.dim_type.in_) in live.statements]
        if last:
            copy = _copy_back(program, place, live.array, last, f"S{len(statements)}")
            statements.append(copy)
            order: Order = Once(copy.name)
            for depth in reversed(range(len(copy.iterators))):
                order = Loop(depth, 1, order)
            schedule = schedule.sequence(isl.Schedule(original_schedule(order, {copy.name: copy})))
    return replace(moved, statements=tuple(statements), schedule=str(schedule))


def _copy_back(program: Program, place: _Place, array: str, last: list[Any], name: str) -> Statement:
    """Return the statement `name`: `x[e] = x_2[last iteration][e]` for the elements e in the ranges of `last`."""
    writers = [program.statement(m.get_tuple_name(isl.dim_type.in_)) for m in last]
    elements = isl.UnionSet("{ }")
    for relation in last:
        elements = elements.union(isl.UnionSet.from_set(relation.range()))
    domain = isl.Set.from_union_set(elements).coalesce().set_tuple_name(name)
    iterators = _element_names(writers[-1].body.target)
    for d, iterator in enumerate(iterators):
        domain = domain.set_dim_name(isl.dim_type.set, d, iterator)
    point = [ends_along(last[0].domain(), depth)[0] - low for depth, low in zip(place.along, place.low, strict=True)]
    names = tuple(Name(i) for i in iterators)
    body = Assignment(Load(array, names, 1), "", Load(place.array, (*map(Int, point), *names), 0))
    accesses = (Access(place.array, _element(domain, place.array, point), "read"),
                Access(array, _element(domain, array, []), "write"))
    text = f"{_text(array, iterators)} = {_text(place.array, (*point, *iterators))};"
    return Statement(name, iterators, str(domain), body, accesses, text, max(w.line for w in writers))


def _element(domain: Any, array: str, point: list[int]) -> str:
    """Return `{ S[e] -> array[point, e] }` on the isl Set `domain`, as isl text."""
    own = [f"i{d}" for d in range(domain.dim(isl.dim_type.set))]
    name = domain.get_tuple_name()
    relation = isl.Map(f"{{ {name}[{', '.join(own)}] -> {array}[{', '.join([*map(str, point), *own])}] }}")
    return str(relation.intersect_domain(domain))


def _text(array: str, subscripts: Sequence[object]) -> str:
    return array + "".join(f"[{subscript}]" for subscript in subscripts)


def _element_names(target: Load) -> tuple[str, ...]:
    """Return one iterator per subscript: the source's if it has one, so that a reader recognises it."""
    names: list[str] = []
    for index in target.index:
        name, number = index.name if isinstance(index, Name) else "n", 0
        while name in names:
            number += 1
            name = f"n{number}"
        names.append(name)
    return tuple(names)


def _maps(relation: Any) -> list[Any]:
    listed = relation.get_map_list()
    return sorted((listed.get_at(k) for k in range(listed.n_map())),
                  key=lambda m: str(m.get_tuple_name(isl.dim_type.in_)))


def _verify(program: Program, result: Program, arrays: set[str]) -> None:
    """Raise AssertionError unless values flow as before, into the same final elements, and no conflict is new."""
    before = reaches(program, arrays)
    touched = {a.array for s in result.statements for a in s.accesses} - {a.name for a in program.arrays} | arrays
    after = reaches(result, touched)
    kept = isl.Schedule(program.schedule).get_domain()
    flow = _flow(result, after)
    if not flow.intersect_range(kept).is_equal(_flow(program, before)):
        raise AssertionError("expansion changed the flow of values")
    for name in sorted(arrays):
        if program.array(name).role == "out":
            last = last_writers(result, name)
            final = flow.apply_range(last.subtract_domain(kept)).union(last.intersect_domain(kept))
            if not final.is_equal(last_writers(program, name)):
                raise AssertionError(f"expansion changed the result `{name}`")
    if not _conflicts(after).intersect_domain(kept).intersect_range(kept).is_subset(_conflicts(before)):
        raise AssertionError("expansion made a new conflict")


def _flow(program: Program, accesses: Sequence[Reach]) -> Any:
    return value_flow(union(accesses, "read"), union(accesses, "write"), union(accesses, "write", "may_write"),
                      order_among(program, accesses)).dependences


def _conflicts(accesses: Sequence[Reach]) -> Any:
    return union(accesses, "write", "may_write").apply_range(union(accesses).reverse())
