"""Check exactly, by isl, that every lane of a sub-group gets the element that it reads from values held by lanes.

    v = shuffle(one_k2, (t1 + 31) % 32);  if (t1 < 1) v = one_here[t0][t1 + 64];    replaces one[y][x - 1]

The printed expressions are checked: the lane that is asked, the subscripts in shared memory, the conditions. Each lane
that needs the value must get that element of that array, from a variable that the asked lane has set or from a
subscript that exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Name
from generator.polyhedral.kit.affine import Iteration, Reading
from generator.polyhedral.kit.members import coordinate, iterator_of, value_range
from generator.polyhedral.kit.regions import box
from generator.polyhedral.schedules.kernels import KernelPart, runs_on_a_box
from generator.program import Program

Ranges = Sequence[tuple[str, int, int]]
"""Names with their first and last value."""


def iterators_along(program: Program, part: KernelPart) -> tuple[tuple[str, int], ...] | None:
    """Return the iterator of each parallel dimension of a kernel, with its first value.

    None unless they form a box of one statement's own iterators.
    """
    if len(part.statements) > 1 or part.prefix or not runs_on_a_box(part):
        return None
    statement, found = program.statement(part.statements[0]), list[tuple[str, int]]()
    for dim in part.parallel:
        name = iterator_of(dim.member, program)
        if name is None:
            return None
        own = coordinate(statement.name, len(statement.iterators), statement.iterators.index(name))
        low, high = value_range(dim.member.sub(own).intersect_domain(part.domain))
        if low != high:
            return None
        found.append((name, dim.low - low))
    return tuple(found) if sorted(name for name, _ in found) == sorted(statement.iterators) else None


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which lanes get a value: those for which `when` holds (None: all), from `register` in the lane at
    `place` of the team, or from the element `place` of `box`.
    """

    when: Expr | None
    register: str
    box: str
    place: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class SharedBox:
    """`sizes` elements of `array`, as far as the array has them: those with subscripts from `begin` on (empty: 0).

    `corner`: the element whose subscripts are 0.
    """

    array: str
    corner: tuple[Expr, ...]
    sizes: tuple[int, ...]
    begin: tuple[int, ...] = ()


@dataclass(slots=True)
class LaneCheck:
    """The elements that the lanes of a team hold, and whether reads get them.

    `numbers`: the tiles. `lanes`: the threads (or the iterators of a loop over a box that is distributed over lanes).
    """

    extents: Mapping[str, tuple[int, ...]]
    numbers: Ranges
    lanes: Ranges
    boxes: dict[str, SharedBox]
    at: Iteration = field(init=False)
    _reading: Reading = field(init=False)
    _held: dict[str, tuple[str, Any]] = field(default_factory=dict, init=False)
    _maps: dict[tuple[Expr, ...], Any] = field(default_factory=dict, init=False)
    _sets: dict[Expr, Any] = field(default_factory=dict, init=False)
    _right: set[tuple[object, ...]] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        ranges = (*self.numbers, *self.lanes)
        self.at = box([name for name, _, _ in ranges], [(low, high) for _, low, high in ranges])
        self._reading = Reading(self.at)

    def hold(self, register: str, array: str, index: tuple[Expr, ...], guard: Expr | None) -> None:
        """Record that `register` permanently holds the element `index` of `array`, in each lane for which `guard`
        holds.
        """
        self._held[register] = array, self._map(index).intersect_domain(self._where(guard))

    def now(self, box: str, holds: SharedBox) -> None:
        """Record that a box now holds these elements."""
        self.boxes[box] = holds
        self._right.clear()

    def read(self, array: str, index: tuple[Expr, ...], guard: Expr | None, ways: Sequence[Way]) -> None:
        """Check that lanes for which `guard` holds get the element `index`; among several `ways`, the last applicable
        one counts.

        Raises:
            IllegalPlan: some lane would get something else (never seen; checked because results would be wrong).
        """
        asked = (array, index, guard, *ways)
        if asked in self._right:
            return
        left = self._where(guard)
        for way in reversed(ways):
            runs = self._where(way.when)
            if len(ways) == 1:  # no value has to be moved: it is read where it is needed, under the guard
                runs = runs.intersect(left)
            part, left = left.intersect(runs), left.subtract(runs)
            wanted = self._map(index).intersect_domain(part)
            found = self._shared(way, array, wanted, runs) if way.box else self._received(way, array, part)
            if found is None or not found.intersect_domain(part).is_equal(wanted):
                raise IllegalPlan(f"a lane would not get the element of `{array}` that it reads")
        if not left.is_empty():
            raise IllegalPlan(f"a lane would get no element of `{array}`")
        self._right.add(asked)

    def _received(self, way: Way, array: str, part: Any) -> Any | None:
        """Return what lanes of `part` get from another one; None if it has not been set."""
        if way.register not in self._held or self._held[way.register][0] != array:
            return None
        held = self._held[way.register][1]
        asked = self._map((*(Name(name) for name, _, _ in self.numbers), *way.place)).intersect_domain(part)
        return asked.apply_range(held) if asked.range().is_subset(held.domain()) else None

    def _shared(self, way: Way, array: str, wanted: Any, runs: Any) -> Any | None:
        """Return what lanes find in a box; None if they would leave it, or ask for elements outside of the array."""
        here = self.boxes[way.box]
        asked = self._map(way.place).intersect_domain(runs)
        if here.array != array or not asked.range().is_subset(_box(here.sizes, here.begin)):
            return None
        if not wanted.range().is_subset(_box(self.extents[array])):
            return None
        return self._map(tuple(Binary("+", a, b) for a, b in zip(here.corner, way.place, strict=True)))

    def _where(self, guard: Expr | None) -> Any:
        if guard is None:
            return self.at.domain
        if guard not in self._sets:
            self._sets[guard] = self.at.domain.intersect(self._reading.condition(guard))
        return self._sets[guard]

    def _map(self, exprs: tuple[Expr, ...]) -> Any:
        if exprs not in self._maps:
            maps = [isl.Map.from_pw_aff(self._reading.value(expr)) for expr in exprs]
            self._maps[exprs] = reduce(isl.Map.flat_range_product, maps).intersect_domain(self.at.domain)
        return self._maps[exprs]


def _box(sizes: tuple[int, ...], begin: tuple[int, ...] = ()) -> Any:
    """Return all subscripts of an array of these sizes, or so many from `begin` on (isl Set)."""
    names, begin = ", ".join(f"i{d}" for d in range(len(sizes))), begin or (0,) * len(sizes)
    inside = " and ".join(f"{low} <= i{d} < {low + n}" for d, (low, n) in enumerate(zip(begin, sizes, strict=True)))
    return isl.Set(f"{{ [{names}] : {inside} }}")
