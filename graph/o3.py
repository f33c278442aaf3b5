"""The space of the O3 level: rows of the schedule matrix, then which components share loops, then every kernel.

Papenhausen & Mueller's Coding Ants, section 5.1.3. At every depth, each strongly connected component of the
dependences that are still unordered gets its next row of the schedule matrix. First comes whether the row follows one
iterator or combines several (permute or skew: a decision of its own, so that the many skews do not outnumber the few
permutations), then the row. After the rows comes the partition: an order of the components, cut into groups whose
rows form a common loop.

The outer two loops are parallel if such rows exist (the paper's pruning). If none exists, all legal rows are offered,
as host loops, and parallel rows are searched one loop further in.

Two additions are ours. A component without a parallel row may run its tiles along wavefronts: a band of rows that may
be tiled together, where tiles with the same sum of indices run in parallel. Components inside host loops with a single
parallel row (sweeps) may all run along diagonals instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.schedules.hyperplanes import Hyperplanes, LoopNest, Row
from generator.target import Target
from graph.kernels import KernelSpace, number, switch
from graph.o1 import Shapes, choose_reductions, other_answers, with_kernels
from graph.o2 import choose_order, choose_sizes
from graph.o3_answers import answers_of_nests, preferences_of_nests
from graph.o3_rows import (
    DIAGONALS,
    KIND,
    MOST_LOOPS,
    MOST_MEMOIZED,
    PARALLEL_LOOPS,
    ROW,
    START_TILES,
    TILE,
    WAVEFRONT,
    WAVEFRONT_TILES,
    Chosen,
    Depends,
    Offer,
    Outside,
    Part,
    Rows,
    beside,
    flat,
    follows_one,
)
from graph.placement import Placeable
from graph.policies import Preferences
from graph.reaching import Answers, NotOnOffer, Reachable
from graph.space import Chooser, DeadEnd, Decision, Option


def make_o3_space(shapes: Shapes, rows: Rows, target: Target, wide: bool = True, reductions: Sequence[str] = (),
                  arrays: Sequence[Placeable] = ()) -> Reachable:
    """Return the O3 space of a program. `rows` should cache its results; the other arguments: see `make_o1_space`."""
    return _O3Space(shapes, rows, KernelSpace(target, wide), tuple(sorted(reductions)), tuple(arrays))


@dataclass(frozen=True, slots=True)
class _O3Space:
    shapes: Shapes
    rows: Rows
    kernels: KernelSpace
    reductions: tuple[str, ...]
    arrays: tuple[Placeable, ...]
    hopeless: dict[tuple[Outside, tuple[str, ...]], str] = field(default_factory=dict, compare=False)
    """By component and the loops around it: why every walk from there ends in a dead end; empty if one does not."""

    def answers(self, plan: Plan) -> Answers:
        """See graph.reaching.Reachable."""
        if not isinstance(plan.schedule, Hyperplanes):
            raise NotOnOffer(f"the plan is not in the space: {ROW} is not a decision of a "
                             f"{type(plan.schedule).__name__}")
        try:
            found = answers_of_nests(self.rows, plan.schedule.nests, plan.schedule.reductions)
        except IllegalPlan as error:
            raise NotOnOffer(f"the plan is not in the space: {error}") from error
        return {**found, **other_answers(plan, self.shapes, self.reductions, self.arrays)}

    def __call__(self, chooser: Chooser) -> Plan:
        reduced = choose_reductions(chooser, self.reductions)
        try:
            self._check(Outside(reduced, ()), ())
            nests = self._nests(chooser, Outside(reduced, ()), ())
        except IllegalPlan as error:
            raise DeadEnd(str(error)) from error
        return with_kernels(chooser, Hyperplanes(nests, reduced), self.shapes, self.kernels, self.arrays)

    def _nests(self, chooser: Chooser, at: Outside, statements: tuple[str, ...]) -> tuple[LoopNest, ...]:
        """Ask for the loop nests of `statements` inside a place, in order; () if no loop is left. Raises DeadEnd."""
        level = self.rows.inside(at.reduced, at.place, statements)
        if at.place and not any(part.left for part in level.components):
            return ()
        diagonals = self._diagonals(chooser, at, level.components, statements)
        chosen = [self._component(chooser, at, part, diagonals) for part in level.components]
        rows: Depends = tuple((" ".join(c.statements), flat(c.step[1])) for c in chosen)
        here = (*at.depends(at.place), *rows)
        order = choose_order(chooser, len(chosen), level.before, statements, here)
        chosen = [chosen[k] for k in order]
        runs = [self._run(at, chosen[first:]) for first in range(len(chosen))]
        here = (
            *here,
            *(("in tiles", " ".join(c.statements)) for c in chosen if c.wavefront),
            ("order", order),
        )  # they are alone
        nests = []
        for size in self._sizes(chooser, at, chosen, runs, statements, here):
            nests.append(self._nest(chooser, at, chosen[:size]))
            chosen = chosen[size:]
        return tuple(nests)

    def _sizes(self, chooser: Chooser, at: Outside, chosen: Sequence[Chosen], runs: Sequence[int],
               statements: tuple[str, ...], here: Depends) -> tuple[int, ...]:
        """Ask how many components each group takes. If all share a parallel loop and can share the next, they do."""
        if at.parallel == 1 and at.looking and runs[0] == len(chosen) and all(c.rows and c.parallel for c in chosen):
            return (len(chosen),)
        return choose_sizes(chooser, runs, statements, here)

    def _run(self, at: Outside, chosen: Sequence[Chosen]) -> int:
        """Return how many of `chosen`, from the first on, can form one group."""
        size = 1
        while size < len(chosen) and not chosen[0].wavefront and not chosen[size].wavefront:
            if self.rows.fused(at.reduced, at.place, tuple(c.step for c in chosen[:size + 1])) is None:
                break
            size += 1
        return size

    def _nest(self, chooser: Chooser, at: Outside, group: Sequence[Chosen]) -> LoopNest:
        """Return the loop nest of one group, with the nests inside its loops."""
        statements = tuple(sorted(name for chosen in group for name in chosen.statements))
        rows = group[0].rows
        if len(group) > 1:
            row = self.rows.fused(at.reduced, at.place, tuple(c.step for c in group))
            assert row is not None
            rows = (row,) if row else ()
        if not rows:
            return LoopNest(statements)
        parallel = all(chosen.parallel for chosen in group)
        inner = at
        for row in rows:
            inner = inner.inside((statements, row), parallel)
        wavefront = group[0].wavefront
        if wavefront:
            inner = Outside(inner.reduced, inner.place, PARALLEL_LOOPS, False)
        return _joined(LoopNest(statements, rows, self._nests(chooser, inner, statements), wavefront))

    def _diagonals(self, chooser: Chooser, at: Outside, parts: Sequence[Part], statements: tuple[str, ...]) -> bool:
        """Ask whether sweeps run along diagonals. One decision for all: it seldom pays, so few walks should have it."""
        if not any(beside(self.rows, at, part) for part in parts):
            return False
        depends = at.depends(self.rows.within(at.place, statements))
        return switch(chooser, Decision(f"{DIAGONALS} {len(at.place) + 1}", statements, depends))

    def _component(self, chooser: Chooser, at: Outside, part: Part, diagonals: bool) -> Chosen:
        """Ask for the next row of one component, or for its band of tiles. Raises DeadEnd."""
        if not part.left:
            return Chosen(part.statements, (), True)
        names = part.statements
        offer = self.rows.offer(at.reduced, at.place, names, at.looking)
        depends = at.depends(self.rows.within(at.place, names))
        level = len(at.place) + 1
        if offer.tilable and not at.parallel and switch(chooser, Decision(f"{WAVEFRONT} {level}", names, depends)):
            return self._tiles(chooser, at, names, depends)
        permute, skew, parallel = offer.permute, () if straight(at, names, offer) else offer.skew, offer.parallel
        if diagonals and (diagonal := beside(self.rows, at, part)):
            permute, skew, parallel = (), diagonal, False
        row = _row(chooser, names, level, depends, permute, skew)
        self._check(at.inside((names, row), parallel), names)
        return Chosen(names, (row,), parallel)

    def _check(self, at: Outside, names: tuple[str, ...]) -> None:
        """Raise DeadEnd if a component of `names` (empty: of the program) has no rows; this prunes the last choice."""
        for part in self.rows.inside(at.reduced, at.place, names).components:
            asked = (replace(at, place=self.rows.within(at.place, part.statements)), part.statements)
            if part.left and asked not in self.hopeless:
                if len(self.hopeless) >= MOST_MEMOIZED:
                    self.hopeless.clear()
                self.hopeless[asked] = self._hopeless(at, part)
            if part.left and (why := self.hopeless[asked]):
                raise DeadEnd(why)

    def _hopeless(self, at: Outside, part: Part) -> str:
        """Return why one component cannot have rows for all its loops, looked at alone; empty if it can."""
        offer = self.rows.offer(at.reduced, at.place, part.statements, at.looking)
        why = f"{', '.join(part.statements)} for loop {len(at.place) + 1}"
        why = (f"no legal row was found for {why}; there are too many combinations to try all" if offer.cut else
               f"no row with coefficients in [-2, 2] is legal for {why}")
        for row in (*offer.permute, *(() if straight(at, part.statements, offer) else offer.skew)):
            try:
                self._check(at.inside((part.statements, row), offer.parallel), part.statements)
            except DeadEnd as error:
                why = str(error)
            else:
                return ""
        return why

    def _tiles(self, chooser: Chooser, at: Outside, names: tuple[str, ...], depends: Depends) -> Chosen:
        """Ask for the rows of a permutable band, as deep as possible, and its tile sizes. Raises DeadEnd."""
        rows: tuple[Row, ...] = ()
        while offered := self.rows.band(at.reduced, at.place, names, rows):
            permute = tuple(row for row in offered if follows_one(row))
            skew = tuple(row for row in offered if not follows_one(row))
            before: Depends = (*depends, ("band", tuple(n for row in rows for n in flat(row))))
            rows = (*rows, _row(chooser, names, len(at.place) + 1 + len(rows), before, permute, skew))
        if len(rows) < 2:
            raise DeadEnd(f"the first row leaves {', '.join(names)} no second one to tile")
        self._check(Outside(at.reduced, (*at.place, *((names, row) for row in rows)), PARALLEL_LOOPS, False), names)
        sizes = tuple(number(chooser, Decision(f"{TILE} {k}", names), WAVEFRONT_TILES) for k in range(1, len(rows) + 1))
        return Chosen(names, rows, False, sizes)


def straight(at: Outside, names: tuple[str, ...], offer: Offer) -> bool:
    """Return whether a component gets permutations only: a parallel reduction combines results of whole blocks."""
    return bool(offer.permute) and not set(at.reduced).isdisjoint(names)


def _row(chooser: Chooser, names: tuple[str, ...], level: int, depends: Depends, permute: Sequence[Row],
         skew: Sequence[Row]) -> Row:
    """Ask for permute or skew, then for the row."""
    kinds = [kind for kind, rows in (("permute", permute), ("skew", skew)) if rows]
    kind = chooser.choose(Decision(f"{KIND} {level}", names, depends), kinds)
    by_numbers = {flat(row): row for row in (permute if kind == "permute" else skew)}
    answer = chooser.choose(Decision(f"{ROW} {level}", names, (*depends, ("kind", kind))), tuple(by_numbers))
    assert isinstance(answer, tuple)
    return by_numbers[answer]


def _joined(nest: LoopNest) -> LoopNest:
    """Return `nest` merged with its only part, unless it has several parts or that part has tiles of its own."""
    if len(nest.parts) != 1 or nest.parts[0].wavefront:
        return nest
    inner = nest.parts[0]
    return LoopNest(nest.statements, (*nest.rows, *inner.rows), inner.parts, nest.wavefront)


def openings(rows: Rows) -> tuple[Preferences, ...]:
    """Return the schedules to try first: permutations only; then tiles along wavefronts, if a component can have them.

    Raises:
        IllegalPlan: as `rows`.
    """
    depths = range(1, MOST_LOOPS + 1)
    plain: dict[tuple[str, tuple[str, ...]], Option] = {}
    for depth in depths:
        plain |= {
            (f"{KIND} {depth}", ()): "permute",
            (f"{WAVEFRONT} {depth}", ()): False,
            (f"{DIAGONALS} {depth}", ()): False,
        }
    tiled: dict[tuple[str, tuple[str, ...]], Option] = {}
    for part in rows.inside((), (), ()).components:
        names = part.statements
        if part.left and rows.offer((), (), names, True).tilable:
            band: tuple[Row, ...] = ()
            while offered := rows.band((), (), names, band):
                band = (*band, offered[0])
            tiled |= preferences_of_nests([LoopNest(names, band, (), START_TILES[:len(band)])])
    return (plain, plain | tiled) if tiled else (plain,)
