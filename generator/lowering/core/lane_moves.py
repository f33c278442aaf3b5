"""The parts of a tile's stages that the lanes of a warp hold, and the moves of elements to the lanes that read them.

    float one_0;
    one_0 = __shfl_sync(0xffffffffu, one_k2, (t0 + 31) % 32);      element x - 1: the previous lane has it ..
    if (t0 < 1) one_0 = one_here[t0 + 63];                         .. or it is in shared memory

A stage is one of a pipeline (`core/split_tiles.py`), or an array after a sweep of a time step (`core/split_steps.py`).
All lanes execute all shuffles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.linear import plain_form, simplify
from generator.lowering.memory.box import LocalBox
from generator.lowering.memory.sub_tiles import HeldStage, Source, SubTile, SubTiles, all_of
from generator.lowering.memory.tile_rows import Span, offset_in, point
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Declare, If, Node, Receive, map_expressions
from generator.polyhedral.memory.lanes import LaneCheck, Way
from generator.polyhedral.memory.mapping import block_names


@dataclass(slots=True)
class Lanes:
    """The lanes of a warp with `tiles[d]` tiles in each dimension.

    By stage: its C type, and the box with its part in shared memory. `variables`: those of sub-tiles. `numbers`: the
    number of received values per array. New names are added to `taken`.
    """

    cut: SubTiles
    tiles: tuple[int, ...]
    stages: Mapping[str, HeldStage]
    types: Mapping[str, str]
    boxes: Mapping[str, LocalBox]
    check: LaneCheck
    taken: set[str]
    variables: dict[tuple[str, SubTile], str] = field(default_factory=dict, init=False)
    several: frozenset[int | None] = field(init=False)
    numbers: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.several = frozenset(
            span.dim for one in self.stages.values() for k, span in enumerate(one.spans) if self.cut.rows_of(one, k) > 1
        )

    def where(self, stage: HeldStage, sub_tile: SubTile) -> Mapping[int, Expr]:
        """Return the point of a stage that a lane has, by dimension."""
        firsts = [self.cut.first(stage, sub_tile, k) for k in range(len(stage.spans))]
        return {k: self._of_lane(span, firsts[k]) for k, span in enumerate(stage.spans)}

    def _of_lane(self, span: Span, first: int) -> Expr:
        """Return the point of a lane if `first` is that of lane 0 in the first tile."""
        here = from_first(span, first)
        return here if span.dim is None else simplify(Binary("+", here, self.cut.lane(span.dim)))

    def guard(self, stage: HeldStage, sub_tile: SubTile, ranges: Sequence[tuple[int, int]]) -> Expr | None:
        """Return the condition for lanes with points of the tile, and within `ranges` (the first, and one after the
        last).
        """
        firsts = [
            (self.cut.first(stage, sub_tile, k), self.cut.lanes_along(span)) for k, span in enumerate(stage.spans)
        ]
        inside = self.within(stage.spans, firsts, self.where(stage, sub_tile), ranges)
        return all_of([*self.cut.beyond(stage, sub_tile), *inside])

    def within(
        self,
        spans: Sequence[Span],
        firsts: Sequence[tuple[int, int]],
        where: Mapping[int, Expr],
        ranges: Sequence[tuple[int, int]],
    ) -> list[Expr]:
        """Return the conditions under which the points `where` are within `ranges`, without those that always hold.

        `firsts`: the first point in the first tile and the number of points, per dimension.
        """
        conditions = list[Expr]()
        for k, (span, (first, size), (low, end)) in enumerate(zip(spans, firsts, ranges, strict=True)):
            moved = 0 if span.dim is None else span.step * (self.tiles[span.dim] - 1)
            if first + min(moved, 0) < low:
                conditions.append(simplify(Binary(">=", where[k], Int(low))))
            if first + max(moved, 0) + size > end:
                conditions.append(simplify(Binary("<", where[k], Int(end))))
        return conditions

    def declared(self, stage: HeldStage, sub_tile: SubTile, note: str) -> Declare:
        """Return a new variable for a sub-tile."""
        rows = "".join(
            f"_r{row}" for k, (span, row) in enumerate(zip(stage.spans, sub_tile.rows, strict=True))
            if k != stage.x and span.dim in self.several
        )  # fmt: skip
        name = fresh_name(f"{stage.array}_k{sub_tile.number}{rows}", self.taken)
        return Declare(name, self.types[stage.array], (), f"{note}, sub-tile {sub_tile.number}: one point per lane")

    def hold(self, stage: HeldStage, sub_tile: SubTile, name: str, guard: Expr | None) -> None:
        """Record that the variable now holds the sub-tile, in the lanes for which `guard` holds."""
        self.variables[stage.array, sub_tile] = name
        self.check.hold(name, stage.array, tuple(self.where(stage, sub_tile).values()), guard)


def from_first(span: Span, low: int) -> Expr:
    """Return the element `low` of the first tile, in the current tile."""
    if span.dim is None:
        return Int(low)
    return simplify(Binary("+", Binary("*", Int(span.step), Name(block_names(span.dim + 1)[span.dim])), Int(low)))


@dataclass(slots=True)
class Brought:
    """The elements that lanes have received for a stage: from other lanes, and combined from several ways."""

    received: dict[Way, Load] = field(default_factory=dict)
    chosen: dict[tuple[Way, ...], Load] = field(default_factory=dict)


@dataclass(slots=True)
class Moves:
    """Finds the values that the lanes computing sub-tile `at` of a stage read; `nodes` bring those not `brought` yet.

    `guard`: the lanes that need them.
    """

    lanes: Lanes
    brought: Brought
    stage: HeldStage
    at: SubTile
    guard: Expr | None
    nodes: list[Node] = field(default_factory=list)

    def find(self, array: str, index: tuple[Expr, ...], asked: tuple[Expr, ...] = ()) -> Load:
        """Return what holds an element of a stage in this lane, once `nodes` have run.

        `asked`: its subscripts as in the program, if `index` is another form of them.
        """
        lanes, where = self.lanes, self.lanes.where(self.stage, self.at)
        sources = lanes.cut.sources(self.stage, self.at, lanes.stages[array], index)
        wanted, exactly = put(Load(array, index), where), put(Load(array, asked or index), where)
        assert isinstance(wanted, Load) and isinstance(exactly, Load)
        ways = [self._way(array, source, wanted) for source in sources]
        ways[0] = replace(ways[0], when=None)  # for the lanes that no other way serves
        lanes.check.read(array, exactly.index, self.guard, ways)
        if len(ways) == 1:
            return self._value(ways[0], array)
        if tuple(ways) not in self.brought.chosen:
            self.brought.chosen[tuple(ways)] = self._chosen(ways, array, index)
        return self.brought.chosen[tuple(ways)]

    def _chosen(self, ways: Sequence[Way], array: str, index: tuple[Expr, ...]) -> Load:
        """Return a variable with the value of each way in the lanes that use it."""
        [first, *others] = [(way, self._value(way, array)) for way in ways]
        held = self._variable(array, f"{array} at {_words(index)}")
        self.nodes.append(Assign(held, "", first[1]))
        for way, value in others:
            assert way.when is not None, "it would be the only one"
            self.nodes.append(If(way.when, (Assign(held, "", value),)))
        return held

    def _value(self, way: Way, array: str) -> Load:
        """Return the value of one way: an element in shared memory, the lane's own variable, or that of another lane.
        """
        if way.box:
            return Load(way.box, way.place)
        cut = self.lanes.cut
        if way.place == tuple(cut.lane(d) for d in range(len(cut.threads))):
            return Load(way.register)
        way = replace(way, when=None)
        if way not in self.brought.received:
            held = self.brought.received[way] = self._variable(array, "")
            self.nodes.append(Receive(held, Load(way.register), cut.linear(way.place)))
        return self.brought.received[way]

    def _variable(self, array: str, note: str) -> Load:
        number = self.lanes.numbers[array] = self.lanes.numbers.get(array, -1) + 1
        held = Load(fresh_name(f"{array}_{number}", self.lanes.taken))
        self.nodes.append(Declare(held.array, self.lanes.types[array], (), note))
        return held

    def _way(self, array: str, source: Source, wanted: Load) -> Way:
        """Return a source with its names; rows of lanes beyond the tile have no elements in shared memory."""
        if source.sub_tile is not None:
            return Way(source.when, self.lanes.variables[array, source.sub_tile], "", source.place)
        beyond = self.lanes.cut.beyond(self.stage, self.at)
        box = self.lanes.boxes[array]
        when = all_of([*beyond, source.when]) if source.when is not None else None
        return Way(when, "", box.name, tuple(map(simplify, box.element(wanted.index).index)))


def _words(index: Sequence[Expr]) -> str:
    """`x - 1, y`: the dimensions are called x, y, z from the last one on; `..` for rows that are not at a constant
    distance.
    """
    parts = list[str]()
    for name, one in zip(("x", "y", "z", *("w" for _ in index)), reversed(index), strict=False):
        far = offset_in(one)
        distance = "" if far is None or not far[1] else f" {'-' if far[1] < 0 else '+'} {abs(far[1])}"
        parts.append(f"{name}{distance}" if far is not None else str(one.value) if isinstance(one, Int) else "..")
    return ", ".join(parts)


def put_in(nodes: Sequence[Node], where: Mapping[int, Expr]) -> tuple[Node, ...]:
    """Return `nodes` with `point` replaced by a place."""
    return map_expressions(tuple(nodes), lambda expr: put(expr, where))


def put(expr: Expr, where: Mapping[int, Expr]) -> Expr:
    """Return `expr` with the places of `point`, subscripts simplified."""
    values = {point(k).name: place for k, place in where.items()}

    def placed(one: Expr) -> Expr:
        if isinstance(one, Name):
            return values.get(one.name, one)
        if isinstance(one, Load):
            index = tuple(placed(i) for i in one.index)
            return Load(one.array, tuple(plain_form(i) or i for i in index), one.access)
        return map_children(one, placed)

    return placed(expr)
