"""Sums that the threads of a block combine in shared memory, all elements at once.

    for (s_1 = 0; s_1 < 4; ++s_1)  float_parts[t0][4 * t1 + s_1] = s_here[s_1];      // each thread stores its parts
    barrier
    if (32 * t0 + t1 < 128) {                                                        // then adds up a column
        s_sum = float_parts[0][32 * t0 + t1];
        for (s_row = 1; s_row < 8; ++s_row)  s_sum += float_parts[s_row][32 * t0 + t1];
        antune_add_float(&s[128 * b1 + 32 * t0 + t1], s_sum);
    }

Columns are in the order of the block's elements: neighbouring threads read neighbouring banks and update neighbouring
elements. Many rows are added up in several steps. Elements that exceed `Parts` are combined in rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from generator.decisions.parts import Parts, parts_of
from generator.expr import Binary, Expr, Int, Load, Name, names_of
from generator.linear import plain_form, simplify, substitute
from generator.lowering.memory.box import LocalBox
from generator.lowering.memory.registers import Register, can_shuffle, flat, guarded, reducing
from generator.nest import Assign, Atomic, Barrier, Declare, For, If, Node, Note, apply, map_expressions
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import Points, thread_names
from generator.program import ELEMENT_BYTES


@dataclass(frozen=True, slots=True)
class _Digit:
    """A name in an element's subscripts: of a thread, or of a loop over its points.

    Its value is `offset` plus a number below `count`; a step moves by `weight` elements of the block, and by `local`
    columns of a round.
    """

    name: str
    count: int
    weight: int
    local: int
    offset: Expr


@dataclass(frozen=True, slots=True, eq=False)
class BlockSums:
    """The sums of a register, whose `parts` are in `box`. The names are those of a column, of a row, of a round, and of
    the sum in each step.
    """

    register: Register
    plan: KernelPlan
    parts: Parts
    box: LocalBox
    column: str
    row: str
    round: str
    sums: tuple[str, ...]

    @property
    def rounds(self) -> int:
        """How often the block combines."""
        return prod(p.count for p in self.register.points) // prod(self.parts.at_once)

    def phases(self, number: Expr) -> Iterator[tuple[Node, ...]]:
        """Yield the nodes of a round, to be separated by barriers."""
        yield self._stored(number)
        left = self.parts.lanes
        for fewer, name in zip(self.parts.steps, self.sums, strict=True):
            yield self._added(left, fewer, name, number)
            left = fewer

    def in_rounds(self) -> Iterator[Node]:
        """Yield the nodes of all rounds."""
        count = Name(self.round)
        if self.rounds > 2:
            body = (*_separated(self.phases(count)), Barrier())
            yield For(self.round, Int(0), Binary("<", count, Int(self.rounds - 1)), 1, body, "", self.rounds - 1)
        elif self.rounds == 2:
            yield from (*_separated(self.phases(Int(0))), Barrier())
        yield from _separated(self.phases(Int(self.rounds - 1)))

    def _at(self, row: Expr, column: Expr) -> Load:
        return Load(self.box.name, (row,) if self.parts.row == 1 else (row, column))

    def _stored(self, number: Expr) -> tuple[Node, ...]:
        """Return the nodes in which a thread stores its parts."""
        register = self.register
        own: Expr = Int(0)
        for d, size in zip(register.kept.owned, self.parts.sizes, strict=True):
            own = Binary("*", own, Int(size))
            for digit in self._digits(d, number):
                own = Binary("+", own, Binary("*", Int(digit.local), Name(digit.name)))
        lane, _ = flat(reducing(register, self.plan), self.plan.block)
        here = {digit.name: simplify(Binary("+", digit.offset, Name(digit.name)))
                for d in register.kept.owned for digit in self._digits(d, number)}
        alone = {name: Int(0) for name, count in zip(register.names, self.parts.at_once, strict=True) if count == 1}
        store: Node = Assign(self._at(lane, simplify(own)), "", _placed(register.here, here))
        body = map_expressions((store,), lambda expr: substitute(expr, alone))
        for name, count in reversed(list(zip(register.names, self.parts.at_once, strict=True))):
            if count > 1:
                body = (For(name, Int(0), Binary("<", Name(name), Int(count)), 1, body, "", count),)
        return body

    def _added(self, left: int, fewer: int, name: str, number: Expr) -> tuple[Node, ...]:
        """Return the nodes that add up the rows that are `left`, so that `fewer` remain; the last one is stored."""
        register, operator, elements = self.register, self.register.operator, self.parts.elements
        assert operator is not None, "only reductions are combined"
        every, total = Name(self.column), Load(name)
        group, column = (_over(every, elements), _rest(every, elements)) if fewer > 1 else (Int(0), every)
        turn = Name(self.row)

        def add(turn: Expr) -> tuple[Node, ...]:
            row = simplify(Binary("+", group, Binary("*", Int(fewer), turn)))
            return (apply(total, operator, self._at(row, column), register.type),)

        whole, rest = divmod(left, fewer)
        body: list[Node] = [Assign(total, "", self._at(group, column))]
        body += (For(self.row, Int(1), Binary("<", turn, Int(whole)), 1, add(turn), "", whole - 1),)
        body += (If(Binary("<", group, Int(rest)), add(Int(whole))),) if rest else ()
        if fewer > 1:
            body.append(Assign(self._at(group, column), "", total))
        else:
            place = self._places(number)
            target = Load(register.array, tuple(map(place, register.element)))
            body += guarded(place(register.exists), Atomic(target, operator, total, register.type))
        note = f"threads add up {left} parts of {'each element' if fewer == 1 else f'{fewer} of each element'}"
        return self._spread(fewer * elements, tuple(body), note)

    def _spread(self, count: int, body: tuple[Node, ...], note: str) -> tuple[Node, ...]:
        """Return `body` for so many columns; neighbouring threads have neighbours."""
        number, threads = flat(tuple(range(len(self.plan.block))), self.plan.block)
        thread = simplify(number)
        if count > threads:
            return (For(self.column, thread, Binary("<", Name(self.column), Int(count)), threads, body, note, 0),)
        here = map_expressions(body, lambda expr: _placed(expr, {self.column: thread}))
        return Note(note), *((If(Binary("<", thread, Int(count)), here),) if count < threads else here)

    def _places(self, number: Expr) -> Callable[[Expr], Expr]:
        """Return the function that puts a column in place of the thread and its points.

        If the subscripts count the elements of the block, they count columns: 4 * t1 + s_1 is the column itself.
        """
        own, other, names = dict[str, Expr](), dict[str, Expr](), set[str]()
        whole, column = self.parts.elements, Name(self.column)
        for d, size in zip(self.register.kept.owned, self.parts.sizes, strict=True):
            here = _rest(column, whole) if whole < self.parts.elements else column
            whole //= size
            here = _over(here, whole)
            digits = self._digits(d, number)
            element: Expr = here
            for digit in digits:
                value = _over(here, digit.local)
                value = _rest(value, digit.count) if digit is not digits[-1] else value
                own[digit.name] = Binary("+", digit.offset, value)
                element = Binary("+", element, Binary("*", Int(digit.weight), digit.offset))
            names |= {digit.name for digit in digits}
            if digits and digits[0].weight == 1 and all(one.weight == one.local for one in digits):
                others = [Binary("*", Int(one.weight), Name(one.name)) for one in digits[1:]]
                for part in others:
                    element = Binary("-", element, part)
                other[digits[0].name] = element

        def place(expr: Expr) -> Expr:
            counted = plain_form(substitute(expr, other))
            return _placed(expr, own) if counted is None or names_of(counted) & names else counted

        return place

    def _digits(self, dim: int, number: Expr) -> list[_Digit]:
        """Return the names of an owned dimension in the round `number`, the one that moves least first."""
        register, below, inside = self.register, 1, dict[str, tuple[Points, int, Expr]]()
        for name, points, count in zip(register.names[::-1], register.points[::-1], self.parts.at_once[::-1],
                                       strict=True):
            rounds = points.count // count
            inside[name] = points, count, _times(count, _rest(_over(number, below), rounds))
            below *= rounds
        block, found = self.plan.block[dim], list[_Digit]()
        run = self.plan.run if dim == len(self.plan.block) - 1 else 1
        mine = [(name, *one) for name, one in inside.items() if one[0].dim == dim]
        named = [(name, count, points.stride, offset) for name, points, count, offset in mine if points.run]
        named += [(thread_names(dim + 1)[dim], block, run, Int(0))] if block > 1 else []
        named += [(name, count, points.stride, offset) for name, points, count, offset in mine if not points.run]
        local = 1
        for name, count, weight, offset in named:
            found.append(_Digit(name, count, weight, local, offset))
            local *= count
        return found


def block_sums(registers: Sequence[Register], plan: KernelPlan, fresh: Callable[[str], str]) -> tuple[BlockSums, ...]:
    """Return the sums that are combined in shared memory."""
    found = []
    for register in registers:
        if register.sharing == "thread" or plan.combine == "atomic" or not reducing(register, plan):
            continue
        if plan.combine == "shuffle" and can_shuffle(register, plan):
            continue
        parts = parts_of(plan.block, register.kept.owned, [(p.dim, p.count) for p in register.points],
                         ELEMENT_BYTES[register.type])
        sizes = (parts.lanes,) if parts.row == 1 else (parts.lanes, parts.row)
        name = fresh(f"{register.type.replace(' ', '_')}_parts")
        box = LocalBox(name, "", register.type, (), sizes, sizes, (), "compute", "block")
        column, row, number = (fresh(f"{register.array}_{what}") for what in ("column", "row", "round"))
        sums = tuple(fresh(f"{register.array}_sum") for _ in parts.steps)
        found.append(BlockSums(register, plan, parts, box, column, row, number, sums))
    return tuple(found)


def combined_in_blocks(sums: Sequence[BlockSums], others: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes that combine `sums`, with the same barriers for all; `others` run before the first barrier."""
    for one in sums:
        yield from (Declare(name, one.register.type, ()) for name in one.sums)
    once = list(zip_longest(*(one.phases(Int(0)) for one in sums if one.rounds == 1), fillvalue=()))
    phases = [tuple(node for part in phase for node in part) for phase in once] or [()]
    yield from _separated(iter([(*phases[0], *others), *phases[1:]]))
    for one in sums:
        if one.rounds > 1:
            yield from one.in_rounds()


def _separated(phases: Iterator[tuple[Node, ...]]) -> Iterator[Node]:
    for number, phase in enumerate(phases):
        if number:
            yield Barrier()
        yield from phase


def _placed(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Return `expr` with values in place of names, and simple subscripts."""
    found = substitute(expr, values)
    if isinstance(found, Load):
        return Load(found.array, tuple(plain_form(i) or i for i in found.index), found.access)
    return plain_form(found) or found


def _over(number: Expr, size: int) -> Expr:
    if isinstance(number, Int):
        return Int(number.value // size)
    return number if size == 1 else Binary("/", number, Int(size))


def _rest(number: Expr, size: int) -> Expr:
    if isinstance(number, Int) or size == 1:
        return Int(number.value % size if isinstance(number, Int) else 0)
    return Binary("%", number, Int(size))


def _times(size: int, number: Expr) -> Expr:
    return Int(size * number.value) if isinstance(number, Int) else Binary("*", Int(size), number)
