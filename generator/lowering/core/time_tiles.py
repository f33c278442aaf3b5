"""The kernel of a `TimeTiles` schedule: blocks that hold a tile with its surroundings, and run several time steps
there.

    // launched for chunk = 0, 1, ..
    all threads fill A_here from A (an even chunk) or A_next (an odd one)
    for (left = time steps of this chunk - 1; left >= 0; --left)
      all threads compute B_here where it is still needed;   barrier
      all threads compute A_here where it is still needed;   barrier
    all threads store the tile of A_here to A_next or A

What every time step writes anew (B) stays in shared memory; its elements that nobody writes are read where they are,
and the last chunk stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, Name, Select, map_children
from generator.linear import simplify, substitute
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core.kernel import TeamKernel, finished
from generator.lowering.memory.barriers import in_turn
from generator.lowering.memory.box import padded_rows
from generator.lowering.memory.registers import exchanges
from generator.lowering.memory.team_tile import Bounds, Limits, TeamTile, TimeBox, grown_sizes, of_arrays
from generator.lowering.memory.teams import team_of
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Atomic, Barrier, For, If, Node
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import block_names, check_besides, check_sizes, thread_names
from generator.polyhedral.time.time_relations import check_time_tiles
from generator.polyhedral.time.time_steps import (
    Overlap,
    Sweep,
    TimeLoop,
    TimeTiling,
    overlap,
    required_time_loop,
    time_tiling,
)
from generator.program import ELEMENT_BYTES, Array, Program
from generator.schedules.time_tiles import TimeTiles
from generator.target import Dialect
from generator.variant import HostLoop, HostOp, Launch, kernel_name

HONOURED = ("order", "unroll", "padding", "exchange", "columns", "level", "cache")
"""What the plan of such a kernel decides besides its sizes: its arrays are in shared memory."""


@dataclass(frozen=True, slots=True)
class TimeKernel:
    """The kernel with what launches it; `scratch` are the arrays in which odd chunks find what even ones have left."""

    lowered: LoweredKernel
    host: tuple[HostOp, ...]
    scratch: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class TimeBoxes:
    """What a search needs to know of the boxes: with the dimensions of the arrays in `order`, their size."""

    program: Program
    steps: int
    order: tuple[int, ...] = ()

    def bytes(self, tile: tuple[int, ...], inner_tile: int, padding: int) -> int:
        """What they take in shared memory; there are no inner tiles."""
        del inner_tile
        around = overlap(required_time_loop(self.program), self.steps)
        return sum(
            ELEMENT_BYTES[self.program.array(name).type]
            * prod(padded_rows(grown_sizes(of_arrays(tile, self.order), margin), padding))
            for name, margin in around.arrays
        )


def time_kernel(program: Program, schedule: TimeTiles, plan: KernelPlan, dialect: Dialect) -> TimeKernel:
    """The kernel that runs all of `program`.

    Raises:
        IllegalPlan: the program is no loop over time, or the plan decides what this kernel has not.
    """
    loop = required_time_loop(program)
    _check_plan(plan, loop)
    team = team_of(plan, dialect)
    within = team.plan(plan)
    sizes = of_arrays(within.tile, plan.order)
    check_time_tiles(program, schedule.steps, sizes)
    around, tiling = overlap(loop, schedule.steps), time_tiling(loop, schedule.steps)
    names = _Names.fresh(program, loop, len(sizes))
    tile = TeamTile(within, names.index)
    boxes = {
        name: tile.box(program.array(name), names.boxes[name], margin, "copy" if name in loop.carried else "compute")
        for name, margin in around.arrays
    }
    scratch = {name: replace(program.array(name), name=called, role="temp") for name, called in names.scratch.items()}
    copies, steps = _Copies(tile, boxes, scratch, names.chunk, tiling), _Steps(loop, around, tiling, tile, boxes, names)
    computed = in_turn([tuple(copies.filled(loop)), (steps.loops(),)], [box.name for box in boxes.values()])
    body = (*computed, *copies.stored(loop))  # every step ends with a barrier
    tiles = tuple(-(-loop.extents[d] // sizes[d]) for d in tile.dims)
    more = tuple(scratch.values())
    made = TeamKernel(tiles, (names.chunk.name,), tuple(boxes.values()), body)
    lowered = finished(program.with_arrays(more), plan, team, made, dialect)
    launch = Launch(kernel_name(0), tuple(Int(n) for n in lowered.launched), (names.chunk,))
    host = HostLoop(names.chunk.name, Int(0), Binary("<", names.chunk, Int(tiling.chunks)), 1, (launch,))
    return TimeKernel(lowered, (host,), more)


def _check_plan(plan: KernelPlan, loop: TimeLoop) -> None:
    if len(plan.tile) != len(loop.extents):
        raise IllegalPlan(
            f"the arrays have {len(loop.extents)} dimensions but the plan of {', '.join(plan.statements)} has "
            f"{len(plan.tile)}"
        )
    check_besides(plan, "that runs several time steps", HONOURED)
    check_sizes(plan)


@dataclass(frozen=True, slots=True)
class _Names:
    """What is called how in the kernel: of arrays their boxes and copies, of sweeps the iterators but that of time."""

    chunk: Name
    left: Name
    boxes: Mapping[str, str]
    scratch: Mapping[str, str]
    iterators: Mapping[str, Name]
    index: tuple[Name, ...]

    @classmethod
    def fresh(cls, program: Program, loop: TimeLoop, count: int) -> _Names:
        """None of them is a name of the program or of a block or thread index."""
        taken = {*(array.name for array in program.arrays), *block_names(count), *thread_names(count)}
        own = dict.fromkeys(name for sweep in loop.sweeps for name in sweep.statement.iterators[1:])
        return cls(Name(fresh_name("chunk", taken)), Name(fresh_name("left", taken)),
                   {name: fresh_name(f"{name}_here", taken) for name in loop.arrays},
                   {name: fresh_name(f"{name}_next", taken) for name in loop.arrays if name in loop.carried},
                   {name: Name(fresh_name(name, taken)) for name in own},
                   tuple(Name(fresh_name(f"at{d}", taken)) for d in range(count)))


@dataclass(frozen=True, slots=True)
class _Copies:
    """Builds the loops that fill the boxes, and those that store what is in them; `scratch` are the copies of
    carried arrays.
    """

    tile: TeamTile
    boxes: Mapping[str, TimeBox]
    scratch: Mapping[str, Array]
    chunk: Name
    tiling: TimeTiling

    def filled(self, loop: TimeLoop) -> list[Node]:
        """What is carried from the array that the chunk reads, of the rest what nobody writes."""
        carried = [box for name, box in self.boxes.items() if name in self.scratch]
        return [*self._in_turns([self._fill(box, box.array) for box in carried],
                                [self._fill(box, self.scratch[box.array].name) for box in carried]),
                *(strip for name, written in loop.written for strip in self._fill_rim(self.boxes[name], written))]

    def stored(self, loop: TimeLoop) -> list[Node]:
        """What is carried to the array that the next chunk reads, the rest by the last chunk."""
        carried = [box for name, box in self.boxes.items() if name in self.scratch]
        last = Binary("==", self.chunk, Int(self.tiling.chunks - 1))
        others = tuple(self._store(self.boxes[name], name, written) for name, written in loop.written)
        return [*self._in_turns([self._store(box, self.scratch[box.array].name, box.whole) for box in carried],
                                [self._store(box, box.array, box.whole) for box in carried]),
                *([If(last, others)] if others else [])]

    def _in_turns(self, even: list[Node], odd: list[Node]) -> list[Node]:
        """What even chunks do and what odd ones do."""
        return [If(Binary("==", Binary("%", self.chunk, Int(2)), Int(0)), tuple(even), tuple(odd))] if even else []

    def _fill(self, box: TimeBox, source: str) -> Node:
        return self._filled(box, source, box.whole, f"all threads fill {box.name}")

    def _filled(self, box: TimeBox, source: str, limits: Limits, note: str) -> Node:
        return self.tile.over(
            box.margin, limits, lambda index: Assign(box.element(index), "", Load(source, index)), note
        )

    def _fill_rim(self, box: TimeBox, written: Limits) -> list[Node]:
        """Fill the part of a box that nobody writes; few blocks have one."""
        return [
            self._filled(box, box.array, strip, f"all threads fill the rim of {box.name}")
            for strip in _around(written, box.whole)
        ]

    def _store(self, box: TimeBox, target: str, limits: Limits) -> Node:
        def store(index: tuple[Expr, ...]) -> Node:
            if exchanges(self.tile.plan, box.type):
                return Atomic(Load(target, index), "=", box.element(index), box.type)
            return Assign(Load(target, index), "", box.element(index))

        return self.tile.over(((0, 0),) * len(box.box), limits, store, f"all threads store their tile of {box.name}")


@dataclass(frozen=True, slots=True)
class _Steps:
    """Builds the loops that compute: the time steps of a chunk, and in each the sweeps over what is still needed of
    them.
    """

    loop: TimeLoop
    around: Overlap
    tiling: TimeTiling
    tile: TeamTile
    boxes: Mapping[str, TimeBox]
    names: _Names

    def loops(self) -> Node:
        """All of them."""
        least, shorter, left = self.tiling.least, self.tiling.shorter, self.names.left
        before_last: Expr = Int(least - 1)
        if shorter < self.tiling.chunks:
            before_last = Select(Binary("<", self.names.chunk, Int(shorter)), before_last, Int(least))
        sweeps = in_turn(
            [(self._sweep(number),) for number in range(len(self.loop.sweeps))],
            [box.name for box in self.boxes.values()],
        )
        return For(
            left.name,
            before_last,
            Binary(">=", left, Int(0)),
            -1,
            (*sweeps, Barrier()),
            "how many time steps of this chunk are to come",
        )

    def _time(self) -> Expr:
        """The time step: as many before the first one of the next chunk as are left, and one more."""
        after: Expr = Binary("+", self.names.chunk, Int(1))
        begin: Expr = Binary("*", Int(self.tiling.least), after)
        if self.tiling.shorter < self.tiling.chunks:
            begin = Binary("+", begin, Binary("max", simplify(Binary("-", after, Int(self.tiling.shorter))), Int(0)))
        return simplify(Binary("-", Binary("+", begin, Int(self.loop.first - 1)), self.names.left))

    def _sweep(self, number: int) -> Node:
        """A sweep over what is still needed of it."""
        sweep = self.loop.sweeps[number]
        bounds: dict[int, tuple[str, Bounds]] = {}
        conditions: list[Expr] = []
        iterators: dict[str, Expr] = {}
        for d, (position, constant) in enumerate(sweep.dims):
            low, high = self._needed(number, d)
            if position is None:
                place = self.tile.place(d, Int(constant))
                conditions += [
                    Binary("<=", low, place),
                    Binary(">=", high, place),
                    Binary("==", self.tile.thread(d), Int(0)),
                ]
                continue
            first, last = (self.tile.place(d, Int(value + constant)) for value in sweep.ranges[position])
            iterator = sweep.statement.iterators[position]
            name = self.names.iterators[iterator]
            bounds[d] = name.name, (Binary("max", low, first), Binary("min", high, last))
            iterators[iterator] = simplify(Binary("-", Binary("+", self.tile.corner(d), name), Int(constant)))
        inside = self.tile.shared_out(
            bounds,
            self._instance(sweep, iterators),
            f"all threads compute {self.boxes[sweep.array].name}",
            self.tile.plan.unroll,
        )
        return If(reduce(lambda a, b: Binary("&&", a, b), conditions), (inside,)) if conditions else inside

    def _needed(self, number: int, dim: int) -> Bounds:
        """The places of the first and the last element of a sweep's array that the block still computes."""
        (low, high), (by_low, by_high) = self.around.sweeps[number][dim], self.around.slope[dim]
        left = self.names.left
        return (simplify(Binary("-", Int(-low), Binary("*", Int(by_low), left))),
                simplify(Binary("+", Int(self.tile.sizes[dim] - 1 + high), Binary("*", Int(by_high), left))))

    def _instance(self, sweep: Sweep, iterators: Mapping[str, Expr]) -> Assign:
        body = sweep.statement.body
        names = {**iterators, sweep.statement.iterators[0]: self._time()}
        target, value = (self._placed(substitute(expr, names)) for expr in (body.target, body.value))
        assert isinstance(target, Load)
        return Assign(target, body.op, value)

    def _placed(self, expr: Expr) -> Expr:
        """`expr` with the elements of held arrays where the block holds them."""
        expr = map_children(expr, self._placed)
        if isinstance(expr, Load) and expr.array in self.boxes:
            return self.boxes[expr.array].element(expr.index)
        return expr


def _around(written: Limits, whole: Limits) -> list[Limits]:
    """What is left of an array without the box `written`: up to two boxes per dimension."""
    found = list[Limits]()
    for d, ((begin, end), (low, high)) in enumerate(zip(whole, written, strict=True)):
        found += [
            (*written[:d], strip, *whole[d + 1 :])
            for strip in ((begin, low - 1), (high + 1, end))
            if strip[0] <= strip[1]
        ]
    return found
