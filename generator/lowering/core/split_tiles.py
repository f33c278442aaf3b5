"""The kernel of a warp whose tile is in shared memory (left) and in registers (right).

    for (int e0 = t0; e0 < 66; e0 += 32) blur_x_here[e0] = in[..] + ..;    the left sub-tiles and the overlap
    float blur_x_k2;                                                       sub-tile 2: one value per lane
    blur_x_k2 = in[..] + ..;
    __syncwarp();
    ..
    float blur_x_0;
    blur_x_0 = __shfl_sync(0xffffffffu, blur_x_k2, (t0 + 31) % 32);        element x - 1: the previous lane has it ..
    if (t0 < 1) blur_x_0 = blur_x_here[t0 + 63];                           .. or it is in shared memory
    out[..] = blur_x_0 + ..;

All lanes execute all shuffles; only loads and stores are under conditions. `LaneCheck` checks the printed expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from generator.decisions.lane_room import LaneRoom
from generator.errors import IllegalPlan
from generator.expr import Expr, Int, Load
from generator.lowering.core.held_stages import (
    Find,
    Outputs,
    Redirected,
    held_stages,
    kernel_reads,
    output_of,
)
from generator.lowering.core.lane_moves import Brought, Lanes, Moves, from_first, put, put_in
from generator.lowering.memory.barriers import in_turn
from generator.lowering.memory.box import LocalBox, padded_rows
from generator.lowering.memory.computed import Computing
from generator.lowering.memory.cooperative import all_threads
from generator.lowering.memory.lane_room import check_text, room_of
from generator.lowering.memory.sub_tiles import HeldStage, SubTile, SubTiles, all_of, sub_tiles_of
from generator.lowering.memory.tile_rows import point
from generator.lowering.naming import fresh_name
from generator.nest import Assign, If, Node
from generator.plan import KernelPlan
from generator.polyhedral.memory.boxes import stage_boxes
from generator.polyhedral.memory.lanes import LaneCheck, SharedBox, Way
from generator.polyhedral.memory.mapping import block_names, check_besides, thread_names
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import ELEMENT_BYTES, Program

HONOURED = ("order", "unroll", "padding", "swizzled", "exchange", "columns", "level", "in_registers")
"""The decisions of such a kernel's plan besides its sizes."""


def lane_room(program: Program, part: KernelPart, cut: SubTiles, padding: int) -> LaneRoom | None:
    """Return the registers and shared memory of the stages; None if the kernel cannot be cut like that."""
    try:
        stages = held_stages(program, part, cut.threads, cut.points)
        output = output_of(program, part, cut.threads, cut.points)
    except IllegalPlan:
        return None
    sizes = [ELEMENT_BYTES[program.array(stage.array).type] for stage in stages]
    boxes = [_shared_sizes(cut, stage) for stage in stages]
    taken = [size * prod(padded_rows(box, padding)) for size, box in zip(sizes, boxes, strict=True) if prod(box)]
    return room_of(cut, stages, [output], sizes, sum(taken))


def _shared_sizes(cut: SubTiles, stage: HeldStage) -> tuple[int, ...]:
    """Return the part of a stage that is in shared memory."""
    return tuple(cut.shared_size(stage, k) for k in range(len(stage.spans)))


def split_body(
    program: Program, part: KernelPart, plan: KernelPlan, reductions: tuple[str, ...], taken: set[str]
) -> tuple[tuple[LocalBox, ...], tuple[Node, ...]]:
    """Return the boxes and the loops of a warp; new names are added to `taken`.

    Raises:
        IllegalPlan: lanes cannot hold the stages for each other, the plan has a decision that such kernels do not
            support, or the text would be too long.
    """
    cut = sub_tiles_of(plan)
    stages = held_stages(program, part, cut.threads, cut.points, reductions)
    output = output_of(program, part, cut.threads, cut.points, reductions)
    check_besides(plan, "with parts of its tile in registers", HONOURED)
    check_text(cut, [*stages, output], plan.statements)
    stage_boxes(program, part, plan.tile, 1, 0)  # exact check that computing them once per tile is right
    found = {stage.array: stage for stage in stages}
    splitter = _Splitter(program, kernel_reads(program, part, reductions).outputs, plan, cut, found, output, taken)
    body = in_turn([splitter.part(stage) for stage in (*stages, splitter.output)], list(splitter.names))
    return tuple(splitter.boxes.values()), tuple(body)


@dataclass(slots=True)
class _Splitter:
    """Builds the kernel, stage by stage. `boxes`: the parts of stages in shared memory, by stage."""

    program: Program
    outputs: Outputs
    plan: KernelPlan
    cut: SubTiles
    stages: Mapping[str, HeldStage]
    output: HeldStage
    taken: set[str]
    boxes: dict[str, LocalBox] = field(init=False)
    lanes: Lanes = field(init=False)

    def __post_init__(self) -> None:
        found = [self._box(stage, fresh_name(f"{stage.array}_here", self.taken)) for stage in self.stages.values()]
        self.boxes = {box.array: box for box in found if prod(box.box)}
        count = len(self.cut.threads)
        check = self._check([(name, 0, n - 1) for name, n in zip(thread_names(count), self.cut.threads, strict=True)])
        types = {array: self.program.array(array).type for array in self.stages}
        self.lanes = Lanes(self.cut, self._tiles, self.stages, types, self.boxes, check, self.taken)

    @property
    def names(self) -> list[str]:
        """The names of the boxes."""
        return [box.name for box in self.boxes.values()]

    def part(self, stage: HeldStage) -> tuple[Node, ...]:
        """Return the nodes that compute all of a stage, or the output."""
        brought, own = Brought(), self.cut.sub_tiles(stage)
        cut = [node for sub_tile in own for node in self._in_registers(stage, sub_tile, brought)]
        return *self._in_shared(stage), *cut

    def _check(self, lanes: Sequence[tuple[str, int, int]]) -> LaneCheck:
        numbers = zip(block_names(len(self._tiles)), self._tiles, strict=True)
        extents = {array: self.program.array(array).extents for array in self.stages}
        boxes = {box.name: SharedBox(box.array, box.corner, box.box) for box in self.boxes.values()}
        return LaneCheck(extents, [(name, 0, n - 1) for name, n in numbers], lanes, boxes)

    @property
    def _tiles(self) -> tuple[int, ...]:
        return tuple(
            -(-dim.extent // size) for dim, size in zip(self.outputs.part.parallel, self.plan.tile, strict=True)
        )

    def _box(self, stage: HeldStage, name: str) -> LocalBox:
        """Return the part of a stage, or of the output, that is in shared memory or computed from there."""
        corner = tuple(from_first(span, span.low) for span in stage.spans)
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
        """Return loops that distribute the part of a stage that reads only shared memory over the lanes."""
        box = self._box(stage, "") if stage is self.output else self.boxes.get(stage.array)
        if box is None or not prod(box.box):
            return ()
        ranges = [(name.name, 0, size - 1) for name, size in zip(box.index, box.box, strict=True)]
        check, where = self._check(ranges), dict(enumerate(box.outside))
        firsts = [(span.low, size) for span, size in zip(stage.spans, box.box, strict=True)]
        guard = all_of(self.lanes.within(stage.spans, firsts, where, self._exist(stage)))

        def find(array: str, index: tuple[Expr, ...]) -> Load:
            found = self.boxes[array].element(index)
            wanted, place = put(Load(array, index), where), put(found, where)
            assert isinstance(wanted, Load) and isinstance(place, Load)
            check.read(array, wanted.index, guard, [Way(None, "", found.array, place.index)])
            return found

        nodes = self._guarded(guard, put_in(self._computed(stage, find, box.here), where))
        whose = box.name if stage.array else f"the output, from shared memory: sub-tiles 0 to {self.cut.in_shared - 1}"
        note = f"lanes take turns to compute {whose} ({' x '.join(map(str, box.box))} elements)"
        return (all_threads(box, self.cut.threads, nodes, note),)

    def _in_registers(self, stage: HeldStage, sub_tile: SubTile, brought: Brought) -> list[Node]:
        """Return the nodes that compute a sub-tile of which each lane holds a point."""
        guard = self.lanes.guard(stage, sub_tile, self._exist(stage))
        moves = Moves(self.lanes, brought, stage, sub_tile, guard)
        declared = self.lanes.declared(stage, sub_tile, stage.array) if stage.array else None
        target = Load(declared.name) if declared else None
        computed = put_in(self._computed(stage, moves.find, target), self.lanes.where(stage, sub_tile))
        inside = self._guarded(guard, computed)
        if declared is None or target is None:
            return [*moves.nodes, *inside]
        self.lanes.hold(stage, sub_tile, declared.name, guard)
        return [*moves.nodes, declared, *([Assign(target, "", Int(0))] if guard is not None else []), *inside]

    def _computed(self, stage: HeldStage, find: Find, target: Load | None) -> list[Node]:
        """Return the nodes that assign `point` of a stage to `target`, or store that of the output."""
        computing: Computing = Redirected(self.program, (), self.plan.block, self.taken, find)
        if target is None or not stage.array:
            return list(self.outputs.nodes(self.plan, computing))
        [own] = [one for one in self.program.stages if one.array == stage.array]
        nodes: list[Node] = []
        value = computing.value(own, tuple(map(point, range(len(stage.spans)))), nodes, {}, None)
        return [*nodes, Assign(target, "", value)]

    def _exist(self, stage: HeldStage) -> list[tuple[int, int]]:
        """Return, per dimension, the first existing point and the one after the last."""
        if stage.array:
            return [(0, extent) for extent in self.program.array(stage.array).extents]
        dims = self.outputs.part.parallel
        return [(low, low + dim.extent) for low, dim in zip(self.outputs.first, dims, strict=True)]

    def _guarded(self, guard: Expr | None, nodes: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(nodes) if guard is None else (If(guard, tuple(nodes)),)
