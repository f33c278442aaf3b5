"""The parts of kernels with several time steps: loops that fill boxes, sweep over them and store their contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from generator.expr import Binary, Expr, Int, Load, Name, Select, map_children
from generator.linear import simplify, substitute
from generator.lowering.memory.barriers import in_turn
from generator.lowering.memory.registers import exchanges
from generator.lowering.memory.team_tile import Bounds, Limits, TeamTile, TimeBox
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Atomic, Barrier, For, If, Node
from generator.polyhedral.memory.mapping import block_names, thread_names
from generator.polyhedral.time.time_steps import Overlap, Sweep, TimeLoop, TimeTiling
from generator.program import Array, Program


@dataclass(frozen=True, slots=True)
class TimeNames:
    """Names in the kernel: the boxes and copies of arrays, the iterators of sweeps except that of time."""

    chunk: Name
    left: Name
    boxes: Mapping[str, str]
    scratch: Mapping[str, str]
    iterators: Mapping[str, Name]
    index: tuple[Name, ...]

    @classmethod
    def fresh(cls, program: Program, loop: TimeLoop, count: int) -> TimeNames:
        """Return names that are new: neither of the program nor of a block or thread index."""
        taken = {*(array.name for array in program.arrays), *block_names(count), *thread_names(count)}
        own = dict.fromkeys(name for sweep in loop.sweeps for name in sweep.statement.iterators[1:])
        return cls(Name(fresh_name("chunk", taken)), Name(fresh_name("left", taken)),
                   {name: fresh_name(f"{name}_here", taken) for name in loop.arrays},
                   {name: fresh_name(f"{name}_next", taken) for name in loop.arrays if name in loop.carried},
                   {name: Name(fresh_name(name, taken)) for name in own},
                   tuple(Name(fresh_name(f"at{d}", taken)) for d in range(count)))

    def taken(self, program: Program) -> set[str]:
        """Return all of them, and the names of arrays."""
        iterators = (name.name for name in (self.chunk, self.left, *self.iterators.values(), *self.index))
        return {*iterators, *self.boxes.values(), *self.scratch.values(), *(array.name for array in program.arrays)}


@dataclass(frozen=True, slots=True)
class Copies:
    """Builds the loops that fill the boxes and store their contents. `scratch`: the copies of carried arrays."""

    tile: TeamTile
    boxes: Mapping[str, TimeBox]
    scratch: Mapping[str, Array]
    chunk: Name
    tiling: TimeTiling

    def filled(self, loop: TimeLoop) -> list[Node]:
        """Fill the boxes of carried arrays from those that the chunk reads, and the unwritten elements of the others.
        """
        carried = [box for name, box in self.boxes.items() if name in self.scratch]
        return [*self.in_turns([self._fill(box, box.array) for box in carried],
                                [self._fill(box, self.scratch[box.array].name) for box in carried]),
                *(strip for name, written in loop.written if name in self.boxes
                  for strip in self._fill_rim(self.boxes[name], written))]

    def stored(self, loop: TimeLoop) -> list[Node]:
        """Store the boxes of carried arrays to those that the next chunk reads; the last chunk stores the others."""
        carried = [box for name, box in self.boxes.items() if name in self.scratch]
        others = tuple(self._store(self.boxes[name], name, written) for name, written in loop.written
                       if name in self.boxes)
        return [*self.in_turns([self._store(box, self.scratch[box.array].name, box.whole) for box in carried],
                                [self._store(box, box.array, box.whole) for box in carried]),
                *self.in_last(list(others))]

    def in_last(self, nodes: list[Node]) -> list[Node]:
        """Return the nodes for the last chunk only."""
        return [If(Binary("==", self.chunk, Int(self.tiling.chunks - 1)), tuple(nodes))] if nodes else []

    def in_turns(self, even: list[Node], odd: list[Node]) -> list[Node]:
        """Return a branch between the nodes of even chunks and those of odd ones."""
        return [If(Binary("==", Binary("%", self.chunk, Int(2)), Int(0)), tuple(even), tuple(odd))] if even else []

    def _fill(self, box: TimeBox, source: str) -> Node:
        return self._filled(box, source, box.whole, f"all threads fill {box.name}")

    def _filled(self, box: TimeBox, source: str, limits: Limits, note: str) -> Node:
        return self.tile.over(
            box.margin, limits, lambda index: Assign(box.element(index), "", Load(source, index)), note
        )

    def _fill_rim(self, box: TimeBox, written: Limits) -> list[Node]:
        """Fill the part of a box that is never written; few blocks have one."""
        return [
            self._filled(box, box.array, strip, f"all threads fill the rim of {box.name}")
            for strip in _around(written, box.whole)
        ]

    def _store(self, box: TimeBox, target: str, limits: Limits) -> Node:
        def store(index: tuple[Expr, ...]) -> Node:
            return self.storing(Load(target, index), box.element(index), box.type)

        return self.tile.over(((0, 0),) * len(box.box), limits, store, f"all threads store their tile of {box.name}")

    def storing(self, target: Load, value: Load, kind: str) -> Node:
        """Return the node that stores an element of this C type."""
        if exchanges(self.tile.plan, kind):
            return Atomic(target, "=", value, kind)
        return Assign(target, "", value)


@dataclass(frozen=True, slots=True)
class Places:
    """The domain of a sweep: per dimension, the name and the bounds of its loop; `conditions` on the tile; the values
    of the sweep's iterators.
    """

    bounds: Mapping[int, tuple[str, Bounds]]
    conditions: tuple[Expr, ...]
    iterators: Mapping[str, Expr]


@dataclass(frozen=True, slots=True)
class Steps:
    """Builds the loops that compute: the time steps of a chunk, and in each the sweeps over the elements still needed.
    """

    loop: TimeLoop
    around: Overlap
    tiling: TimeTiling
    tile: TeamTile
    boxes: Mapping[str, TimeBox]
    names: TimeNames

    def loops(self) -> Node:
        """Return all of them."""
        least, shorter, left = self.tiling.least, self.tiling.shorter, self.names.left
        before_last: Expr = Int(least - 1)
        if shorter < self.tiling.chunks:
            before_last = Select(Binary("<", self.names.chunk, Int(shorter)), before_last, Int(least))
        sweeps = in_turn(
            [(self.sweep(number, left),) for number in range(len(self.loop.sweeps))],
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

    def time(self, left: Expr) -> Expr:
        """Return the time step if `left` steps follow before the first one of the next chunk."""
        after: Expr = Binary("+", self.names.chunk, Int(1))
        begin: Expr = Binary("*", Int(self.tiling.least), after)
        if self.tiling.shorter < self.tiling.chunks:
            begin = Binary("+", begin, Binary("max", simplify(Binary("-", after, Int(self.tiling.shorter))), Int(0)))
        return simplify(Binary("-", Binary("+", begin, Int(self.loop.first - 1)), left))

    def sweep(self, number: int, left: Expr) -> Node:
        """Return a sweep over the elements that are still needed when so many steps are `left`."""
        sweep, where = self.loop.sweeps[number], self.places(number, left)
        inside = self.tile.shared_out(
            where.bounds,
            self._instance(sweep, where.iterators, left),
            f"all threads compute {self.boxes[sweep.array].name}",
            self.tile.plan.unroll,
        )
        first = [Binary("==", self.tile.thread(d), Int(0)) for d, (one, _) in enumerate(sweep.dims) if one is None]
        conditions = [*where.conditions, *first]
        return If(reduce(lambda a, b: Binary("&&", a, b), conditions), (inside,)) if conditions else inside

    def places(self, number: int, left: Expr) -> Places:
        """Return where a sweep runs."""
        sweep = self.loop.sweeps[number]
        bounds: dict[int, tuple[str, Bounds]] = {}
        conditions: list[Expr] = []
        iterators: dict[str, Expr] = {}
        for d, (position, constant) in enumerate(sweep.dims):
            low, high = self._needed(number, d, left)
            if position is None:
                place = self.tile.place(d, Int(constant))
                conditions += [Binary("<=", low, place), Binary(">=", high, place)]
                continue
            first, last = (self.tile.place(d, Int(value + constant)) for value in sweep.ranges[position])
            iterator = sweep.statement.iterators[position]
            name = self.names.iterators[iterator]
            bounds[d] = name.name, (Binary("max", low, first), Binary("min", high, last))
            iterators[iterator] = simplify(Binary("-", Binary("+", self.tile.corner(d), name), Int(constant)))
        return Places(bounds, tuple(conditions), iterators)

    def _needed(self, number: int, dim: int, left: Expr) -> Bounds:
        """Return the places of the first and the last element of a sweep's array that the block still computes."""
        (low, high), (by_low, by_high) = self.around.sweeps[number][dim], self.around.slope[dim]
        return (simplify(Binary("-", Int(-low), Binary("*", Int(by_low), left))),
                simplify(Binary("+", Int(self.tile.kept(dim) - 1 + high), Binary("*", Int(by_high), left))))

    def _instance(self, sweep: Sweep, iterators: Mapping[str, Expr], left: Expr) -> Assign:
        body = sweep.statement.body
        names = {**iterators, sweep.statement.iterators[0]: self.time(left)}
        target, value = (self._placed(substitute(expr, names)) for expr in (body.target, body.value))
        assert isinstance(target, Load)
        return Assign(target, body.op, value)

    def _placed(self, expr: Expr) -> Expr:
        """Return `expr` with elements of arrays that have boxes taken from there."""
        expr = map_children(expr, self._placed)
        if isinstance(expr, Load) and expr.array in self.boxes:
            return self.boxes[expr.array].element(expr.index)
        return expr


def _around(written: Limits, whole: Limits) -> list[Limits]:
    """Return the parts of an array outside of the box `written`: up to two boxes per dimension."""
    found = list[Limits]()
    for d, ((begin, end), (low, high)) in enumerate(zip(whole, written, strict=True)):
        found += [
            (*written[:d], strip, *whole[d + 1 :])
            for strip in ((begin, low - 1), (high + 1, end))
            if strip[0] <= strip[1]
        ]
    return found
