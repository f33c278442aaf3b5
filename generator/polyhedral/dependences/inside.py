"""Prove that a Program stays inside its arrays, from nothing but the Program and the data that it reads.

The front ends prove this while they make a Program. A Program from a file is proven again: its domains, schedule and
access relations are parsed by isl, every subscript is turned into a relation again, and both must be within the array.
Data-dependent values are bounded by intervals, from the values of arrays that are not written. Both proofs are about
integers, so all intermediate numbers must also be small enough for the types that kernels use
(`generator.polyhedral.dependences.magnitudes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import islpy as isl

from generator.arithmetic import FLOATING, integer_limits
from generator.errors import InputError
from generator.expr import Binary, Cast, Expr, Fold, Load, Name, Select, children
from generator.intervals import Interval, Intervals
from generator.plain_text import one_line
from generator.polyhedral.dependences.magnitudes import MOST, function_is_small, set_is_small, small
from generator.polyhedral.kit.affine import Iteration, NotAffine, bounds, holds, relation, subtract
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.program import NUMPY_TYPES, Program, Statement

_NODES = (isl.schedule_node_type.domain, isl.schedule_node_type.band, isl.schedule_node_type.sequence,
          isl.schedule_node_type.set, isl.schedule_node_type.filter, isl.schedule_node_type.leaf)
INTEGERS = frozenset(NUMPY_TYPES) - FLOATING
_LEAST = -2**63


def unproven(program: Program, data: Mapping[str, Interval]) -> tuple[str, ...]:
    """Return accesses that may leave their arrays because of data or large numbers, in words.

    `data`: ranges of the integer arrays that are only read.

    Raises:
        InputError: sets or relations are not those of the statements, or an access certainly leaves its array.
    """
    try:
        _check_schedule(program)
        known = {name: values for name, values in data.items() if not _written(program, name)}
        found = [
            words for statement in program.statements for words in _Statement(program, statement, known).unproven()
        ]
        found += [
            f"`{array.name}`, which has more than {MOST} elements," for array in program.arrays if array.elements > MOST
        ]
        return (
            *found,
            *(["the order of the loops, which counts with large numbers,"] if not _schedule_is_small(program) else []),
        )
    except isl.Error as error:
        _refuse(f"isl cannot read a set or relation of it ({one_line(str(error))})")


def _written(program: Program, array: str) -> bool:
    return any(access.array == array and access.kind != "read" for s in program.statements for access in s.accesses)


def _check_schedule(program: Program) -> None:
    """Check that the schedule runs exactly the instances of the statements."""
    schedule = isl.Schedule(program.schedule)
    domain = isl.UnionSet("{ }")
    for statement in program.statements:
        instances = set_of(statement.domain)
        if (instances.get_tuple_name() != statement.name or instances.dim(isl.dim_type.set) != len(statement.iterators)
                or instances.dim(isl.dim_type.param) or not instances.is_bounded()):
            _refuse(f"the domain of {statement.name} does not fit the statement")
        domain = domain.union(isl.UnionSet.from_set(instances))
    if not schedule.get_domain().is_equal(domain):
        _refuse("its schedule runs other instances than its statements have")
    kinds: set[object] = set()

    def visit(node: Any) -> bool:
        kinds.add(node.get_type())
        return True

    schedule.foreach_schedule_node_top_down(visit)
    if not kinds <= set(_NODES):
        _refuse("its schedule has nodes of other kinds than schedules of programs have")


def _schedule_is_small(program: Program) -> bool:
    """Return whether all numbers of the schedule and the domains are small enough for loops to count in `int`."""
    schedule = isl.Schedule(program.schedule)
    sets, functions = [set_of(statement.domain) for statement in program.statements], list[Any]()

    def visit(node: Any) -> bool:
        if node.get_type() == isl.schedule_node_type.filter:
            node.filter_get_filter().intersect(schedule.get_domain()).foreach_set(sets.append)
        if node.get_type() == isl.schedule_node_type.band:
            members = node.band_get_partial_schedule().intersect_domain(node.get_domain())
            for number in range(members.dim(isl.dim_type.set)):
                members.get_union_pw_aff(number).foreach_pw_aff(functions.append)
        return True

    schedule.foreach_schedule_node_top_down(visit)
    return all(map(set_is_small, sets)) and all(map(function_is_small, functions))


@dataclass(frozen=True, slots=True)
class _Around:
    """Iterations in which an expression is evaluated, and the ranges of its variables there."""

    at: Iteration
    names: Mapping[str, Interval]


class _Statement:
    """The accesses of one statement."""

    def __init__(self, program: Program, statement: Statement, data: Mapping[str, Interval]) -> None:
        self.program, self.statement = program, statement
        self.ranges = Intervals(data, {array.name: array.type for array in program.arrays})

    def unproven(self) -> Iterator[str]:
        """Yield unproven accesses in words. Raises InputError for one that certainly leaves its array."""
        instances = set_of(self.statement.domain)
        for access in self.statement.accesses:
            self._check_relation(access.array, map_of(access.relation), instances)
        plain = instances.reset_tuple_id()
        if plain.is_empty():
            return
        at = Iteration(self.statement.iterators, plain)
        around = _Around(at, dict(zip(self.statement.iterators, bounds(at), strict=True)))
        body = self.statement.body
        for number, (name, value) in enumerate((*body.lets, (None, None))):
            if number == body.before_guard and body.guard is not None:
                yield from self._walk(body.guard, around)
                around = self._where(body.guard, around)[0]
            if name is not None and value is not None:
                yield from self._walk(value, around)
                around = self._with_value(name, value, around)
        yield from self._walk(body.target, around)
        yield from self._walk(body.value, around)

    def _check_relation(self, array: str, touched: Any, instances: Any) -> None:
        extents = self.program.array(array).extents
        box = isl.Set(f"{{ {array}[{', '.join(f'i{d}' for d in range(len(extents)))}] : "
                      f"{' and '.join(f'0 <= i{d} < {extent}' for d, extent in enumerate(extents)) or 'true'} }}")
        fits = (touched.dim(isl.dim_type.param) == 0 and touched.get_tuple_name(isl.dim_type.out) == array
                and touched.dim(isl.dim_type.out) == len(extents) and touched.domain().is_subset(instances))
        if not fits or not touched.range().is_subset(box):
            _refuse(f"an access of {self.statement.name} to `{array}` leaves the array")

    def _walk(self, expr: Expr, around: _Around) -> Iterator[str]:
        """Yield accesses in `expr` that are not proven, if it is evaluated in `around`."""
        if around.at.domain.is_empty():
            return
        match expr:
            case Load():
                yield from self._load(expr, around)
            case Select(test, then, otherwise):
                yield from self._walk(test, around)
                yes, no = self._where(test, around)
                yield from self._walk(then, yes)
                yield from self._walk(otherwise, no)
            case Binary("&&" | "||" as op, left, right):
                yield from self._walk(left, around)
                yield from self._walk(right, self._where(left, around)[op == "||"])
            case Fold():
                yield from self._fold(expr, around)
            case _:
                for child in children(expr):
                    yield from self._walk(child, around)

    def _where(self, test: Expr, around: _Around) -> tuple[_Around, _Around]:
        """Return where `test` holds, and where it does not, with its consequences for iterators and variables."""
        at = around.at
        if not small(test, around.names, self.ranges):
            return around, around
        try:
            region = holds(test, at)
        except NotAffine:
            yes, no = at, at
        else:
            yes, no = at.restrict(region), subtract(at, region)
        return (_Around(yes, self.ranges.narrowed(test, True, around.names)),
                _Around(no, self.ranges.narrowed(test, False, around.names)))

    def _fold(self, fold: Fold, around: _Around) -> Iterator[str]:
        """Check the parts of a loop: its variables may be anything; its iterator is bounded by start and condition."""
        yield from self._walk(fold.start, around)
        for _, first, _ in fold.changes:
            yield from self._walk(first, around)
        if not small(fold.start, around.names, self.ranges):
            yield f"the loop in `{one_line(self.statement.text)}`"
        begin = self.ranges.integer(fold.start, around.names)
        forever = (begin[0], -_LEAST - 1) if fold.step > 0 else (_LEAST, begin[1])
        names = {**around.names, fold.iterator.name: forever}
        inside = self.ranges.narrowed(fold.condition, True, names)
        low, high = inside[fold.iterator.name]
        reached = (low, max(high + fold.step, begin[1])) if fold.step > 0 else (min(low + fold.step, begin[0]), high)
        yield from self._walk(fold.condition, _Around(around.at, {**around.names, fold.iterator.name: reached}))
        for name, value in fold.lets:
            yield from self._walk(value, _Around(around.at, inside))
            inside = self._with_value(name, value, _Around(around.at, inside)).names
        for _, _, following in fold.changes:
            yield from self._walk(following, _Around(around.at, inside))

    def _with_value(self, name: Name, value: Expr, around: _Around) -> _Around:
        """Return the context in which the variable `name` has this value."""
        if name.type in INTEGERS:
            found: Interval | None = self._value_of(name, value, around.names)
        else:
            found = self.ranges.real(Cast(name.type, value), around.names)
        return around if found is None else _Around(around.at, {**around.names, name.name: found})

    def _value_of(self, name: Name, value: Expr, names: Mapping[str, Interval]) -> Interval:
        return (
            self.ranges.integer(Cast(name.type, value), names)
            if small(value, names, self.ranges)
            else integer_limits(name.type)
        )

    def _load(self, load: Load, around: _Around) -> Iterator[str]:
        """Check an access: its subscripts are within its relation, and data-dependent ones within the array."""
        extents = self.program.array(load.array).extents
        accesses = self.statement.accesses
        if (
            not 0 <= load.access < len(accesses)
            or accesses[load.access].array != load.array
            or len(load.index) != len(extents)
        ):
            _refuse(f"an access of {self.statement.name} to `{load.array}` is none of those that it lists")
        for subscript in load.index:
            yield from self._walk(subscript, around)
        try:
            found = relation(around.at, self.statement.name, load.array, load.index, extents)
        except NotAffine as error:
            _refuse(f"a subscript of `{load.array}` in {self.statement.name} has no value: {error}")
        if not isl.Map(found.text).is_subset(map_of(accesses[load.access].relation)):
            _refuse(f"a subscript of `{load.array}` in {self.statement.name} is not what its relation says")
        for subscript, exact, extent in zip(load.index, found.exact, extents, strict=True):
            low, high = (0, 0) if exact else self.ranges.integer(subscript, around.names)
            if low < 0 or high >= extent or not small(subscript, around.names, self.ranges):
                yield f"`{load.array}` in `{one_line(self.statement.text)}`"


def _refuse(what: str) -> NoReturn:
    raise InputError(
        f"the stored program is not sound: {what}; the file was changed or made by something else, so start a new "
        "run from the source"
    )
