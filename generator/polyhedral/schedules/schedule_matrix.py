"""Schedule trees from a schedule matrix: the loops of the Plan, with their exactly computed properties.

The parallel loops, and those that may be tiled together, follow from the dependences, so a hand-written Plan contains
only rows. Consecutive rows make one band while all dependences that are live at its start run forwards in each of them;
but a loop that is parallel only because outer loops order the rest begins a new band.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.model import sets
from generator.polyhedral.dependences.reductions import order_of
from generator.polyhedral.kit.components import strongly_connected
from generator.polyhedral.kit.tree import Band, Leaf, Sequence, Tree, multi
from generator.polyhedral.schedules.candidates import span
from generator.polyhedral.schedules.partition import links
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes, LoopNest, Row


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """The scope of a nest's schedule: its instances, the dependences still to be ordered, and whether an outer loop is
    parallel.
    """

    domain: Any
    dependences: Any
    parallel: bool

    def within(self, program: Program, statements: Iterable[str]) -> _Place:
        """Return the part of some statements."""
        domain = isl.UnionSet("{ }")
        for name in statements:
            domain = domain.union(isl.UnionSet(program.statement(name).domain))
        inner = self.dependences.intersect_domain(domain).intersect_range(domain)
        return _Place(domain, inner, self.parallel)


def hyperplane_tree(program: Program, schedule: Hyperplanes) -> Tree:
    """Return the schedule tree of a schedule matrix. The exact check decides whether it is legal.

    Raises:
        IllegalPlan: the nests are not all statements, each once; rows do not fit the statements' iterators, or do not
            distinguish all iterations.
    """
    names = tuple(s.name for s in program.statements)
    _check(program, schedule.nests, names, dict.fromkeys(names, ()))
    whole = _Place(isl.UnionSet("{ }"), order_of(program, schedule.reductions).dependences, False)
    return _sequence(program, schedule.nests, whole.within(program, names))


def _check(program: Program, nests: tuple[LoopNest, ...], expected: Iterable[str],
           outer: dict[str, tuple[tuple[int, ...], ...]]) -> None:
    """Raise IllegalPlan for nests that do not fit. `outer`: the coefficients of the outer rows by statement."""
    listed = sorted(name for nest in nests for name in nest.statements)
    if listed != sorted(expected) or not all(nest.statements for nest in nests):
        raise IllegalPlan(f"the loop nests must hold each of {', '.join(sorted(expected))} once; they hold "
                          f"{', '.join(listed)}")
    for nest in nests:
        words = ", ".join(nest.statements)
        if nest.wavefront and not 2 <= len(nest.wavefront) <= len(nest.rows):
            raise IllegalPlan(f"a wavefront of tiles needs 2 rows or more; {words} have {len(nest.rows)} rows and "
                              f"{len(nest.wavefront)} tile sizes")
        inner = dict(outer)
        for number, name in enumerate(nest.statements):
            count = len(program.statement(name).iterators)
            for row in nest.rows:
                if len(row[number]) != count + 1:
                    raise IllegalPlan(f"a row of {name} has {len(row[number])} numbers; it has {count} iterators, so "
                                      f"{count + 1} are needed: their coefficients and a constant")
            inner[name] = (*outer[name], *(row[number][:-1] for row in nest.rows))
        if nest.parts:
            _check(program, nest.parts, nest.statements, inner)
        else:
            _check_complete(program, nest, inner)


def _check_complete(program: Program, nest: LoopNest, rows: dict[str, tuple[tuple[int, ...], ...]]) -> None:
    for name in nest.statements:
        count = len(program.statement(name).iterators)
        rank = span(np.array(rows[name], np.int64).reshape(len(rows[name]), count))
        if rank < count:
            raise IllegalPlan(f"the rows of {name} do not tell all its iterations apart: {rank} of them are "
                              f"independent, it has {count} iterators")


def _sequence(program: Program, nests: tuple[LoopNest, ...], place: _Place) -> Tree:
    parts = [place.within(program, nest.statements) for nest in nests]
    children = tuple(_nest(program, nest, part) for nest, part in zip(nests, parts, strict=True))
    return children[0] if len(nests) == 1 else Sequence(tuple(part.domain for part in parts), children)


def _nest(program: Program, nest: LoopNest, place: _Place) -> Tree:
    members = [_member(nest.statements, row, place.domain) for row in nest.rows]
    if nest.wavefront:
        return _wavefront(program, nest, members, place)
    return _bands(program, nest, members, place)


def _bands(program: Program, nest: LoopNest, members: list[Any], place: _Place) -> Tree:
    """Return the first band of `members`, with the rest of the nest below it."""
    if not members:
        return _inside(program, nest, place)
    left, count = place.dependences, 0
    flags: list[bool] = []
    while count < len(members):
        member = members[count]
        coincident = _keeps(place.dependences, member)
        if count and (_breaks(place.dependences, member) or
                      (not coincident and not place.parallel and not any(flags) and _keeps(left, member))):
            break
        flags.append(coincident)
        left = left.eq_at_multi_union_pw_aff(multi([member]))
        count += 1
    inner = _Place(place.domain, left, place.parallel or any(flags))
    below = _bands(program, nest, members[count:], inner)
    return Band(tuple(members[:count]), tuple(flags), count > 1, below)


def _wavefront(program: Program, nest: LoopNest, members: list[Any], place: _Place) -> Tree:
    """Return tiles along wavefronts: the sum of their numbers on the host, all but the first one parallel, points in
    order.
    """
    count = len(nest.wavefront)
    tiles = [_tile(member, size) for member, size in zip(members, nest.wavefront, strict=False)]
    total = tiles[0]
    for tile in tiles[1:]:
        total = total.add(tile)
    left = place.dependences.eq_at_multi_union_pw_aff(multi(members[:count]))
    below = _bands(program, nest, members[count:], _Place(place.domain, left, True))
    points = Band(tuple(members[:count]), (False,) * count, True, below)
    notes = ("tile",) * (count - 1)
    parallel = Band(tuple(tiles[1:]), (True,) * (count - 1), False, points, notes, nest.wavefront)
    return Band((total,), (False,), False, parallel, ("wavefront",))


def _tile(member: Any, size: int) -> Any:
    return member if size == 1 else member.scale_down_val(isl.Val(size)).floor()


def _inside(program: Program, nest: LoopNest, place: _Place) -> Tree:
    """Return what runs inside all rows of a nest: its parts, or its statements in an order that the dependences allow.
    """
    if nest.parts:
        return _sequence(program, nest.parts, place)
    if len(nest.statements) == 1:
        return Leaf()
    names = [s.name for s in program.statements if s.name in nest.statements]
    found = {(a, b) for a, b in links([place.dependences]) if a != b}
    ordered = [name for group in strongly_connected(names, found) for name in group]
    by_name = {part.get_tuple_name(): isl.UnionSet.from_set(part) for part in sets(place.domain)}
    return Sequence(tuple(by_name[name] for name in ordered), (Leaf(),) * len(ordered))


def _member(statements: tuple[str, ...], row: Row, domain: Any) -> Any:
    """Return the isl UnionPwAff of a row."""
    parts = []
    for name, vector in zip(statements, row, strict=True):
        terms = " + ".join([*(f"{c}d{k}" for k, c in enumerate(vector[:-1])), str(vector[-1])])
        parts.append(f"{name}[{', '.join(f'd{k}' for k in range(len(vector) - 1))}] -> [({terms})]")
    return isl.UnionPwAff(f"{{ {'; '.join(parts)} }}").intersect_domain(domain)


def _keeps(dependences: Any, member: Any) -> bool:
    """Return whether a row separates no dependent pair."""
    return bool(dependences.is_subset(dependences.eq_at_multi_union_pw_aff(multi([member]))))


def _breaks(dependences: Any, member: Any) -> bool:
    """Return whether a row runs a dependent pair backwards."""
    return not dependences.lex_gt_at_multi_union_pw_aff(multi([member])).is_empty()
