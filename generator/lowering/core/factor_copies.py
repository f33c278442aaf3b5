"""Fill the tile of a factor for tensor cores with all threads of a block: at once, a tile ahead, or asynchronously.

    A_tile[..][..] = to_fp16(A[..][..]);                  at once
    A_next[turn] = A[..][..];                             ahead: into registers while the warps multiply ..
    A_tile[..][..] = to_fp16(A_next[turn]);               .. and to shared memory, rounded, when they have
    copy<16>(&A_tile[place][..][..], &A[..][..]);         asynchronously (`cp.async`), without rounding
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from generator.emit.tensor_cores import TO_WORD
from generator.expr import Binary, Call, Expr, Int, Load, Name, Real, Select
from generator.linear import simplify, substitute
from generator.lowering.core.later import MOST_UNROLLED
from generator.lowering.memory.box import LocalBox
from generator.nest import Assign, Declare, For, If, Node, Wide, map_expressions
from generator.polyhedral.memory.mapping import thread_names
from generator.precision import Precision

_TURN, _PIECE, _WORDS = "antune_turn", "antune_piece", "antune_words"
"""Names that no program has: the turn of a thread in a copy, a vector as loaded, and rounded."""
_ZERO = Real("0.0f")


@dataclass(frozen=True, slots=True)
class FactorCopy:
    """Copies `lanes` neighbours of the factor `source` at a time to the element `box.index` of a box.

    Elements that do not `exist` become 0 (None: all exist). All threads of a `block` take turns. `what`: the name of
    the copied array and a space, for comments, or empty.
    """

    box: LocalBox
    source: Expr
    exist: Expr | None
    lanes: int
    precision: Precision
    block: tuple[int, ...]
    what: str

    @property
    def turns(self) -> int:
        """The number of turns of a thread, at most."""
        return -(-prod(self.box.box) // (self.lanes * prod(self.block)))

    def at_once(self) -> Node:
        """Return the copy, rounded."""
        if self._wide is not None:
            return self._in_turn(self._vector(self._wide), self._copied)
        stored: Expr = self._rounded(self.source)
        if self.exist is not None:
            zero: Expr = _ZERO if self.box.type == "float" else Int(0)
            stored = Select(self.exist, stored, zero)
        return self._in_turn((Assign(self._here, "", stored),), self._copied)

    def held(self, name: str) -> Declare:
        """Declare the registers `name` for a thread's part of a tile."""
        return Declare(name, "float", (self.turns, self.lanes) if self._wide is not None else (self.turns,))

    def loaded(self, name: str) -> Node:
        """Load a thread's part into the registers `name`."""
        first = self._register(name)
        if self._wide is not None:
            nodes: tuple[Node, ...] = (Assign(first, "", self._wide, wide=Wide("float", self.lanes)),)
            if self.exist is not None:
                nodes = (If(self.exist, nodes, tuple(Assign(one, "", _ZERO) for one in self._registers(name))),)
        else:
            value = self.source if self.exist is None else Select(self.exist, self.source, _ZERO)
            nodes = (Assign(first, "", value),)
        return self._in_turn(nodes, f"{self.box.name}: this thread loads its part of the next tile", unroll=self.turns)

    def stored(self, name: str) -> Node:
        """Store the registers `name` to the box, rounded."""
        nodes: tuple[Node, ...] = (Assign(self._here, "", self._rounded(self._register(name))),)
        if self._wide is not None:
            words = (Assign(Load(_WORDS, (Int(k),)), "", self._rounded(one))
                     for k, one in enumerate(self._registers(name)))
            nodes = (Declare(_WORDS, self.box.type, (self.lanes,)), *words, self._from_words())
        return self._in_turn(nodes, f"{self.box.name}: the next tile", unroll=self.turns)

    def started(self, place: Expr) -> Node:
        """Start the copy to one of the two places of the box, without rounding."""
        here = Load(self.box.name, (place, *self.box.index))
        note = f"{self.box.name}: this thread starts to copy its part of a tile"
        unroll = min(self.turns, MOST_UNROLLED)
        if not isinstance(self.source, Load):  # it has to be computed
            value = self.source if self.exist is None else Select(self.exist, self.source, _ZERO)
            return self._in_turn((Assign(here, "", value),), self._copied, unroll=unroll)
        wide = Wide("float", self.lanes) if self.lanes > 1 else None
        nodes: tuple[Node, ...] = (Assign(here, "", self.source, wide=wide, later=True),)
        if self.exist is not None:
            row, column = self.box.index
            nothing = (Assign(Load(self.box.name, (place, row, _plus(column, k))), "", _ZERO)
                       for k in range(self.lanes))
            nodes = (If(self.exist, nodes, tuple(nothing)),)
        return self._in_turn(nodes, note, unroll=unroll)

    @property
    def _here(self) -> Load:
        return Load(self.box.name, self.box.index)

    @property
    def _wide(self) -> Load | None:
        """The first of several neighbours that are loaded at once; None if elements are copied one by one."""
        return self.source if self.lanes > 1 and isinstance(self.source, Load) else None

    def _register(self, name: str, lane: int = 0) -> Load:
        return Load(name, (Name(_TURN), *([Int(lane)] if self._wide is not None else [])))

    def _registers(self, name: str) -> list[Load]:
        """Return the registers of a vector."""
        return [self._register(name, lane) for lane in range(self.lanes)]

    def _rounded(self, value: Expr) -> Expr:
        return Call(TO_WORD[self.precision], (value,))

    @property
    def _copied(self) -> str:
        return f"all threads copy {self.what}to {self.box.name} ({' x '.join(map(str, self.box.box))} elements)"

    def _vector(self, source: Load) -> tuple[Node, ...]:
        """Copy so many neighbours: load at once, round, store at once."""
        given = [Load(_PIECE, (Int(k),)) for k in range(self.lanes)]
        load: Node = Assign(given[0], "", source, wide=Wide("float", self.lanes))
        if self.exist is not None:
            load = If(self.exist, (load,), tuple(Assign(one, "", _ZERO) for one in given))
        rounded = (Assign(Load(_WORDS, (Int(k),)), "", self._rounded(one)) for k, one in enumerate(given))
        return (Declare(_PIECE, "float", (self.lanes,)), Declare(_WORDS, self.box.type, (self.lanes,)), load, *rounded,
                self._from_words())

    def _from_words(self) -> Assign:
        return Assign(self._here, "", Load(_WORDS, (Int(0),)), wide=Wide(self.box.type, self.lanes))

    def _in_turn(self, nodes: tuple[Node, ...], note: str, unroll: int = 0) -> Node:
        """Return `nodes` for every vector of a box: neighbouring threads have neighbours in a row. With an `unroll`
        factor, all threads have a constant number of turns.
        """
        (rows, row), count, turn = self.box.box, prod(self.block), Name(_TURN)
        row //= self.lanes
        first: Expr = Int(0)
        step, end, within = 1, -(-rows * row // count), True
        if count % row == 0:
            start, column = divided(self.block, row)
            at = start if end == 1 else Binary("+", start, Binary("*", Int(count // row), turn)), column
            within = rows % (count // row) == 0
        elif row % count == 0:
            each = row // count
            at = quotient(turn, each), Binary("+", _thread(self.block), Binary("*", Int(count), remainder(turn, each)))
        elif unroll:
            number = simplify(Binary("+", _thread(self.block), Binary("*", Int(count), turn)))
            at, within = (quotient(number, row), remainder(number, row)), rows * row % count == 0
        else:
            first, step, end, at = _thread(self.block), count, rows * row, (quotient(turn, row), remainder(turn, row))
        index = {name.name: simplify(place) for name, place in zip(self.box.index, at, strict=True)}
        index[self.box.index[1].name] = simplify(Binary("*", Int(self.lanes), index[self.box.index[1].name]))
        inside = map_expressions(nodes, lambda expr: substitute(expr, index))
        inside = inside if within else (If(Binary("<", index[self.box.index[0].name], Int(rows)), inside),)
        return For(turn.name, first, Binary("<", turn, Int(end)), step, inside, note, unroll=unroll)


def divided(block: Sequence[int], by: int) -> tuple[Expr, Expr]:
    """Return the quotient and the remainder of the number of a thread in its block."""
    names = thread_names(len(block))
    if by == block[-1]:
        return _number(names[:-1], block[:-1]), Name(names[-1])
    thread = _number(names, block)
    return quotient(thread, by), remainder(thread, by)


def _thread(block: Sequence[int]) -> Expr:
    """Return the number of a thread in its block."""
    return _number(thread_names(len(block)), block)


def _number(names: Sequence[str], sizes: Sequence[int]) -> Expr:
    """Return the number of a place in a box of `sizes`, counted row by row. `names`: its indices."""
    places = zip(names[1:], sizes[1:], strict=True)
    number: Expr = Name(names[0])
    for name, size in places:
        number = Binary("+", Binary("*", number, Int(size)), Name(name))
    return simplify(number)


def _plus(index: Expr, count: int) -> Expr:
    return index if count == 0 else Binary("+", index, Int(count))


def quotient(number: Expr, by: int) -> Expr:
    """Return `number / by`."""
    return number if by == 1 else Binary("/", number, Int(by))


def remainder(number: Expr, by: int) -> Expr:
    """Return `number % by`."""
    return Int(0) if by == 1 else Binary("%", number, Int(by))
