"""Put statements into loops: every instance becomes an assignment, every fill point its copies and barriers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from generator.expr import Binary, Expr, Int, Load, loads_of, map_children
from generator.linear import plain_form, substitute
from generator.lowering.memory.barriers import BarrierRefused
from generator.lowering.memory.computed import Computing, entered
from generator.lowering.memory.lines import LineBox, LineOfPoint
from generator.lowering.memory.private import PrivateBox
from generator.lowering.memory.prologues import operation_in
from generator.lowering.memory.registers import Register, Variable, exchanges
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, Atomic, Barrier, For, If, Instance, Node, apply
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import Update
from generator.polyhedral.kit.ast import enter, leave
from generator.polyhedral.memory.footprint import FillPoint
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Lets, Program, Statement


@dataclass(frozen=True, slots=True)
class Updates:
    """The form of a statement's updates of its target.

    `update` on `register`; or (None) atomically, in the block's `private` copy or (None) in global memory.
    """

    update: Update
    register: Register | None
    private: PrivateBox | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Filling:
    """The replacement of the instances of one kernel.

    `registers`: the storage of an array. `shared_updates`: how statements that share elements with other threads update
    them. `outside`: the accesses (statement, number) that may leave their array, below 0 or beyond its end, in
    instances whose results are dropped: they read another element instead. `any_order`: statements that update numbers
    by sums whose terms may be reordered. `lines`: by array, those that single threads own.
    """

    program: Program
    part: KernelPart
    plan: KernelPlan
    points: tuple[FillPoint, ...]
    arrays: tuple[CopiedBox, ...]
    computing: Computing
    registers: Mapping[str, Register | Variable]
    shared_updates: Mapping[str, Updates]
    outside: Mapping[tuple[str, int], tuple[tuple[bool, bool], ...]]
    any_order: frozenset[str] = frozenset()
    lines: Mapping[str, LineBox] = field(default_factory=dict)


class Filler:
    """Replaces instances by assignments, copies and barriers."""

    def __init__(self, filling: Filling) -> None:
        self.filling = filling
        count = len(filling.points)
        self.entering = {enter(n): n for n in range(count)}
        self.leaving = {leave(n): n for n in range(count)}

    def fill(self, nodes: tuple[Node, ...], tiles: dict[int, tuple[Expr, ...]]) -> tuple[Node, ...]:
        """Return `nodes` with every instance replaced. `tiles`: the tile indices of the fill points entered so far."""
        result: list[Node] = []
        for node in nodes:
            match node:
                case For():
                    result.append(replace(node, body=self.fill(node.body, dict(tiles))))
                case If(condition, then, otherwise):
                    result.append(If(condition, self.fill(then, dict(tiles)), self.fill(otherwise, dict(tiles))))
                case Instance(name, arguments) if name in self.entering:
                    tiles[self.entering[name]] = arguments
                    result += self._enter(self.entering[name], arguments)
                case Instance(name, arguments) if name in self.leaving:
                    if arguments:  # filled again in the next iteration of its tile loop
                        result.append(Barrier())
                case Instance():
                    result += self.statement(node, tiles)
                case _:
                    result.append(node)
        return tuple(result)

    def _enter(self, number: int, arguments: tuple[Expr, ...]) -> Iterator[Node]:
        filling = self.filling
        at = entered(number, filling.points[number], arguments, filling.plan.walk)
        here = [box.at(at.tiles) for box in filling.arrays if box.point == number]
        plan = filling.plan
        written = {filling.program.statement(name).body.target.array for name in plan.statements}
        yield from (box.fill(plan.block, plan.vector, plan.ahead, plan.ahead and box.array not in written)
                    for box in here)
        yield from filling.computing.enter(at, bool(here))

    def statement(self, instance: Instance, tiles: dict[int, tuple[Expr, ...]]) -> tuple[Node, ...]:
        """Return the nodes of one instance, preceded by those that compute the values that it reads."""
        statement = self.filling.program.statement(instance.name)
        values: dict[str, Expr] = dict(zip(statement.iterators, instance.arguments, strict=True))
        copies: dict[int, CopiedBox | LineOfPoint] = {
            **self._copies(instance.name, tiles), **self._lines(statement, values)}
        body = statement.body
        before: list[Node] = []
        known: dict[Load, Load] = {}
        at = next((entered(n, point, tiles[n], self.filling.plan.walk) for n, point in enumerate(self.filling.points)
                   if instance.name in point.statements and n in tiles), None)

        def placed(expr: Expr, nodes: list[Node]) -> Expr:
            here = self._redirect(instance.name, substitute(expr, values), copies)
            return self.filling.computing.placed(here, nodes, known, at)

        def name(lets: Lets, nodes: list[Node]) -> None:
            for variable, value in lets:
                values[variable.name] = self.filling.computing.named(variable, placed(value, nodes), nodes)

        updates = self.filling.shared_updates.get(instance.name)
        name(body.lets[: body.before_guard], before)
        condition = body.guard if updates is None else updates.update.guard
        guard = placed(condition, before) if condition is not None else None
        later = body.lets[body.before_guard :]
        inside: list[Node] = [] if later and guard is not None else before
        name(later, inside)
        target = placed(body.target, inside)
        assert isinstance(target, Load)
        if updates is None:
            store = self._marked(instance.name, self._store(target, body.op, placed(body.value, inside)))
        else:
            store = self._update(instance.name, target, placed(updates.update.contribution, inside), updates)
        if guard is None:
            return (*before, store)
        return (*before, If(guard, (store,) if inside is before else (*inside, store)))

    def _update(self, name: str, target: Load, value: Expr, updates: Updates) -> Node:
        """Return an update of an element shared with other threads: in a copy, in a register, or atomically."""
        kind, operator = (
            self.filling.program.array(self.filling.program.statement(name).body.target.array).type,
            updates.update.operator,
        )
        if updates.private is not None:
            return updates.private.update(target, value)
        if updates.register is None:
            return Atomic(target, operator, value, kind)
        return self._marked(name, apply(target, operator, value, kind))

    def _marked(self, name: str, node: Node) -> Node:
        return replace(node, any_order=True) if name in self.filling.any_order and isinstance(node, Assign) else node

    def _inside(self, name: str, load: Expr) -> Expr:
        """Return `load` with subscripts inside the array."""
        assert isinstance(load, Load)
        flags = self.filling.outside.get((name, load.access))
        if flags is None:
            return load
        extents = self.filling.program.array(load.array).extents
        index = [Binary("max", i, Int(0)) if below else i for i, (below, _) in zip(load.index, flags, strict=True)]
        limited = [Binary("min", i, Int(n - 1)) if above else i
                   for i, n, (_, above) in zip(index, extents, flags, strict=True)]
        return Load(load.array, tuple(limited), load.access)

    def _store(self, target: Load, op: str, value: Expr) -> Node:
        """Return an assignment, or an atomic exchange if the Plan uses it for stores to global memory."""
        kept = (*self.filling.registers.values(), *self.filling.lines.values())
        held = any(one.name == target.array for one in kept)
        if held:
            return Assign(target, op, value)
        kind = self.filling.program.array(target.array).type
        if not exchanges(self.filling.plan, kind):
            return Assign(target, op, value)
        return Atomic(target, "=", Binary(op, target, value) if op else value, kind)

    def _copies(self, name: str, tiles: dict[int, tuple[Expr, ...]]) -> dict[int, CopiedBox]:
        """Return the shared copies that statement `name` reads, by access."""
        filling = self.filling
        copies: dict[int, CopiedBox] = {}
        for box in filling.arrays:
            point = filling.points[box.point]
            if name in point.statements:
                if box.point not in tiles:  # isl put the copies under a separate condition
                    raise BarrierRefused("a barrier would stand under a condition")
                here = box.at(entered(box.point, point, tiles[box.point]).tiles)
                copies |= {number: here for reader, number in box.footprint.accesses if reader == name}
        return copies

    def _lines(self, statement: Statement, values: Mapping[str, Expr]) -> dict[int, LineOfPoint]:
        """Return the lines that an instance accesses, by access; `values`: of its iterators."""
        lines = self.filling.lines
        return {number: lines[access.array].of_instance(statement.name, values)
                for number, access in enumerate(statement.accesses) if access.array in lines}

    def _redirect(self, name: str, expr: Expr, copies: Mapping[int, CopiedBox | LineOfPoint]) -> Expr:
        """Return `expr` with loads taken from where the element is: a register, a shared copy, or global memory."""
        if isinstance(expr, Load):
            if expr.array in self.filling.registers:
                return self.filling.registers[expr.array].at(name)
            load = Load(expr.array, tuple(self._redirect(name, i, copies) for i in expr.index), expr.access)
            if expr.access in copies:
                return copies[expr.access].element(load.index)
            index = tuple(plain_form(i) or i for i in load.index)
            return self._inside(name, Load(load.array, index, load.access))
        if (held := self._held(name, expr, copies)) is not None:
            return held
        return map_children(expr, lambda child: self._redirect(name, child, copies))

    def _held(self, name: str, expr: Expr, copies: Mapping[int, CopiedBox | LineOfPoint]) -> Expr | None:
        """Return the element of a copy that holds the value of the operation `expr`; None if there is none."""
        if not self.filling.plan.prologue:
            return None
        for load in loads_of(expr):
            box = copies.get(load.access)
            if isinstance(box, CopiedBox) and box.operation is not None:
                own = [access for access, other in copies.items()
                       if isinstance(other, CopiedBox) and other.name == box.name]
                if operation_in(expr, own) == box.operation:
                    return box.element(tuple(self._redirect(name, i, copies) for i in load.index))
        return None
