"""Rows of the schedule matrix at level o3, and the context of a decision about one; used by the space and its inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from generator.schedules.hyperplanes import NestPath, Row, Step
from graph.space import Option, PageRow

Depends: TypeAlias = tuple[tuple[str, Option], ...]

WAVEFRONT_TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
START_TILES = (8, 32, 32, 64, 64, 64)
MOST_LOOPS = 6
PARALLEL_LOOPS = 2
"""The number of outer loops that are made parallel if possible."""
MOST_MEMOIZED = 8192
KIND, ROW, DIAGONALS = "schedule kind", "hyperplane", "sweeps along diagonals"
WAVEFRONT, TILE = "tile wavefront", "wavefront tile size"

ROWS = (
    PageRow(
        "schedule kind 1, 2, ...",
        "a strongly connected component, in its outermost loop, the next one, ..., `--level o3`",
        "permute, skew",
        "whether the loop follows one iterator or combines several; asked separately because there are many more "
        "skews than permutations",
    ),
    PageRow(
        "hyperplane 1, 2, ...",
        "the same",
        "rows with coefficients in [-2, 2] that respect all dependences, the simplest of them "
        "([more](schedules.md#which-rows-are-on-offer))",
        "`2 1 0 0` runs iteration (t, i, j) at 2t + i; the last number of a statement is a constant. The outer two "
        "loops are parallel if such rows exist; otherwise host loops are offered, and parallel loops are searched one"
        " level further in",
    ),
    PageRow(
        "sweeps along diagonals 2, 3, ...",
        "the part inside a host loop, `--level o3`",
        "no, yes",
        "asked if components have a single parallel loop: yes replaces it by skewed host loops with a parallel loop "
        "inside ([more](schedules.md#which-rows-are-on-offer))",
    ),
    PageRow(
        "tile wavefront 1, 2, ...",
        "a component without a parallel loop there, `--level o3`",
        "no, yes",
        "yes: as many rows as can be tiled together; tiles with the same sum of indices run in parallel, one sum "
        "after the other, launched by the host",
    ),
    PageRow(
        "wavefront tile size 1, 2, ...",
        "the same",
        "powers of two up to 256",
        "per row; inside a tile, its points run in order in one thread, or, on GPUs, along "
        "[diagonals](schedules.md#tiles-of-wavefronts-in-blocks)",
    ),
)
"""Rows of the tables in docs/decisions.md."""


class Part(Protocol):
    """A component inside a place (generator.polyhedral.schedules.hyperplanes.Part)."""

    @property
    def statements(self) -> tuple[str, ...]:
        """The sorted names of its statements."""

    @property
    def left(self) -> int:
        """The number of loops that it still needs."""


class Inside(Protocol):
    """The components inside a place (generator.polyhedral.schedules.hyperplanes.Inside)."""

    @property
    def components(self) -> Sequence[Part]:
        """The components in a legal order."""

    @property
    def before(self) -> frozenset[tuple[int, int]]:
        """Pairs of components: the first must come before the second."""


class Offer(Protocol):
    """Rows for a component (generator.polyhedral.schedules.hyperplanes.Offer)."""

    @property
    def permute(self) -> tuple[Row, ...]:
        """Rows that follow one iterator."""

    @property
    def skew(self) -> tuple[Row, ...]:
        """Rows that combine several iterators."""

    @property
    def parallel(self) -> bool:
        """Whether the loops of these rows are parallel: dependent instances run in the same iteration."""

    @property
    def tilable(self) -> bool:
        """Whether tiles along wavefronts are possible."""

    @property
    def cut(self) -> bool:
        """Whether legal rows may be missing, because there are too many combinations to try all."""


class Rows(Protocol):
    """The legal rows of a program (generator.polyhedral.schedules.hyperplanes.O3). All methods raise IllegalPlan."""

    def within(self, place: NestPath, statements: tuple[str, ...]) -> NestPath:
        """Return `place` restricted to some of its statements."""

    def inside(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...]) -> Inside:
        """Return the components of `statements` (empty: of the whole program) inside `place`."""

    def offer(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...], parallel: bool) -> Offer:
        """Return the rows for one component. `parallel`: only parallel ones, if there are any."""

    def beside(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...]) -> tuple[Row, ...]:
        """Return skewed rows that may replace the only parallel row of a component inside permuted host loops."""

    def band(self, reductions: tuple[str, ...], place: NestPath, statements: tuple[str, ...],
             rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Return the rows that may follow `rows` in one permutable band."""

    def fused(self, reductions: tuple[str, ...], place: NestPath, steps: tuple[Step, ...]) -> Row | None:
        """Return the common row of components with these rows; None if they cannot share a loop."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The context of a decision.

    `reduced`: statements that are reduced in parallel. `place`: the loops around it. `parallel`: how many of these are
    parallel. `looking`: whether more parallel loops are searched.
    """

    reduced: tuple[str, ...]
    place: NestPath
    parallel: int = 0
    looking: bool = True

    def inside(self, step: Step, parallel: bool) -> Outside:
        """Return the context one loop further in."""
        count = self.parallel + parallel
        looking = count < PARALLEL_LOOPS and self.looking and (parallel or not count)
        return Outside(self.reduced, (*self.place, step), count, looking)

    def depends(self, place: NestPath) -> Depends:
        """Return what the options at `place` (this place, or a restriction of it) depend on."""
        rows: Depends = tuple((" ".join(names), flat(row)) for names, row in place)
        return (*(("reduced", name) for name in self.reduced), *rows,
                ("parallel loops", self.parallel), ("looking for more", self.looking))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows chosen for a component: none if it needs no loop; several for a band of tiles of sizes `wavefront`."""

    statements: tuple[str, ...]
    rows: tuple[Row, ...]
    parallel: bool
    wavefront: tuple[int, ...] = ()

    @property
    def step(self) -> Step:
        """The statements and the first row (() if there is none)."""
        return self.statements, self.rows[0] if self.rows else ()


def flat(row: Row) -> tuple[int, ...]:
    """Return all numbers of a row, statement by statement."""
    return tuple(n for vector in row for n in vector)


def follows_one(row: Row) -> bool:
    """Return whether each statement of the row follows at most one of its iterators."""
    return all(sum(map(abs, vector[:-1])) <= 1 for vector in row)


def beside(rows: Rows, at: Outside, part: Part) -> tuple[Row, ...]:
    """Return the diagonals of one component: host loops that may replace its only parallel row; () if none may."""
    if not part.left or at.parallel or not at.looking or not set(at.reduced).isdisjoint(part.statements):
        return ()
    return rows.beside(at.reduced, at.place, part.statements)
