"""Stages that threads around a team compute together, before its tile: those of other levels (`levels` of a plan).

    all threads of the block compute gray_here       for the tile of the block, in shared memory
    barrier
    this thread computes gx_here                     for its own tile, in registers, from gray_here
    out = .. gx_here ..

Loops are made for the innermost team first. Its block indices `b0`, .. number its tiles; those of the threads around it
are called `outer b0`, .. there, with one more `outer` for each level between. Putting a team into the threads around it
(`teams.py`) takes one away.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from generator.expr import Expr, Load, Name, map_children
from generator.linear import plain_form
from generator.lowering.memory.box import LocalBox
from generator.lowering.memory.computed import ComputedBox, Computing, Entered
from generator.lowering.memory.teams import OUTER, Team, team_of
from generator.nest import Node, map_expressions
from generator.plan import KernelPlan
from generator.polyhedral.memory.boxes import Around
from generator.polyhedral.memory.mapping import block_names
from generator.program import Program
from generator.target import Language


@dataclass(frozen=True, slots=True)
class Outer:
    """Threads that compute stages `around` a number of tiles of the innermost team. `team`: themselves as a team."""

    team: Team
    around: Around


@dataclass(frozen=True, slots=True)
class Teams:
    """The teams of a kernel. `inner`: the innermost one; `outer`: those around it, from the inside. `plan`: that of a
    kernel whose blocks are the innermost teams.
    """

    inner: Team
    outer: tuple[Outer, ...]
    plan: KernelPlan

    @classmethod
    def of_block(cls, plan: KernelPlan) -> Teams:
        """Return the single team of a block."""
        return cls(Team("block", plan.block, (1,) * len(plan.block)), (), plan)

    @property
    def around(self) -> tuple[Around, ...]:
        """The stages of the outer teams."""
        return tuple(one.around for one in self.outer)

    def grid(self, tiles: Sequence[int]) -> tuple[int, ...]:
        """Return the blocks in x, y and z for so many tiles of the innermost team (outermost dimension first)."""
        *inside, last = self.inner, *(one.team for one in self.outer)
        for team in inside:
            tiles = _tiles_around(team, tiles)
        return last.grid(tiles)


def teams_of(plan: KernelPlan, language: Language) -> Teams:
    """Return the teams of a kernel. Raises IllegalPlan as `team_of`."""
    inner = team_of(plan, language)
    within, outer = inner.plan(plan), list[Outer]()
    stages = {level: tuple(name for name, own in plan.levels if own == level) for level in ("sub-group", "block")}
    if stages["sub-group"]:
        team = team_of(replace(plan, level="sub-group"), language)
        outer.append(Outer(team, Around(stages["sub-group"], team.threads)))
    if stages["block"]:
        outer.append(Outer(team_of(replace(plan, level="block"), language), Around(stages["block"], inner.count)))
    if stages["sub-group"]:
        inner = Team(inner.level, inner.threads, outer[0].team.threads)
    return Teams(inner, tuple(outer), within)


def seen_from(boxes: Sequence[ComputedBox], outwards: int) -> tuple[ComputedBox, ...]:
    """Return boxes of threads around a team as that team sees them, through so many levels."""
    return tuple(box.at({name: Name(OUTER * outwards + name) for name in block_names(3)}) for box in boxes)


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What outer threads do before their teams: `nodes` fill `boxes`, and wait."""

    team: Team
    nodes: tuple[Node, ...]
    boxes: tuple[ComputedBox, ...]


@dataclass(frozen=True, slots=True)
class OuterBoxes:
    """The boxes of outer teams, from the inside; `first`: the number of the first of their places."""

    teams: Teams
    boxes: tuple[ComputedBox, ...]
    first: int

    def of(self, k: int) -> tuple[ComputedBox, ...]:
        """Return the boxes of the outer team `k`."""
        return tuple(box for box in self.boxes if box.point == self.first + k)

    def inside(self, k: int) -> tuple[ComputedBox, ...]:
        """Return the boxes that the outer team `k` sees (-1: the innermost team), its own ones included."""
        return tuple(box for j in range(max(k, 0), len(self.teams.outer)) for box in seen_from(self.of(j), j - k))

    def filled(self, program: Program, taken: set[str]) -> tuple[Surrounding, ...]:
        """Return the loops that fill them. New names are added to `taken`."""
        found = []
        for k, one in enumerate(self.teams.outer):
            computing = Computing(program, self.inside(k), one.team.threads, taken)
            nodes = computing.enter(Entered(self.first + k, {}), False)
            found.append(Surrounding(one.team, tuple(nodes), self.of(k)))
        return tuple(found)


def surrounded(inner: Team, body: tuple[Node, ...], tiles: Sequence[int],
               around: Sequence[Surrounding]) -> tuple[tuple[Node, ...], tuple[LocalBox, ...]]:
    """Return the loops of a thread with what is done before `body` by the threads around its `inner` team, and the
    shared memory for that. `tiles`: those of the inner team.
    """
    shared: tuple[LocalBox, ...] = ()
    for one in around:
        tiles = _tiles_around(inner, tiles)
        body, held = one.team.in_blocks((*one.nodes, *body), one.boxes, tiles)
        shared, inner = (*held, *shared), one.team
    names = {box.name for one in around for box in one.boxes}
    return map_expressions(body, lambda expr: _simplified(expr, names)) if names else body, shared


def _tiles_around(team: Team, tiles: Sequence[int]) -> tuple[int, ...]:
    """Return the tiles of the threads around a team."""
    return tuple(-(-n // count) for n, count in zip(tiles, team.count, strict=True))


def _simplified(expr: Expr, boxes: Collection[str]) -> Expr:
    """Return `expr` with simple subscripts of `boxes`: there, the numbers of a tile and of the one around it cancel."""
    placed = map_children(expr, lambda child: _simplified(child, boxes))
    if isinstance(placed, Load) and placed.array in boxes:
        return Load(placed.array, tuple(plain_form(i) or i for i in placed.index), placed.access)
    return placed

