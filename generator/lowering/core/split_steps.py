"""Several time steps in the tile of a warp that is in shared memory (left) and in registers (right).

    all lanes fill A_here from A                            float A_s0_k2;   A_s0_k2 = A[..];
    all lanes compute B_here where it is still needed       float B_s1_k2 = .. (A of this lane, of others, in A_here)
    all lanes compute A_here where it is still needed       float A_s1_k2 = .. (B ..)
    all lanes store A_here to A_next                        A_next[..] = A_s1_k2;

Every sweep of every step has its own variables; those of B_s1 are moved to the right by as many points as later steps
need of it (`HeldStage.right`): time steps are handled like stages. An element that a sweep does not write keeps its
value: in a box it stays unchanged, and a lane gets it from the variables of the previous sweep. Launches with one step
less skip the first step. `LaneCheck` is updated as sweeps overwrite boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.expr import Binary, Expr, Int, Load, Name, Unary, loads_of, map_children
from generator.linear import simplify, substitute
from generator.lowering.core.lane_moves import Brought, Lanes, Moves, put
from generator.lowering.core.time_parts import Copies, Steps
from generator.lowering.core.versions import Version, held_versions, output_stage, versions
from generator.lowering.memory.barriers import in_turn
from generator.lowering.memory.lane_room import check_text
from generator.lowering.memory.sub_tiles import HeldStage, SubTile, all_of, sub_tiles_of
from generator.lowering.memory.team_tile import TimeBox
from generator.lowering.memory.tile_rows import point
from generator.nest import Assign, If, Node
from generator.polyhedral.memory.lanes import LaneCheck, SharedBox, Way
from generator.polyhedral.memory.mapping import block_names, thread_names
from generator.polyhedral.time.time_steps import Sweep
from generator.program import Program


def split_steps(program: Program, copies: Copies, steps: Steps) -> tuple[Node, ...]:
    """Return the loops of a warp.

    Raises:
        IllegalPlan: the text would be too long, or a lane would not receive what it reads (never seen).
    """
    splitter = _StepSplitter(program, copies, steps)
    parts = [splitter.filled(), *(splitter.part(one) for one in splitter.versions if one.sweep is not None)]
    return tuple(in_turn([*parts, splitter.stored()], [box.name for box in steps.boxes.values()]))


@dataclass(slots=True)
class _StepSplitter:
    """Builds the kernel, sweep by sweep. `stages`: what lanes hold of arrays, by version."""

    program: Program
    copies: Copies
    steps: Steps
    versions: tuple[Version, ...] = field(init=False)
    stages: Mapping[str, HeldStage] = field(init=False)
    output: HeldStage = field(init=False)
    lanes: Lanes = field(init=False)

    def __post_init__(self) -> None:
        loop, tile = self.steps.loop, self.steps.tile
        taken = self.steps.names.taken(self.program)
        self.versions = versions(loop, self.steps.around, self.steps.tiling, taken)
        held = held_versions(self.versions, tile.sizes, tile.dims)
        self.output = output_stage(tile.sizes, tile.dims)
        self.stages = {stage.array: stage for stage in held}
        cut = sub_tiles_of(tile.plan)
        check_text(cut, [*held, *(self.output for _ in loop.arrays)], tile.plan.statements)
        of_array = {one.name: one.array for one in self.versions}
        boxes = {name: self.steps.boxes[array] for name, array in of_array.items() if array in self.steps.boxes}
        types = {name: self.program.array(array).type for name, array in of_array.items()}
        threads = zip(thread_names(len(tile.sizes)), tile.plan.block, strict=True)
        check = self._check([(name, 0, n - 1) for name, n in threads])
        self.lanes = Lanes(cut, self._tiles, self.stages, types, boxes, check, taken)

    @property
    def _tiles(self) -> tuple[int, ...]:
        tile = self.steps.tile
        return tuple(-(-self.steps.loop.extents[d] // tile.sizes[d]) for d in tile.dims)

    def _check(self, ranges: Sequence[tuple[str, int, int]]) -> LaneCheck:
        tiles = [(name, 0, n - 1) for name, n in zip(block_names(len(self._tiles)), self._tiles, strict=True)]
        numbers = [*tiles, (self.steps.names.chunk.name, 0, self.steps.tiling.chunks - 1)]
        extents = {one.name: self.program.array(one.array).extents for one in self.versions}
        return LaneCheck(extents, numbers, ranges, {})

    def filled(self) -> tuple[Node, ...]:
        """Load the carried arrays from those that the chunk reads, and the unwritten elements of the others."""
        declared, even, odd, rest = list[Node](), list[Node](), list[Node](), list[Node]()
        for one in self.versions:
            if one.sweep is not None:
                continue
            stage = self.stages[one.name]
            self._holds(self.lanes.check, one)
            for sub_tile in self.lanes.cut.sub_tiles(stage):
                variable = self.lanes.declared(stage, sub_tile, one.note)
                held, guard = Load(variable.name), self._exists(stage, sub_tile, one.array)
                declared += [variable, Assign(held, "", Int(0))]
                index = tuple(self.lanes.where(stage, sub_tile).values())
                if one.array in self.copies.scratch:
                    even.append(_under(guard, Assign(held, "", Load(one.array, index))))
                    odd.append(_under(guard, Assign(held, "", Load(self.copies.scratch[one.array].name, index))))
                else:
                    rest += self._unwritten(one, sub_tile, Assign(held, "", Load(one.array, index)))
                self.lanes.hold(stage, sub_tile, held.array, guard)
        return *self.copies.filled(self.steps.loop), *declared, *self.copies.in_turns(even, odd), *rest

    def _unwritten(self, version: Version, sub_tile: SubTile, loaded: Node) -> list[Node]:
        """Return the nodes that load the elements that no sweep writes: the last launch stores the others."""
        stage, ranges = self.stages[version.name], dict(self.steps.loop.written)[version.array]
        inside = self.lanes.guard(stage, sub_tile, [(low, high + 1) for low, high in ranges])
        if inside is None:
            return []
        return [_under(self._exists(stage, sub_tile, version.array), If(Unary("!", inside), (loaded,)))]

    def part(self, version: Version) -> tuple[Node, ...]:
        """Return a sweep: first its part in shared memory, then the sub-tiles."""
        assert version.sweep is not None
        stage, nodes = self.stages[version.name], list[Node]()
        box = self.steps.boxes.get(version.array)
        if box is not None and self.lanes.cut.shared_size(stage, stage.x) > 0:
            self._check_shared(version)
            skipped = self._runs(version)
            nodes.append(_under(skipped, self.steps.sweep(version.sweep, Int(version.left))))
        if version.before:
            self._holds(self.lanes.check, self._named(version.before), stage)
        brought = Brought()
        for sub_tile in self.lanes.cut.sub_tiles(stage):
            nodes += self._in_registers(version, sub_tile, brought)
        self._holds(self.lanes.check, version)
        return tuple(nodes)

    def _in_registers(self, version: Version, sub_tile: SubTile, brought: Brought) -> list[Node]:
        """Return a sweep over a sub-tile: computed where lanes write, otherwise the previous value."""
        assert version.sweep is not None
        sweep, stage = self.steps.loop.sweeps[version.sweep], self.stages[version.name]
        where, exists = self.lanes.where(stage, sub_tile), self._exists(stage, sub_tile, version.array)
        inside, runs = self.lanes.guard(stage, sub_tile, _written(sweep)), self._runs(version)
        guard = all_of([one for one in (inside, runs) if one is not None])
        variable = self.lanes.declared(stage, sub_tile, version.note)
        held, nodes, otherwise = Load(variable.name), list[Node](), tuple[Node, ...]()
        if guard is not None or sweep.statement.body.op:
            nodes, otherwise = self._old(version, held, Moves(self.lanes, brought, stage, sub_tile, exists))
        moves = Moves(self.lanes, brought, stage, sub_tile, guard)
        value = put(self._value(version, sweep, moves), where)
        self.lanes.hold(stage, sub_tile, held.array, exists)
        assigned = Assign(held, sweep.statement.body.op, value)
        computed: Node = assigned if guard is None else If(guard, (assigned,), otherwise)
        return [variable, *nodes, *moves.nodes, computed]

    def _old(self, version: Version, held: Load, kept: Moves) -> tuple[list[Node], tuple[Node, ...]]:
        """Return the nodes that give a variable its value before the sweep: for all lanes, and only for unwritten
        lanes.
        """
        index = tuple(map(point, range(len(kept.stage.spans))))
        if version.before:
            value = kept.find(version.before, index)
            return [*kept.nodes, Assign(held, "", value)], ()
        there = put(Load(version.array, index), self.lanes.where(kept.stage, kept.at))  # never written
        return [Assign(held, "", Int(0))], (_under(kept.guard, Assign(held, "", there)),)

    def _value(self, version: Version, sweep: Sweep, moves: Moves) -> Expr:
        """Return the value that a sweep assigns at `point`."""
        places: dict[str, Expr] = {
            sweep.statement.iterators[position]: simplify(Binary("-", point(d), Int(constant)))
            for d, (position, constant) in enumerate(sweep.dims)
            if position is not None
        }
        places[sweep.statement.iterators[0]] = self.steps.time(Int(version.left))
        reads = dict(version.reads)

        def found(expr: Expr) -> Expr:
            expr = map_children(expr, found)
            if isinstance(expr, Load) and expr.array in reads:
                return moves.find(reads[expr.array], _relative(sweep, expr.index), expr.index)
            return expr

        return found(substitute(sweep.statement.body.value, places))

    def _check_shared(self, version: Version) -> None:
        """Check that the loop over a box reads the right elements, one by one."""
        assert version.sweep is not None
        sweep, boxes = self.steps.loop.sweeps[version.sweep], self.steps.boxes
        at = self.steps.places(version.sweep, Int(version.left))
        stage = self.stages[version.name]
        ranges = [
            (name, -self._margin(stage, d)[0], self.steps.tile.kept(d) - 1 + self._margin(stage, d)[1])
            for d, (name, _) in at.bounds.items()
        ]
        check = self._check(ranges)
        names = {name: simplify(value) for name, value in at.iterators.items()}
        loops = [
            one
            for name, (low, high) in at.bounds.values()
            for one in (Binary(">=", Name(name), low), Binary("<=", Name(name), high))
        ]
        runs = self._runs(version)
        guard = all_of([*loops, *at.conditions, *([runs] if runs is not None else [])])
        body = sweep.statement.body
        for load in {*loads_of(body.value), *([body.target] if body.op else [])}:
            if load.array in boxes and load.array in dict(version.reads):
                one = self._named(dict(version.reads)[load.array])
                self._holds(check, one)
                index = tuple(simplify(substitute(i, names)) for i in load.index)
                place = boxes[load.array].element(index)
                check.read(one.name, index, guard, [Way(None, "", place.array, place.index)])

    def stored(self) -> tuple[Node, ...]:
        """Store the carried arrays to those that the next chunk reads; the last chunk stores the others."""
        loop, tile = self.steps.loop, self.steps.tile
        moved, even, odd, last = list[Node](), list[Node](), list[Node](), list[Node]()
        newest = {one.array: one.name for one in self.versions}
        output, brought = self.output, Brought()
        written = dict(loop.written)
        index = tuple(map(point, range(len(tile.sizes))))
        for array in loop.arrays:
            ranges = [(low, high + 1) for low, high in written[array]] if array in written else None
            for sub_tile in self.lanes.cut.sub_tiles(output):
                guard = self._exists(output, sub_tile, array, ranges)
                moves = Moves(self.lanes, brought, output, sub_tile, guard)
                value = moves.find(newest[array], index)
                moved += moves.nodes
                place, kind = tuple(self.lanes.where(output, sub_tile).values()), self.program.array(array).type
                for target, nodes in self._targets(array, even, odd, last):
                    nodes.append(_under(guard, self.copies.storing(Load(target, place), value, kind)))
        boxes = self.copies.stored(loop) if self.lanes.cut.in_shared else []
        return *moved, *boxes, *self.copies.in_turns(even, odd), *self.copies.in_last(last)

    def _targets(
        self, array: str, even: list[Node], odd: list[Node], last: list[Node]
    ) -> list[tuple[str, list[Node]]]:
        """Return the arrays to which an array is stored, with the node lists of the stores."""
        if array in self.copies.scratch:
            return [(self.copies.scratch[array].name, even), (array, odd)]
        return [(array, last)]

    def _exists(
        self, stage: HeldStage, sub_tile: SubTile, array: str, ranges: Sequence[tuple[int, int]] | None = None
    ) -> Expr | None:
        """Return the condition for lanes whose elements exist, or are in `ranges`."""
        extents = self.program.array(array).extents
        return self.lanes.guard(stage, sub_tile, ranges or [(0, extent) for extent in extents])

    def _runs(self, version: Version) -> Expr | None:
        """Return the condition for chunks that run the step of a sweep; None for all."""
        tiling = self.steps.tiling
        skipped = version.left == tiling.least and tiling.shorter < tiling.chunks
        return Binary(">=", self.steps.names.chunk, Int(tiling.shorter)) if skipped else None

    def _named(self, name: str) -> Version:
        return next(one for one in self.versions if one.name == name)

    def _margin(self, stage: HeldStage, d: int) -> tuple[int, int]:
        span, size = stage.spans[d], self.steps.tile.sizes[d]
        return -span.low, span.low + span.size - size

    def _holds(self, check: LaneCheck, version: Version, overwritten: HeldStage | None = None) -> None:
        """Record that a box now holds a version, or its part beyond the x to which another one was `overwritten`."""
        box, stage = self.steps.boxes.get(version.array), self.stages[version.name]
        if box is not None:
            check.now(box.name, self._held_in(box, version.name, stage, overwritten))

    def _held_in(self, box: TimeBox, name: str, stage: HeldStage, overwritten: HeldStage | None) -> SharedBox:
        begin, sizes = list[int](), list[int]()
        for d, (low, _) in enumerate(box.margin):
            own = self._margin(stage, d)
            first, end = -own[0], self.steps.tile.kept(d) + own[1]
            if overwritten is not None and d == stage.x:
                first = self.steps.tile.kept(d) + self._margin(overwritten, d)[1]
            begin.append(low + first)
            sizes.append(max(0, end - first))
        return SharedBox(name, box.corner, tuple(sizes), tuple(begin))


def _under(guard: Expr | None, node: Node) -> Node:
    return node if guard is None else If(guard, (node,))


def _written(sweep: Sweep) -> list[tuple[int, int]]:
    """Return, per dimension, the first element that a sweep writes and the one after the last."""
    ranges = [(0, 0) if position is None else sweep.ranges[position] for position, _ in sweep.dims]
    shifts = [constant for _, constant in sweep.dims]
    return [(low + shift, high + shift + 1) for (low, high), shift in zip(ranges, shifts, strict=True)]


def _relative(sweep: Sweep, index: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return subscripts at `point` as distances from it; a sweep over a side has numbers there."""
    found = list[Expr]()
    for d, (one, (position, constant)) in enumerate(zip(index, sweep.dims, strict=True)):
        far = one if position is not None else Binary("+", point(d), Binary("-", one, Int(constant)))
        found.append(simplify(far))
    return tuple(found)
