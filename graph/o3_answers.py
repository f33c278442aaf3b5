"""The inverse of level o3: the answers that lead to given loop nests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.schedules.hyperplanes import LoopNest, Row
from graph.o2 import add_order, members_of, orders
from graph.o3_rows import (
    DIAGONALS,
    KIND,
    PARALLEL_LOOPS,
    ROW,
    TILE,
    WAVEFRONT,
    Chosen,
    Outside,
    Part,
    Rows,
    beside,
    flat,
    follows_one,
)
from graph.policies import Preferences
from graph.reaching import Answers, Asked, NotOnOffer
from graph.space import Option


def answers_of_nests(rows: Rows, nests: Sequence[LoopNest], reduced: tuple[str, ...]) -> Answers:
    """Return the answers of the decisions about the schedule that lead to `nests`.

    Raises:
        IllegalPlan: as `rows`.
        NotOnOffer: the space does not offer a row of `nests`.
    """
    way = _Way(rows)
    way.add(Outside(reduced, ()), nests, ())
    return way.found


@dataclass(frozen=True, slots=True)
class _Way:
    """Visits the nests in the order of the space (graph.o3), and collects the answers in `found`."""

    rows: Rows
    found: dict[Asked, Option] = field(default_factory=dict)

    def add(self, at: Outside, nests: Sequence[LoopNest], statements: tuple[str, ...]) -> None:
        """Add the answers about `statements` (empty: the whole program) inside a place that lead to `nests`."""
        level, depth = self.rows.inside(at.reduced, at.place, statements), len(at.place)
        if at.place and not any(part.left for part in level.components):
            return
        components, path = [part.statements for part in level.components], tuple(names for names, _ in at.place)
        members = [members_of(nest.statements, components, path) for nest in nests]
        chosen = {
            k: self._component(at, level.components[k], nest)
            for nest, one in zip(nests, members, strict=True)
            for k in one
        }
        self.found[f"{DIAGONALS} {depth + 1}", statements, depth] = any(
            row in beside(self.rows, at, level.components[k]) for k, one in chosen.items() for row in one.rows[:1])
        groups = [self._order(at, one, level.before, chosen, nest) for nest, one in zip(nests, members, strict=True)]
        add_order(self.found, groups, statements, depth)
        for nest, group in zip(nests, groups, strict=True):
            self._inside(at, nest, [chosen[k] for k in group])

    def _inside(self, at: Outside, nest: LoopNest, group: Sequence[Chosen]) -> None:
        """Add the answers inside the loops of one nest."""
        rows = group[0].rows if len(group) == 1 else nest.rows[:1]
        for row in rows:
            at = at.inside((nest.statements, row), all(one.parallel for one in group))
        if nest.wavefront:
            at = Outside(at.reduced, at.place, PARALLEL_LOOPS, False)
        if rows:
            left = nest.rows[len(rows):]
            self.add(at, (LoopNest(nest.statements, left, nest.parts),) if left else nest.parts, nest.statements)

    def _order(
        self,
        at: Outside,
        members: tuple[int, ...],
        before: frozenset[tuple[int, int]],
        chosen: Mapping[int, Chosen],
        nest: LoopNest,
    ) -> tuple[int, ...]:
        """Return an order of a nest's components in which joining them one by one gives the nest's first row."""
        def comes_to(order: tuple[int, ...]) -> bool:
            steps = tuple(chosen[k].step for k in order)
            if any(self.rows.fused(at.reduced, at.place, steps[:size]) is None for size in range(2, len(steps))):
                return False
            return self.rows.fused(at.reduced, at.place, steps) == (nest.rows[0] if nest.rows else ())

        return next((order for order in orders(members, before) if len(order) == 1 or comes_to(order)), members)

    def _component(self, at: Outside, part: Part, nest: LoopNest) -> Chosen:
        """Add the answers about one component at the first row of `nest`, and return its rows."""
        names, depth = part.statements, len(at.place)
        self.found[f"{WAVEFRONT} {depth + 1}", names, depth] = bool(nest.wavefront)
        if not part.left or not nest.rows:  # nothing to decide, or nothing decided
            return Chosen(names, (), True)
        if nest.wavefront:
            return self._tiles(at, names, nest)
        offer, diagonals = self.rows.offer(at.reduced, at.place, names, at.looking), beside(self.rows, at, part)
        row = self._row(at, depth + 1, names, (*offer.permute, *offer.skew, *diagonals), nest, 0)
        return Chosen(names, (row,), offer.parallel and row not in diagonals)

    def _tiles(self, at: Outside, names: tuple[str, ...], nest: LoopNest) -> Chosen:
        """Add the answers about a component's band of tiles along wavefronts, and return its rows."""
        rows: tuple[Row, ...] = ()
        for place, size in enumerate(nest.wavefront, 1):
            offered = self.rows.band(at.reduced, at.place, names, rows)
            rows = (*rows, self._row(at, len(at.place) + place, names, offered, nest, place - 1))
            self.found[f"{TILE} {place}", names, 0] = size
        return Chosen(names, rows, False, nest.wavefront)

    def _row(
        self, at: Outside, level: int, names: tuple[str, ...], offered: Sequence[Row], nest: LoopNest, place: int
    ) -> Row:
        """Return the offered row that equals row `place` of `nest`, up to a common constant. Raises NotOnOffer."""
        wanted = tuple(vector for name, vector in zip(nest.statements, nest.rows[place], strict=True) if name in names)
        row = next((one for one in offered if _settled(one) == _settled(wanted)), None)
        if row is None:
            raise NotOnOffer(
                f"the plan is not in the space: {ROW} {level} of {' '.join(names)} is {flat(wanted)}; on offer: "
                f"{', '.join(str(flat(one)) for one in offered) or 'none'}"
            )
        self.found[f"{KIND} {level}", names, len(at.place)] = "permute" if follows_one(row) else "skew"
        self.found[f"{ROW} {level}", names, len(at.place)] = flat(row)
        return row


def _settled(row: Row) -> Row:
    """Return the row shifted so that its least constant is 0: a common shift does not change the schedule."""
    least = min(vector[-1] for vector in row)
    return tuple((*vector[:-1], vector[-1] - least) for vector in row)


def preferences_of_nests(nests: Sequence[LoopNest], level: int = 1) -> Preferences:
    """Return the choices that lead to the rows of `nests`, if these are offered; the order of nests is left open."""
    wanted: dict[tuple[str, tuple[str, ...]], Option] = {}
    for nest in nests:
        names = nest.statements
        wanted[f"{WAVEFRONT} {level}", names] = bool(nest.wavefront)
        for depth, row in enumerate(nest.rows, level):
            wanted[f"{KIND} {depth}", names] = "permute" if follows_one(row) else "skew"
            wanted[f"{ROW} {depth}", names] = flat(row)
        first = [part.rows[0] for part in nest.parts if part.rows]
        below = [(depth, [row]) for depth, row in enumerate(nest.rows[1:], level + 1)] + [
            (level + len(nest.rows), first)
        ]
        wanted |= {(f"{DIAGONALS} {depth}", names): not all(map(follows_one, rows)) for depth, rows in below}
        wanted |= {(f"{TILE} {k}", names): size for k, size in enumerate(nest.wavefront, 1)}
        wanted |= preferences_of_nests(nest.parts, level + len(nest.rows))
    return wanted
