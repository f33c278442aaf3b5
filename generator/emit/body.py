"""Print the loops, statements and barriers of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from generator.emit.atomics import atomic_name
from generator.emit.cstyle import FACTOR, Printer
from generator.emit.folds import FoldWriter
from generator.emit.later import COPY, WAIT
from generator.emit.streams import STORE, row_name
from generator.emit.tensor_cores import fragment_lines
from generator.emit.words import ANY_ORDER, VECTOR, First, Words
from generator.expr import Binary, Fold, Int, Load, Name
from generator.linear import simplify
from generator.nest import (
    Assign,
    Atomic,
    Barrier,
    Declare,
    For,
    Fragments,
    If,
    Instance,
    Node,
    Note,
    Receive,
    Shuffle,
    Streamed,
    Wide,
    apply,
    expressions,
    walk,
)


@dataclass(frozen=True, slots=True)
class BodyWriter:
    """Prints the body of a kernel. `alone`: its block has one thread.

    `aligned`: arrays with their alignment in bytes. `elsewhere`: arrays whose elements are read one by one, even by
    wide accesses. `element_bytes`: those of arrays in shared memory. `streamed`: arrays that are written past the
    caches. `outside`: arrays in global memory.
    """

    printer: Printer
    words: Words
    alone: bool
    aligned: Mapping[str, int] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()
    element_bytes: Mapping[str, int] = field(default_factory=dict)
    streamed: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()

    def lines(self, nodes: tuple[Node, ...], depth: int) -> Iterator[str]:
        """The text of `nodes`, indented by `depth`."""
        pad = "  " * depth
        for node in nodes:
            match node:
                case For():
                    yield from self._loop(node, depth)
                case If(condition, then, otherwise):
                    yield f"{pad}if ({self.printer.text(condition)}) {{"
                    yield from self.lines(then, depth + 1)
                    if otherwise:
                        yield f"{pad}}} else {{"
                        yield from self.lines(otherwise, depth + 1)
                    yield f"{pad}}}"
                case Assign(value=Fold() as fold) | Atomic(value=Fold() as fold):
                    yield f"{pad}{{"
                    yield from FoldWriter(self.printer, self.words).lines(fold, depth + 1)
                    yield from self.lines((replace(node, value=fold.total),), depth + 1)
                    yield f"{pad}}}"
                case Assign(later=True):
                    yield from (pad + line for line in self._later(node))
                case Assign():
                    yield from (pad + line for line in self._assignment(node))
                case Atomic() | Streamed():
                    yield pad + self._call(node)
                case Barrier():
                    yield from (pad + line for line in self._barrier(node))
                case Declare() | Note():
                    yield pad + self._declaration(node)
                case Shuffle():
                    yield from self._shuffle(node, depth)
                case Receive():
                    yield pad + self._receive(node)
                case Fragments():
                    yield from (pad + line for line in self._fragments(node))
                case Instance(name, _):
                    raise AssertionError(f"the instance of {name} was not lowered")
                case _:
                    assert_never(node)

    def _call(self, node: Atomic | Streamed) -> str:
        text = self.printer.text
        if isinstance(node, Streamed):
            return f"{row_name(node.type)}(&{text(node.target)}, &{text(node.source)}, {text(node.count)});"
        name = atomic_name(node.operator, node.type, node.shared, self.words)
        return f"{name}(&{text(node.target)}, {text(node.value)});"

    def _fragments(self, node: Fragments) -> Iterator[str]:
        place = "" if node.place is None else f"[{self.printer.text(node.place)}]"
        return fragment_lines(node, self.printer.text(node.warp, FACTOR), place)

    def _receive(self, node: Receive) -> str:
        variable, source, lane = map(self.printer.text, expressions(node))
        return f"{variable} = {self.words.from_lane.format(value=source, lane=lane)};"

    def _barrier(self, node: Barrier) -> Iterator[str]:
        if node.copies:
            yield f"{WAIT}();"
        block = self.words.array_barrier if node.arrays else self.words.barrier
        yield block if node.level == "block" else self.words.sub_group_barrier

    def _declaration(self, node: Declare | Note) -> str:
        if isinstance(node, Note):
            return f"// {node.text}"
        aligned = self.words.aligned.format(bytes=self.aligned[node.name]) if node.name in self.aligned else ""
        sizes, note = "".join(f"[{n}]" for n in node.sizes), f" // {node.note}" if node.note else ""
        return f"{aligned}{self.words.type(node.type)} {node.name}{sizes};{note}"

    def _loop(self, node: For, depth: int) -> Iterator[str]:
        pad = "  " * depth
        if node.in_order:
            yield f"{pad}#pragma clang loop vectorize(disable)"
        if node.vector and self.alone and self.words.vector:
            yield f"{pad}{VECTOR}({node.unroll})"
        elif node.rolled:
            yield f"{pad}#pragma unroll 1"
        elif node.unroll > 1 and (
            self.words.factors_around_barriers
            or node.wanted > 1  # the plan names this loop, which `check_unrollable` has allowed
            or not any(isinstance(n, Barrier) for n in walk(node.body))
        ):
            yield f"{pad}#pragma unroll {node.unroll}"
        single = {1: "++", -1: "--"}.get(node.step)
        step = f"{single}{node.iterator}" if single else f"{node.iterator} += {node.step}"
        note = f" // {node.note}" if node.note else ""
        start, condition = f"int {node.iterator} = {self.printer.text(node.start)}", self.printer.text(node.condition)
        if node.once:
            assert isinstance(node.condition, Binary) and node.condition.left == Name(node.iterator)
            start += f", last{depth} = {self.printer.text(node.condition.right)}"
            condition = f"{node.iterator} {node.condition.op} last{depth}"
        yield f"{pad}for ({start}; {condition}; {step}) {{{note}"
        yield from self.lines(node.body, depth + 1)
        yield f"{pad}}}"

    def _assignment(self, node: Assign) -> Iterator[str]:
        if node.wide is not None and isinstance(node.value, Load):
            yield from self._wide(node.target, node.value, node.wide)
            return
        text = f"{self.printer.text(node.target)} {node.op}= {self.printer.text(node.value)};"
        if node.target.array in self.streamed and not node.op:
            text = f"{STORE}({self.printer.text(node.target)}, {self.printer.text(node.value)});"
        in_vectors = node.any_order and self.alone and self.words.any_order
        yield from ("{", f"  {ANY_ORDER}", f"  {text}", "}") if in_vectors else (text,)

    def _later(self, node: Assign) -> Iterator[str]:
        """Print an asynchronous copy; an array outside of global memory is copied synchronously."""
        assert isinstance(node.value, Load)
        if node.value.array in self.elsewhere:
            yield from self._assignment(replace(node, later=False))
            return
        size = node.wide.bytes if node.wide else self.element_bytes[node.target.array]
        yield f"{COPY}<{size}>(&{self.printer.text(node.target)}, &{self.printer.text(node.value)});"

    def _wide(self, target: Load, source: Load, wide: Wide) -> Iterator[str]:
        """Print an access to several elements at once."""
        text = self.printer.text
        if source.array not in self.elsewhere:
            copied = self.words.wide_stream if target.array in self.streamed else self.words.wide
            yield copied(wide.type, wide.lanes, self._first(target), self._first(source))
            return
        for lane in range(wide.lanes):
            yield f"{text(_behind(target, lane))} = {text(_behind(source, lane))};"

    def _first(self, load: Load) -> First:
        text = self.printer.text(load)
        if load.array in self.outside:
            return First(text, "global")
        return First(text, "shared" if load.array in self.element_bytes else "private")

    def _shuffle(self, shuffle: Shuffle, depth: int) -> Iterator[str]:
        """Exchange with ever nearer neighbours: after the last step all threads have the result."""
        value, lanes = shuffle.variable, shuffle.lanes // 2
        while lanes:
            text = self.words.shuffle.format(value=self.printer.text(value), lanes=lanes)
            step = apply(value, shuffle.operator, Name(text), shuffle.type)
            yield from self.lines((step,), depth)
            lanes //= 2


def _behind(load: Load, count: int) -> Load:
    """Return the element at distance `count` in the row."""
    return Load(load.array, (*load.index[:-1], simplify(Binary("+", load.index[-1], Int(count)))), load.access)
