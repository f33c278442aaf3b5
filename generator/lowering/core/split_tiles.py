"""The kernel of a warp whose tile lies in shared memory (left) and in registers (right).

    for (int e0 = t0; e0 < 66; e0 += 32) blur_x_here[e0] = in[..] + ..;      the left sub-tiles and what overlaps
    float blur_x_k2;                                                         sub-tile 2: one value per lane
    blur_x_k2 = in[..] + ..;
    __syncwarp();
    ..
    float blur_x_0;
    blur_x_0 = __shfl_sync(0xffffffffu, blur_x_k2, (t0 + 31) % 32);          element x - 1: the lane before has it ..
    if (t0 < 1) blur_x_0 = blur_x_here[t0 + 63];                             .. or it is in shared memory
    out[..] = blur_x_0 + ..;

All lanes run all shuffles; only loads and stores are under conditions. `LaneCheck` reads the printed expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from generator.decisions.fractions import in_registers
from generator.decisions.shape import LaneRoom
from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.linear import plain_form, simplify
from generator.lowering.core.held_stages import (
    Find,
    Outputs,
    Redirected,
    held_stages,
    output_of,
    outputs,
)
from generator.lowering.memory.barriers import in_turn
from generator.lowering.memory.box import LocalBox, padded_rows
from generator.lowering.memory.computed import Computing
from generator.lowering.memory.cooperative import all_threads
from generator.lowering.memory.sub_tiles import HeldStage, Source, SubTile, SubTiles, all_of, most_words
from generator.lowering.memory.tile_rows import Span, offset_in, point
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Declare, If, Node, Receive, map_expressions
from generator.plan import KernelPlan
from generator.polyhedral.memory.boxes import stage_boxes
from generator.polyhedral.memory.lanes import LaneCheck, SharedBox, Way
from generator.polyhedral.memory.mapping import block_names, check_besides, thread_names
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import ELEMENT_BYTES, Program

MOST_SUB_TILES = 160
"""Sub-tiles in registers, of all stages and the output together: each is text of its own."""

HONOURED = ("order", "unroll", "padding", "exchange", "columns", "level", "in_registers")
"""What the plan of such a kernel decides besides its sizes."""


def sub_tiles_of(plan: KernelPlan) -> SubTiles:
    """How the plan of a kernel whose blocks are warps cuts its tile."""
    points = tuple(tile // threads for tile, threads in zip(plan.tile, plan.block, strict=True))
    return SubTiles(plan.block, points, in_registers(points[-1], plan.in_registers))


def lane_room(program: Program, part: KernelPart, cut: SubTiles, padding: int) -> LaneRoom | None:
    """What the stages take of registers and of shared memory; None where a kernel cannot be cut like that."""
    try:
        stages = held_stages(program, part, cut.threads, cut.points)
    except IllegalPlan:
        return None
    if _count(stages, cut) > MOST_SUB_TILES:
        return None
    sizes = [ELEMENT_BYTES[program.array(stage.array).type] for stage in stages]
    words = [-(-size // 4) * len(list(cut.sub_tiles(stage))) for stage, size in zip(stages, sizes, strict=True)]
    boxes = [_shared_sizes(cut, stage) for stage in stages]
    taken = [size * prod(padded_rows(box, padding)) for size, box in zip(sizes, boxes, strict=True) if prod(box)]
    return LaneRoom(most_words(stages, words), sum(taken))


def _shared_sizes(cut: SubTiles, stage: HeldStage) -> tuple[int, ...]:
    """The part of a stage that is in shared memory."""
    return tuple(cut.shared_size(stage, k) for k in range(len(stage.spans)))


def _count(stages: Sequence[HeldStage], cut: SubTiles) -> int:
    """All sub-tiles in registers, those of the output, which go to global memory, among them."""
    return sum(len(list(cut.sub_tiles(stage))) for stage in stages) + prod(cut.points[:-1]) * cut.in_registers


def split_body(
    program: Program, part: KernelPart, plan: KernelPlan, reductions: tuple[str, ...], taken: set[str]
) -> tuple[tuple[LocalBox, ...], tuple[Node, ...]]:
    """The boxes and the loops of a warp; new names go to `taken`.

    Raises:
        IllegalPlan: lanes cannot hold the stages for each other, the plan wants what such kernels have not, or the text
            would be too long.
    """
    cut = sub_tiles_of(plan)
    stages = held_stages(program, part, cut.threads, cut.points, reductions)
    output = output_of(program, part, cut.threads, cut.points, reductions)
    check_besides(plan, "with parts of its tile in registers", HONOURED)
    if (count := _count(stages, cut)) > MOST_SUB_TILES:
        raise IllegalPlan(
            f"{', '.join(plan.statements)}: {count} sub-tiles in registers would be as many pieces of "
            f"text; at most {MOST_SUB_TILES}: use fewer tenths in registers or smaller tiles"
        )
    stage_boxes(program, part, plan.tile, 1, 0)  # the exact check that computing them once per tile is right
    found = {stage.array: stage for stage in stages}
    splitter = _Splitter(program, outputs(program, part, reductions), plan, cut, found, output, taken)
    body = in_turn([splitter.part(stage) for stage in (*stages, splitter.output)], list(splitter.names))
    return tuple(splitter.boxes.values()), tuple(body)


@dataclass(slots=True)
class _Splitter:
    """Builds the kernel, stage by stage. `boxes` are what of stages is in shared memory, by stage; along `several`
    dimensions lanes have several rows; `variables` hold sub-tiles, `numbers` count what was brought.
    """

    program: Program
    outputs: Outputs
    plan: KernelPlan
    cut: SubTiles
    stages: Mapping[str, HeldStage]
    output: HeldStage
    taken: set[str]
    boxes: dict[str, LocalBox] = field(init=False)
    check: LaneCheck = field(init=False)
    several: frozenset[int | None] = field(init=False)
    variables: dict[tuple[str, SubTile], str] = field(default_factory=dict, init=False)
    numbers: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        count = len(self.cut.threads)
        found = [self._box(stage, fresh_name(f"{stage.array}_here", self.taken)) for stage in self.stages.values()]
        self.boxes = {box.array: box for box in found if prod(box.box)}
        self.several = frozenset(
            span.dim for one in self.stages.values() for k, span in enumerate(one.spans) if self.cut.rows_of(one, k) > 1
        )
        self.check = self._check(
            [(name, 0, n - 1) for name, n in zip(thread_names(count), self.cut.threads, strict=True)]
        )

    @property
    def names(self) -> list[str]:
        """Those of the boxes."""
        return [box.name for box in self.boxes.values()]

    def part(self, stage: HeldStage) -> tuple[Node, ...]:
        """What computes all of a stage, or the output."""
        brought, own = _Brought(), self.cut.sub_tiles(stage)
        cut = [node for sub_tile in own for node in self._in_registers(stage, sub_tile, brought)]
        return *self._in_shared(stage), *cut

    def _check(self, lanes: Sequence[tuple[str, int, int]]) -> LaneCheck:
        blocks = [(name, 0, self._tiles(d) - 1) for d, name in enumerate(block_names(len(self.cut.threads)))]
        extents = {array: self.program.array(array).extents for array in self.stages}
        boxes = {box.name: SharedBox(box.array, box.corner, box.box) for box in self.boxes.values()}
        return LaneCheck(extents, blocks, lanes, boxes)

    def _tiles(self, dim: int) -> int:
        return -(-self.outputs.part.parallel[dim].extent // self.plan.tile[dim])

    def _from(self, span: Span, low: int) -> Expr:
        """The element `low` of the first tile, in the tile at hand."""
        if span.dim is None:
            return Int(low)
        tile = Binary("*", Int(span.step), Name(block_names(len(self.plan.tile))[span.dim]))
        return simplify(Binary("+", tile, Int(low)))

    def _box(self, stage: HeldStage, name: str) -> LocalBox:
        """The part of a stage, or of the output, that is in shared memory or computed from there."""
        corner = tuple(self._from(span, span.low) for span in stage.spans)
        sizes = _shared_sizes(self.cut, stage)
        kind = self.program.array(stage.array).type if stage.array else ""
        return LocalBox(
            name,
            stage.array,
            kind,
            corner,
            sizes,
            padded_rows(sizes, self.plan.padding),
            (None,) * len(sizes),
            "compute",
            "block",
        )

    def _in_shared(self, stage: HeldStage) -> tuple[Node, ...]:
        """Loops in which lanes take turns over the part of a stage that reads nothing but shared memory."""
        box = self._box(stage, "") if stage is self.output else self.boxes.get(stage.array)
        if box is None or not prod(box.box):
            return ()
        ranges = [(name.name, 0, size - 1) for name, size in zip(box.index, box.box, strict=True)]
        check, where = self._check(ranges), dict(enumerate(box.outside))
        firsts = [(span.low, size) for span, size in zip(stage.spans, box.box, strict=True)]
        guard = self._guard(stage, firsts, where)

        def find(array: str, index: tuple[Expr, ...]) -> Load:
            found = self.boxes[array].element(index)
            wanted, place = _put(Load(array, index), where), _put(found, where)
            assert isinstance(wanted, Load) and isinstance(place, Load)
            check.read(array, wanted.index, guard, [Way(None, "", found.array, place.index)])
            return found

        nodes = self._guarded(guard, _at(self._computed(stage, find, box.here), where))
        whose = box.name if stage.array else f"the output, from shared memory: sub-tiles 0 to {self.cut.in_shared - 1}"
        note = f"lanes take turns to compute {whose} ({' x '.join(map(str, box.box))} elements)"
        return (all_threads(box, self.cut.threads, nodes, note),)

    def _in_registers(self, stage: HeldStage, sub_tile: SubTile, brought: _Brought) -> list[Node]:
        """What computes a sub-tile of which each lane holds a point."""
        first = [self.cut.first(stage, sub_tile, k) for k in range(len(stage.spans))]
        where = {k: self._of_lane(span, first[k]) for k, span in enumerate(stage.spans)}
        firsts = [(low, self.cut.lanes_along(span)) for low, span in zip(first, stage.spans, strict=True)]
        guard = self._guard(stage, firsts, where, self.cut.beyond(stage, sub_tile))
        moves = _Moves(self, brought, stage, sub_tile, guard, where)
        target = Load(self._name(stage, sub_tile)) if stage.array else None
        inside = self._guarded(guard, _at(self._computed(stage, moves.find, target), where))
        if target is None:
            return [*moves.nodes, *inside]
        self.variables[stage.array, sub_tile] = target.array
        self.check.hold(target.array, stage.array, tuple(where.values()), guard)
        note = f"{stage.array}, sub-tile {sub_tile.number}: one point per lane"
        declared: list[Node] = [Declare(target.array, self.program.array(stage.array).type, (), note)]
        return [*moves.nodes, *declared, *([Assign(target, "", Int(0))] if guard is not None else []), *inside]

    def _computed(self, stage: HeldStage, find: Find, target: Load | None) -> list[Node]:
        """What assigns `point` of a stage to `target`, or stores that of the output."""
        computing: Computing = Redirected(self.program, (), self.plan.block, self.taken, find)
        if target is None or not stage.array:
            return list(self.outputs.nodes(self.plan, computing))
        [own] = [one for one in self.program.stages if one.array == stage.array]
        nodes: list[Node] = []
        value = computing.value(own, tuple(map(point, range(len(stage.spans)))), nodes, {}, None)
        return [*nodes, Assign(target, "", value)]

    def _name(self, stage: HeldStage, sub_tile: SubTile) -> str:
        rows = "".join(
            f"_r{row}" for k, (span, row) in enumerate(zip(stage.spans, sub_tile.rows, strict=True))
            if k != stage.x and span.dim in self.several
        )  # fmt: skip
        return fresh_name(f"{stage.array}_k{sub_tile.number}{rows}", self.taken)

    def _guard(
        self,
        stage: HeldStage,
        firsts: Sequence[tuple[int, int]],
        where: Mapping[int, Expr],
        more: Sequence[Expr] = (),
    ) -> Expr | None:
        """Which of the points `where` exist: so many from a first one on, in the first tile, along each dimension."""
        conditions = list(more)
        for k, (span, (first, size)) in enumerate(zip(stage.spans, firsts, strict=True)):
            low, end = self._exists(stage, k)
            moved = 0 if span.dim is None else span.step * (self._tiles(span.dim) - 1)
            if first + min(moved, 0) < low:
                conditions.append(simplify(Binary(">=", where[k], Int(low))))
            if first + max(moved, 0) + size > end:
                conditions.append(simplify(Binary("<", where[k], Int(end))))
        return all_of(conditions)

    def _exists(self, stage: HeldStage, k: int) -> tuple[int, int]:
        """The first point that there is along a dimension, and the one after the last."""
        if stage.array:
            return 0, self.program.array(stage.array).extents[k]
        first = self.outputs.first[k]
        return first, first + self.outputs.part.parallel[k].extent

    def _of_lane(self, span: Span, first: int) -> Expr:
        """The point of a lane, `first` being that of lane 0 in the first tile."""
        here = self._from(span, first)
        return here if span.dim is None else simplify(Binary("+", here, self.cut.lane(span.dim)))

    def _guarded(self, guard: Expr | None, nodes: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(nodes) if guard is None else (If(guard, tuple(nodes)),)


@dataclass(slots=True)
class _Brought:
    """What lanes have got while they compute a stage: from other lanes, and of several ways the right one."""

    received: dict[Way, Load] = field(default_factory=dict)
    chosen: dict[tuple[Way, ...], Load] = field(default_factory=dict)


@dataclass(slots=True)
class _Moves:
    """Where the lanes that compute a sub-tile find what they read; `nodes` bring what is not `brought` yet."""

    splitter: _Splitter
    brought: _Brought
    stage: HeldStage
    at: SubTile
    guard: Expr | None
    where: Mapping[int, Expr]
    nodes: list[Node] = field(default_factory=list)

    def find(self, array: str, index: tuple[Expr, ...]) -> Load:
        """What holds an element of a stage in this lane, once `nodes` have run."""
        splitter = self.splitter
        sources = splitter.cut.sources(self.stage, self.at, splitter.stages[array], index)
        wanted = _put(Load(array, index), self.where)
        assert isinstance(wanted, Load)
        ways = [self._way(array, source, wanted) for source in sources]
        ways[0] = replace(ways[0], when=None)  # for the lanes that the others leave
        splitter.check.read(array, wanted.index, self.guard, ways)
        if len(ways) == 1:
            return self._value(ways[0], array)
        if tuple(ways) not in self.brought.chosen:
            self.brought.chosen[tuple(ways)] = self._chosen(ways, array, index)
        return self.brought.chosen[tuple(ways)]

    def _chosen(self, ways: Sequence[Way], array: str, index: tuple[Expr, ...]) -> Load:
        """A variable with what the ways bring to the lanes for which they are."""
        [first, *others] = [(way, self._value(way, array)) for way in ways]
        held = self._variable(array, f"{array} at {_words(index)}")
        self.nodes.append(Assign(held, "", first[1]))
        for way, value in others:
            assert way.when is not None, "it would be the only one"
            self.nodes.append(If(way.when, (Assign(held, "", value),)))
        return held

    def _value(self, way: Way, array: str) -> Load:
        """What one way brings: an element in shared memory, the lane's own variable, or what it gets from another."""
        if way.box:
            return Load(way.box, way.place)
        cut = self.splitter.cut
        if way.place == tuple(cut.lane(d) for d in range(len(cut.threads))):
            return Load(way.register)
        way = replace(way, when=None)
        if way not in self.brought.received:
            held = self.brought.received[way] = self._variable(array, "")
            self.nodes.append(Receive(held, Load(way.register), cut.linear(way.place)))
        return self.brought.received[way]

    def _variable(self, array: str, note: str) -> Load:
        number = self.splitter.numbers[array] = self.splitter.numbers.get(array, -1) + 1
        held = Load(fresh_name(f"{array}_{number}", self.splitter.taken))
        self.nodes.append(Declare(held.array, self.splitter.program.array(array).type, (), note))
        return held

    def _way(self, array: str, source: Source, wanted: Load) -> Way:
        """A source with its names; rows of lanes beyond the tile have no elements in shared memory."""
        if source.sub_tile is not None:
            return Way(source.when, self.splitter.variables[array, source.sub_tile], "", source.place)
        beyond = self.splitter.cut.beyond(self.stage, self.at)
        box = self.splitter.boxes[array]
        when = all_of([*beyond, source.when]) if source.when is not None else None
        return Way(when, "", box.name, tuple(map(simplify, box.element(wanted.index).index)))


def _words(index: Sequence[Expr]) -> str:
    """`x - 1, y`: the dimensions are called x, y, z from the last one on; `..` where rows follow in another way."""
    parts = list[str]()
    for name, one in zip(("x", "y", "z", *("w" for _ in index)), reversed(index), strict=False):
        far = offset_in(one)
        distance = "" if far is None or not far[1] else f" {'-' if far[1] < 0 else '+'} {abs(far[1])}"
        parts.append(f"{name}{distance}" if far is not None else str(one.value) if isinstance(one, Int) else "..")
    return ", ".join(parts)


def _at(nodes: Sequence[Node], where: Mapping[int, Expr]) -> tuple[Node, ...]:
    """`nodes` with `point` replaced by a place."""
    return map_expressions(tuple(nodes), lambda expr: _put(expr, where))


def _put(expr: Expr, where: Mapping[int, Expr]) -> Expr:
    """`expr` with the places of `point`, subscripts simplified."""
    values = {point(k).name: place for k, place in where.items()}

    def put(one: Expr) -> Expr:
        if isinstance(one, Name):
            return values.get(one.name, one)
        if isinstance(one, Load):
            index = tuple(put(i) for i in one.index)
            return Load(one.array, tuple(plain_form(i) or i for i in index), one.access)
        return map_children(one, put)

    return put(expr)
