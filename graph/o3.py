"""The space of the O3 level: the schedule itself, then who shares loops, then the decisions of every kernel.

Papenhausen & Mueller's Coding Ants, section 5.1.3. At every depth each strongly connected component of the dependences
that are still unordered gets its next row of the schedule matrix: first whether it follows one iterator or mixes several
(permute or skew: a metadata node, so that the many skews do not drown the few permutations), then the row. After the rows
comes the partition: an order of the components, cut into groups whose rows make a common loop.

The outer two loops are parallel where such rows exist (their pruning); where none exists, all legal rows are on offer, as
loops of the host, and the search for parallel ones goes on one loop further in. There, a component may also run its tiles
along wavefronts: rows that may be tiled together, tiles with the same sum of numbers in parallel. This is ours, not theirs.
So is this: components inside loops of the host that have a single parallel row (sweeps) may all run along diagonals instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from generator.errors import IllegalPlan
from generator.plan import Hyperplanes, LoopNest, Plan, Row
from generator.target import Target
from graph.kernels import KernelSpace, number, switch
from graph.o1 import Shapes, choose_reductions, with_kernels
from graph.o2 import choose_order, choose_sizes
from graph.placement import Placeable
from graph.policies import Preferences
from graph.space import Chooser, DeadEnd, Decision, Option, PageRow, Space

Step: TypeAlias = tuple[tuple[str, ...], Row]
Place: TypeAlias = tuple[Step, ...]
Depends: TypeAlias = tuple[tuple[str, Option], ...]

WAVEFRONT_TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
START_TILES = (8, 32, 32, 64, 64, 64)
MOST_LOOPS = 6
PARALLEL_LOOPS = 2
"""So many outer loops are parallel where they can be."""
MOST_REMEMBERED = 8192
_KIND, _ROW, _DIAGONALS = "schedule kind", "hyperplane", "sweeps along diagonals"
_WAVEFRONT, _TILE = "tile wavefront", "wavefront tile size"

ROWS = (
    PageRow("schedule kind 1, 2, ...", "a strongly connected component, in its outermost loop, the next one, ..., `--level o3`",
        "permute, skew",
        "whether the loop follows one iterator or mixes several; there are many more skews, so that they would "
        "drown the others"),
    PageRow("hyperplane 1, 2, ...", "the same",
        "rows with coefficients in [-2, 2] that break no dependence, the simplest of them "
        "([below](#which-rows-are-on-offer))",
        "`2 1 0 0` runs iteration (t, i, j) at 2t + i; the last number of a statement is a constant. The outer "
        "two loops are parallel where such rows exist; where none exists, host loops are on offer, and parallel"
        " ones are looked for one loop further in"),
    PageRow("sweeps along diagonals 2, 3, ...", "what is inside a loop of the host, `--level o3`",
        "no, yes",
        "asked where components have a single parallel loop: yes makes it skewed rows of the host instead, with"
        " a parallel loop inside ([below](#which-rows-are-on-offer))"),
    PageRow("tile wavefront 1, 2, ...", "a component without a parallel loop there, `--level o3`",
        "no, yes",
        "yes: as many rows as may be tiled together; tiles with the same sum of numbers run in parallel, one "
        "sum after the other, launched by the host"),
    PageRow("wavefront tile size 1, 2, ...", "the same",
        "powers of two up to 256",
        "per row; inside a tile, its points run in order, in one thread"),
)
"""Of docs/decisions.md."""


class Part(Protocol):
    """A component inside a place (generator.polyhedral.hyperplanes.Part)."""

    @property
    def statements(self) -> tuple[str, ...]:
        """Sorted names."""

    @property
    def left(self) -> int:
        """How many more loops it needs."""


class Inside(Protocol):
    """The components inside a place (generator.polyhedral.hyperplanes.Inside)."""

    @property
    def components(self) -> Sequence[Part]:
        """In an order that is possible."""

    @property
    def before(self) -> frozenset[tuple[int, int]]:
        """Pairs of components: the first must come before the second."""


class Offer(Protocol):
    """Rows for a component (generator.polyhedral.hyperplanes.Offer)."""

    @property
    def permute(self) -> tuple[Row, ...]:
        """Those that follow one iterator."""

    @property
    def skew(self) -> tuple[Row, ...]:
        """Those that mix several."""

    @property
    def parallel(self) -> bool:
        """Whether they run no dependent pair apart."""

    @property
    def tilable(self) -> bool:
        """Whether tiles along wavefronts are possible."""

    @property
    def cut(self) -> bool:
        """Whether legal rows may be missing, because there are too many to try all."""


class Rows(Protocol):
    """What is known about rows (generator.polyhedral.hyperplanes.O3); every answer may raise IllegalPlan."""

    def within(self, place: Place, statements: tuple[str, ...]) -> Place:
        """What a place is for some of its statements."""

    def inside(self, reductions: tuple[str, ...], place: Place, statements: tuple[str, ...]) -> Inside:
        """The components of `statements` (empty: of the whole program) inside `place`."""

    def offer(self, reductions: tuple[str, ...], place: Place, statements: tuple[str, ...], parallel: bool) -> Offer:
        """Rows for one component; `parallel`: parallel ones where there are any."""

    def beside(self, reductions: tuple[str, ...], place: Place, statements: tuple[str, ...]) -> tuple[Row, ...]:
        """Skewed rows that may stand in for the only parallel row of a component inside permuted loops of the host."""

    def band(self, reductions: tuple[str, ...], place: Place, statements: tuple[str, ...],
             rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows that may follow `rows` in one permutable band."""

    def fused(self, reductions: tuple[str, ...], place: Place, steps: tuple[Step, ...]) -> Row | None:
        """The row that components with these rows share, or None where they cannot."""


def make_o3_space(shapes: Shapes, rows: Rows, target: Target, wide: bool = True, reductions: Sequence[str] = (),
                  arrays: Sequence[Placeable] = ()) -> Space:
    """The O3 space of a program; `shapes` and the rest as for `make_o1_space`, `rows` should remember its answers."""
    return _O3Space(shapes, rows, KernelSpace(target, wide), tuple(sorted(reductions)), tuple(arrays))


@dataclass(frozen=True, slots=True)
class _Outside:
    """What is settled around a decision: reductions, the place, parallel loops so far, whether more are looked for."""

    reduced: tuple[str, ...]
    place: Place
    parallel: int = 0
    looking: bool = True

    def inside(self, step: Step, parallel: bool) -> _Outside:
        """One loop further in."""
        count = self.parallel + parallel
        looking = count < PARALLEL_LOOPS and self.looking and (parallel or not count)
        return _Outside(self.reduced, (*self.place, step), count, looking)

    def depends(self, place: Place) -> Depends:
        """What the options at `place` (a restriction of this one) depend on."""
        rows: Depends = tuple((" ".join(names), _flat(row)) for names, row in place)
        return (*(("reduced", name) for name in self.reduced), *rows,
                ("parallel loops", self.parallel), ("looking for more", self.looking))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a component got: its rows (none: it needs no loop; several: a band of tiles with the sizes `wavefront`)."""

    statements: tuple[str, ...]
    rows: tuple[Row, ...]
    parallel: bool
    wavefront: tuple[int, ...] = ()

    @property
    def step(self) -> Step:
        """The next loop alone."""
        return self.statements, self.rows[0] if self.rows else ()


@dataclass(frozen=True, slots=True)
class _O3Space:
    shapes: Shapes
    rows: Rows
    kernels: KernelSpace
    reductions: tuple[str, ...]
    arrays: tuple[Placeable, ...]
    hopeless: dict[tuple[_Outside, tuple[str, ...]], str] = field(default_factory=dict, compare=False)
    """By component and what is outside of it: why no walk ends well there; empty where one does."""

    def __call__(self, chooser: Chooser) -> Plan:
        reduced = choose_reductions(chooser, self.reductions)
        try:
            self._check(_Outside(reduced, ()), ())
            nests = self._nests(chooser, _Outside(reduced, ()), ())
        except IllegalPlan as error:
            raise DeadEnd(str(error)) from error
        return with_kernels(chooser, Hyperplanes(nests, reduced), self.shapes, self.kernels, self.arrays)

    def _nests(self, chooser: Chooser, at: _Outside, statements: tuple[str, ...]) -> tuple[LoopNest, ...]:
        """The loop nests of `statements` inside a place, in order; () where no loop is left. Raises DeadEnd."""
        level = self.rows.inside(at.reduced, at.place, statements)
        if at.place and not any(part.left for part in level.components):
            return ()
        diagonals = self._diagonals(chooser, at, level.components, statements)
        chosen = [self._component(chooser, at, part, diagonals) for part in level.components]
        flat: Depends = tuple((" ".join(c.statements), _flat(c.step[1])) for c in chosen)
        here = (*at.depends(at.place), *flat)
        order = choose_order(chooser, len(chosen), level.before, statements, here)
        chosen = [chosen[k] for k in order]
        runs = [self._run(at, chosen[first:]) for first in range(len(chosen))]
        here = (*here, *(("in tiles", " ".join(c.statements)) for c in chosen if c.wavefront), ("order", order))  # they are alone
        nests = []
        for size in self._sizes(chooser, at, chosen, runs, statements, here):
            nests.append(self._nest(chooser, at, chosen[:size]))
            chosen = chosen[size:]
        return tuple(nests)

    def _sizes(self, chooser: Chooser, at: _Outside, chosen: Sequence[_Chosen], runs: Sequence[int],
               statements: tuple[str, ...], here: Depends) -> tuple[int, ...]:
        """How many components each group takes; those that share a parallel loop share the next one where they can."""
        if at.parallel == 1 and at.looking and runs[0] == len(chosen) and all(c.rows and c.parallel for c in chosen):
            return (len(chosen),)
        return choose_sizes(chooser, runs, statements, here)

    def _run(self, at: _Outside, chosen: Sequence[_Chosen]) -> int:
        """How many of `chosen`, from the first on, can be one group."""
        size = 1
        while size < len(chosen) and not chosen[0].wavefront and not chosen[size].wavefront:
            if self.rows.fused(at.reduced, at.place, tuple(c.step for c in chosen[:size + 1])) is None:
                break
            size += 1
        return size

    def _nest(self, chooser: Chooser, at: _Outside, group: Sequence[_Chosen]) -> LoopNest:
        """One group with all that is inside its loops."""
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
            inner = _Outside(inner.reduced, inner.place, PARALLEL_LOOPS, False)
        return _joined(LoopNest(statements, rows, self._nests(chooser, inner, statements), wavefront))

    def _diagonals(self, chooser: Chooser, at: _Outside, parts: Sequence[Part], statements: tuple[str, ...]) -> bool:
        """Whether sweeps run along diagonals: one question for all, since that seldom pays and most walks should be without."""
        if not any(self._beside(at, part) for part in parts):
            return False
        depends = at.depends(self.rows.within(at.place, statements))
        return switch(chooser, Decision(f"{_DIAGONALS} {len(at.place) + 1}", statements, depends))

    def _beside(self, at: _Outside, part: Part) -> tuple[Row, ...]:
        """The diagonals of one component: loops of the host instead of its only parallel row."""
        if not part.left or at.parallel or not at.looking or not set(at.reduced).isdisjoint(part.statements):
            return ()
        return self.rows.beside(at.reduced, at.place, part.statements)

    def _component(self, chooser: Chooser, at: _Outside, part: Part, diagonals: bool) -> _Chosen:
        """The next row of one component, or its band of tiles. Raises DeadEnd."""
        if not part.left:
            return _Chosen(part.statements, (), True)
        names = part.statements
        offer = self.rows.offer(at.reduced, at.place, names, at.looking)
        depends = at.depends(self.rows.within(at.place, names))
        level = len(at.place) + 1
        if offer.tilable and not at.parallel and switch(chooser, Decision(f"{_WAVEFRONT} {level}", names, depends)):
            return self._tiles(chooser, at, names, depends)
        permute, skew, parallel = offer.permute, () if _straight(at, names, offer) else offer.skew, offer.parallel
        if diagonals and (beside := self._beside(at, part)):
            permute, skew, parallel = (), beside, False
        row = _row(chooser, names, level, depends, permute, skew)
        self._check(at.inside((names, row), parallel), names)
        return _Chosen(names, (row,), parallel)

    def _check(self, at: _Outside, names: tuple[str, ...]) -> None:
        """Raise DeadEnd where a component of `names` (of the program if empty) has no rows: the last choice is to blame."""
        for part in self.rows.inside(at.reduced, at.place, names).components:
            asked = (replace(at, place=self.rows.within(at.place, part.statements)), part.statements)
            if part.left and asked not in self.hopeless:
                if len(self.hopeless) >= MOST_REMEMBERED:
                    self.hopeless.clear()
                self.hopeless[asked] = self._hopeless(at, part)
            if part.left and (why := self.hopeless[asked]):
                raise DeadEnd(why)

    def _hopeless(self, at: _Outside, part: Part) -> str:
        """Why one component has no rows for all of its loops; empty if it has, whatever is beside it."""
        offer = self.rows.offer(at.reduced, at.place, part.statements, at.looking)
        why = f"{', '.join(part.statements)} for loop {len(at.place) + 1}"
        why = (f"no legal row was found for {why}; there are too many combinations to try all" if offer.cut else
               f"no row with coefficients in [-2, 2] is legal for {why}")
        for row in (*offer.permute, *(() if _straight(at, part.statements, offer) else offer.skew)):
            try:
                self._check(at.inside((part.statements, row), offer.parallel), part.statements)
            except DeadEnd as error:
                why = str(error)
            else:
                return ""
        return why

    def _tiles(self, chooser: Chooser, at: _Outside, names: tuple[str, ...], depends: Depends) -> _Chosen:
        """A permutable band as deep as it gets, and the sizes of its tiles."""
        rows: tuple[Row, ...] = ()
        while offered := self.rows.band(at.reduced, at.place, names, rows):
            permute = tuple(row for row in offered if _follows_one(row))
            skew = tuple(row for row in offered if not _follows_one(row))
            before: Depends = (*depends, ("band", tuple(n for row in rows for n in _flat(row))))
            rows = (*rows, _row(chooser, names, len(at.place) + 1 + len(rows), before, permute, skew))
        if len(rows) < 2:
            raise DeadEnd(f"the first row leaves {', '.join(names)} no second one to tile")
        self._check(_Outside(at.reduced, (*at.place, *((names, row) for row in rows)), PARALLEL_LOOPS, False), names)
        sizes = tuple(number(chooser, Decision(f"{_TILE} {k}", names), WAVEFRONT_TILES) for k in range(1, len(rows) + 1))
        return _Chosen(names, rows, False, sizes)


def _straight(at: _Outside, names: tuple[str, ...], offer: Offer) -> bool:
    """Whether a component keeps to permutations: threads that combine what they reduce need whole blocks."""
    return bool(offer.permute) and not set(at.reduced).isdisjoint(names)


def _row(chooser: Chooser, names: tuple[str, ...], level: int, depends: Depends, permute: Sequence[Row],
         skew: Sequence[Row]) -> Row:
    """Permute or skew, then the row."""
    kinds = [kind for kind, rows in (("permute", permute), ("skew", skew)) if rows]
    kind = chooser.choose(Decision(f"{_KIND} {level}", names, depends), kinds)
    by_numbers = {_flat(row): row for row in (permute if kind == "permute" else skew)}
    answer = chooser.choose(Decision(f"{_ROW} {level}", names, (*depends, ("kind", kind))), tuple(by_numbers))
    assert isinstance(answer, tuple)
    return by_numbers[answer]


def _flat(row: Row) -> tuple[int, ...]:
    """All numbers of a row, statement by statement."""
    return tuple(n for vector in row for n in vector)


def _follows_one(row: Row) -> bool:
    return all(sum(map(abs, vector[:-1])) <= 1 for vector in row)


def _joined(nest: LoopNest) -> LoopNest:
    """`nest` with the rows of its only part, if that has the same statements and no tiles of its own."""
    if len(nest.parts) != 1 or nest.parts[0].wavefront:
        return nest
    inner = nest.parts[0]
    return LoopNest(nest.statements, (*nest.rows, *inner.rows), inner.parts, nest.wavefront)


def preferences_of_nests(nests: Sequence[LoopNest], level: int = 1) -> Preferences:
    """The choices that lead to the rows of `nests`, as far as they are on offer; the order of nests is left open."""
    wanted: dict[tuple[str, tuple[str, ...]], Option] = {}
    for nest in nests:
        names = nest.statements
        wanted[f"{_WAVEFRONT} {level}", names] = bool(nest.wavefront)
        for depth, row in enumerate(nest.rows, level):
            wanted[f"{_KIND} {depth}", names] = "permute" if _follows_one(row) else "skew"
            wanted[f"{_ROW} {depth}", names] = _flat(row)
        first = [part.rows[0] for part in nest.parts if part.rows]
        below = [(depth, [row]) for depth, row in enumerate(nest.rows[1:], level + 1)] + [(level + len(nest.rows), first)]
        wanted |= {(f"{_DIAGONALS} {depth}", names): not all(map(_follows_one, rows)) for depth, rows in below}
        wanted |= {(f"{_TILE} {k}", names): size for k, size in enumerate(nest.wavefront, 1)}
        wanted |= preferences_of_nests(nest.parts, level + len(nest.rows))
    return wanted


def openings(rows: Rows) -> tuple[Preferences, ...]:
    """Schedules worth a try first: permutations only; then, where components can have them, tiles along wavefronts.

    Raises:
        IllegalPlan: as `rows`.
    """
    depths = range(1, MOST_LOOPS + 1)
    plain: dict[tuple[str, tuple[str, ...]], Option] = {}
    for depth in depths:
        plain |= {(f"{_KIND} {depth}", ()): "permute", (f"{_WAVEFRONT} {depth}", ()): False, (f"{_DIAGONALS} {depth}", ()): False}
    tiled: dict[tuple[str, tuple[str, ...]], Option] = {}
    for part in rows.inside((), (), ()).components:
        names = part.statements
        if part.left and rows.offer((), (), names, True).tilable:
            band: tuple[Row, ...] = ()
            while offered := rows.band((), (), names, band):
                band = (*band, offered[0])
            tiled |= preferences_of_nests([LoopNest(names, band, (), START_TILES[:len(band)])])
    return (plain, plain | tiled) if tiled else (plain,)
