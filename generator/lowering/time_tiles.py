"""The kernel of a `TimeTiles` schedule: blocks that hold a tile with its surroundings, and run several time steps there.

    // launched for chunk = 0, 1, ..
    all threads fill A_here from A (an even chunk) or A_next (an odd one)
    for (t of this chunk)
      all threads compute B_here where it is still needed;   barrier
      all threads compute A_here where it is still needed;   barrier
    all threads store the tile of A_here to A_next or A

What every time step writes anew (B) stays in shared memory; its elements that nobody writes are read where they are, and the last
chunk stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.linear import simplify, substitute
from generator.lowering.barriers import check_barriers
from generator.lowering.kernel import LoweredKernel, numbered, printed
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Atomic, Barrier, For, If, Node
from generator.plan import KernelPlan, TimeTiles
from generator.polyhedral.mapping import block_names, check_sizes, thread_names
from generator.polyhedral.time_steps import (
    Margin,
    Overlap,
    Sweep,
    TimeLoop,
    TimeTiling,
    check_overlap,
    overlap,
    required_time_loop,
    time_tiling,
)
from generator.program import ELEMENT_BYTES, Array, Program
from generator.target import Dialect
from generator.variant import HostLoop, HostOp, Launch

_CHUNK = "chunk"
Bounds = tuple[Expr, Expr]
"""The first and the last value of a loop."""


@dataclass(frozen=True, slots=True)
class TimeKernel:
    """The kernel with what launches it; `scratch` are the arrays in which odd chunks find what even ones have left."""

    lowered: LoweredKernel
    host: tuple[HostOp, ...]
    scratch: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class TimeBox:
    """A tile of an array with `margin` around it, in shared memory."""

    name: str
    array: Array
    sizes: tuple[int, ...]
    margin: Margin

    @property
    def type(self) -> str:
        """The element type."""
        return self.array.type

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return ELEMENT_BYTES[self.type] * prod(self.sizes)


@dataclass(frozen=True, slots=True)
class TimeBoxes:
    """What a search needs to know of the boxes: with the dimensions of the arrays in `order`, their size."""

    program: Program
    steps: int
    order: tuple[int, ...] = ()

    def bytes(self, tile: tuple[int, ...], inner_tile: int, padding: int) -> int:
        """What they take in shared memory; there are no inner tiles."""
        del inner_tile
        loop = required_time_loop(self.program)
        around = overlap(loop, self.steps)
        return sum(ELEMENT_BYTES[self.program.array(name).type] * prod(_sizes(_of_arrays(tile, self.order), margin, padding))
                   for name, margin in around.arrays)


def time_kernel(program: Program, schedule: TimeTiles, plan: KernelPlan, dialect: Dialect) -> TimeKernel:
    """The kernel that runs all of `program`.

    Raises:
        IllegalPlan: the program is no loop over time, or the plan decides what this kernel has not.
    """
    loop = required_time_loop(program)
    _check_plan(plan, loop)
    check_overlap(program, schedule.steps, _of_arrays(plan.tile, plan.order))
    made = _Making(program, loop, overlap(loop, schedule.steps), time_tiling(loop, schedule.steps), plan)
    body = made.body()
    count = len(plan.tile)
    check_barriers(body, thread_names(count))
    tile = _of_arrays(plan.tile, plan.order)
    blocks = [-(-extent // size) for extent, size in zip(loop.extents, tile, strict=True)]
    grid = tuple(reversed([blocks[d] for d in _dims(plan)]))
    whole = program.with_arrays(tuple(made.scratch.values()))
    lowered = numbered(printed(whole, plan, grid, (made.chunk,), tuple(made.boxes.values()), body, dialect), 0)
    launch = Launch(lowered.kernel.name, tuple(Int(n) for n in grid), (Name(made.chunk),))
    host = HostLoop(made.chunk, Int(0), Binary("<", Name(made.chunk), Int(made.tiling.chunks)), 1, (launch,))
    return TimeKernel(lowered, (host,), tuple(made.scratch.values()))


def _check_plan(plan: KernelPlan, loop: TimeLoop) -> None:
    if len(plan.tile) != len(loop.extents):
        raise IllegalPlan(f"the arrays have {len(loop.extents)} dimensions but the plan of {', '.join(plan.statements)} has "
                          f"{len(plan.tile)}")
    check_sizes(plan)
    ours = replace(plan, shared=False, inner_tile=1, points_inside=False, registers=False, combine="atomic")
    if plan != ours:
        raise IllegalPlan("a kernel that runs several time steps decides nothing but tile, block, order, unroll, padding and exchange: its "
                          "arrays are in shared memory")


def _dims(plan: KernelPlan) -> tuple[int, ...]:
    """The dimension of the arrays that each dimension of the plan is about."""
    return plan.order or tuple(range(len(plan.tile)))


def _of_arrays(sizes: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of a plan in the order of the arrays' dimensions."""
    return tuple(sizes[order.index(d)] for d in range(len(sizes))) if order else sizes


def _sizes(tile: Sequence[int], margin: Margin, padding: int) -> tuple[int, ...]:
    *rows, row = (size + low + high for size, (low, high) in zip(tile, margin, strict=True))
    return (*rows, row + padding)


class _Making:
    """Builds the loops of one thread."""

    def __init__(self, program: Program, loop: TimeLoop, around: Overlap, tiling: TimeTiling, plan: KernelPlan) -> None:
        self.loop, self.around, self.tiling, self.plan = loop, around, tiling, plan
        count = len(plan.tile)
        taken = {*(array.name for array in program.arrays), *block_names(count), *thread_names(count)}
        self.chunk = fresh_name(_CHUNK, taken)
        self.scratch = {name: replace(program.array(name), name=fresh_name(f"{name}_next", taken), role="temp")
                        for name in loop.arrays if name in loop.carried}
        self.tile = _of_arrays(plan.tile, plan.order)
        self.boxes = {name: TimeBox(fresh_name(f"{name}_here", taken), program.array(name), _sizes(self.tile, margin, plan.padding), margin)
                      for name, margin in around.arrays}
        iterators = dict.fromkeys(name for sweep in loop.sweeps for name in sweep.statement.iterators)
        self.time = fresh_name(loop.sweeps[0].statement.iterators[0], taken)
        self.names = {name: Name(fresh_name(name, taken)) for name in iterators if name != loop.sweeps[0].statement.iterators[0]}
        self.index = tuple(Name(fresh_name(f"at{d}", taken)) for d in range(count))

    def body(self) -> tuple[Node, ...]:
        """Fill, steps, store."""
        carried = [box for name, box in self.boxes.items() if name in self.scratch]
        others = [(box, written) for name, written in self.loop.written for box in (self.boxes[name],)]
        even = Binary("==", Binary("%", Name(self.chunk), Int(2)), Int(0))
        fill: list[Node] = [If(even, tuple(self._filled(box, box.array) for box in carried),
                   tuple(self._filled(box, self.scratch[box.array.name]) for box in carried))] if carried else []
        fill += [self._filled_outside(box, written) for box, written in others]
        steps: list[Node] = []
        for number in range(len(self.loop.sweeps)):
            steps += [self._sweep(number), Barrier()]
        first, after = self._begin(Name(self.chunk)), self._begin(Binary("+", Name(self.chunk), Int(1)))
        time = For(self.time, first, Binary("<", Name(self.time), after), 1, tuple(steps), "the time steps of this chunk")
        store = [If(even, tuple(self._stored(box, self.scratch[box.array.name]) for box in carried),
                    tuple(self._stored(box, box.array) for box in carried))] if carried else []
        last = Binary("==", Name(self.chunk), Int(self.tiling.chunks - 1))
        store += [If(last, tuple(self._stored(box, box.array, written) for box, written in others))] if others else []
        return (*fill, Barrier(), time, *store)

    def _begin(self, chunk: Expr) -> Expr:
        """The first time step of a chunk."""
        steps: Expr = Binary("*", Int(self.tiling.least), chunk)
        if self.tiling.shorter < self.tiling.chunks:
            more = simplify(Binary("-", chunk, Int(self.tiling.shorter)))
            steps = Binary("+", steps, Binary("max", more, Int(0)))
        return simplify(Binary("+", steps, Int(self.loop.first)))

    def _corner(self, dim: int) -> Expr:
        """The first index of the block's tile."""
        place = _dims(self.plan).index(dim)
        return Binary("*", Int(self.tile[dim]), Name(block_names(len(self.tile))[place]))

    def _reach(self, margin: Margin, dim: int, limits: tuple[int, int]) -> Bounds:
        """The tile with `margin` around it, within `limits`."""
        low, high = margin[dim]
        first = simplify(Binary("-", self._corner(dim), Int(low)))
        return (Binary("max", first, Int(limits[0])) if low or limits[0] > 0 else first,
                Binary("min", simplify(Binary("+", self._corner(dim), Int(self.tile[dim] - 1 + high))), Int(limits[1])))

    def _local(self, box: TimeBox, index: Sequence[Expr]) -> Load:
        """An element of an array in its box."""
        return Load(box.name, tuple(simplify(Binary("+", Binary("-", at, self._corner(d)), Int(box.margin[d][0]))) for d, at in enumerate(index)))

    def _shared_out(self, bounds: Mapping[int, tuple[str, Bounds]], inside: tuple[Node, ...], note: str, unroll: int = 1) -> Node:
        """Loops over dimensions of the arrays in which the threads of the block take turns; at least one."""
        for dim in sorted(bounds, reverse=True):
            name, (low, high) = bounds[dim]
            place = _dims(self.plan).index(dim)
            start = Binary("+", low, Name(thread_names(len(self.tile))[place]))
            inside = (For(name, start, Binary("<=", Name(name), high), self.plan.block[place], inside,
                          note if dim == min(bounds) else "", unroll if dim == max(bounds) else 1, once=True),)
        return inside[0]

    def _all_of(self, margin: Margin, box: TimeBox, limits: Sequence[tuple[int, int]], make: Callable[[tuple[Expr, ...]], tuple[Node, ...]],
                note: str) -> Node:
        """What `make` says for all elements of a tile with `margin` around it."""
        bounds = {d: (self.index[d].name, self._reach(margin, d, limits[d])) for d in range(len(box.sizes))}
        return self._shared_out(bounds, make(self.index), note)

    def _filled(self, box: TimeBox, source: Array) -> Node:
        return self._all_of(box.margin, box, _whole(box.array), lambda e: (Assign(self._local(box, e), "", Load(source.name, e)),),
                            f"all threads fill {box.name}")

    def _filled_outside(self, box: TimeBox, written: Sequence[tuple[int, int]]) -> Node:
        """Fill the part of a box that nobody writes, in those blocks that have one."""
        ends = [self._reach(box.margin, d, limits) for d, limits in enumerate(_whole(box.array))]
        some = [part for (first, last), (low, high) in zip(ends, written, strict=True) for part in (_below(first, low), _above(last, high))]

        def fill(e: tuple[Expr, ...]) -> tuple[Node, ...]:
            outside = [part for at, (low, high) in zip(e, written, strict=True) for part in (_below(at, low), _above(at, high))]
            return (If(_any(outside), (Assign(self._local(box, e), "", Load(box.array.name, e)),)),)

        return If(_any(some), (self._all_of(box.margin, box, _whole(box.array), fill, f"all threads fill the rim of {box.name}"),))

    def _stored(self, box: TimeBox, target: Array, limits: Sequence[tuple[int, int]] | None = None) -> Node:
        def store(e: tuple[Expr, ...]) -> tuple[Node, ...]:
            if self.plan.exchange:
                return (Atomic(Load(target.name, e), "=", self._local(box, e), box.type),)
            return (Assign(Load(target.name, e), "", self._local(box, e)),)

        none = ((0, 0),) * len(box.sizes)
        return self._all_of(none, box, limits or _whole(box.array), store, f"all threads store their tile of {box.name}")

    def _sweep(self, number: int) -> Node:
        """A sweep over what is still needed of it."""
        sweep = self.loop.sweeps[number]
        end = self._begin(Binary("+", Name(self.chunk), Int(1)))
        left = simplify(Binary("-", Binary("-", end, Int(1)), Name(self.time)))
        bounds: dict[int, tuple[str, Bounds]] = {}
        there: list[Expr] = []
        for d, (position, constant) in enumerate(sweep.dims):
            low, high = (simplify(end) for end in self._needed(number, d, left))
            if position is None:
                there += [Binary("<=", low, Int(constant)), Binary(">=", high, Int(constant))]
                continue
            first, last = sweep.ranges[position]
            name = self.names[sweep.statement.iterators[position]].name
            bounds[d] = (name, (Binary("max", simplify(Binary("-", low, Int(constant))), Int(first)),
                                Binary("min", simplify(Binary("-", high, Int(constant))), Int(last))))
        inside: Node = self._instance(sweep)
        if bounds:
            inside = self._shared_out(bounds, (inside,), f"all threads compute {self.boxes[sweep.array].name}", self.plan.unroll)
        alone = [Binary("==", Name(thread_names(len(self.tile))[p]), Int(0)) for p, d in enumerate(_dims(self.plan)) if d not in bounds]
        conditions = [*there, *alone]
        return If(reduce(lambda a, b: Binary("&&", a, b), conditions), (inside,)) if conditions else inside

    def _needed(self, number: int, dim: int, left: Expr) -> Bounds:
        """The first and the last element of a sweep's array that the block computes, with `left` steps to come."""
        (low, high), (by_low, by_high) = self.around.sweeps[number][dim], self.around.slope[dim]
        corner = self._corner(dim)
        return (Binary("-", Binary("-", corner, Int(low)), Binary("*", Int(by_low), left)),
                Binary("+", Binary("+", corner, Int(self.tile[dim] - 1 + high)), Binary("*", Int(by_high), left)))

    def _instance(self, sweep: Sweep) -> Assign:
        body = sweep.statement.body
        names: dict[str, Expr] = {**self.names, sweep.statement.iterators[0]: Name(self.time)}
        target, value = (self._placed(substitute(expr, names)) for expr in (body.target, body.value))
        assert isinstance(target, Load)
        return Assign(target, body.op, value)

    def _placed(self, expr: Expr) -> Expr:
        """`expr` with the elements of held arrays where the block holds them."""
        expr = map_children(expr, self._placed)
        if isinstance(expr, Load) and expr.array in self.boxes:
            return self._local(self.boxes[expr.array], expr.index)
        return expr


def _whole(array: Array) -> tuple[tuple[int, int], ...]:
    return tuple((0, extent - 1) for extent in array.extents)


def _below(at: Expr, low: int) -> Expr:
    return Binary("<", at, Int(low))


def _above(at: Expr, high: int) -> Expr:
    return Binary(">", at, Int(high))


def _any(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("||", a, b), conditions)
