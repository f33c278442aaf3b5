"""Lowered kernels run in Python: blocks and threads in random order, barriers obeyed, every subscript checked.

Values are integers modulo a prime, so that any difference in what is computed shows, however operations round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, TypeAlias, assert_never

import numpy as np

from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Real, Select, Unary
from generator.lowering.kernel import LoweredKernel
from generator.nest import Assign, Barrier, Copy, For, If, Instance, Node
from generator.polyhedral.mapping import block_names, thread_names
from generator.program import Assignment, Program
from generator.variant import HostBranch, HostLoop, HostOp, Launch
from tests.support_programs import original_order

PRIME = 1_000_003
Element: TypeAlias = tuple[str, tuple[int, ...]]
Names: TypeAlias = Mapping[str, int]
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


class Memory:
    """Elements of arrays and shared copies; those that nobody wrote yet hold a value that depends on their place."""

    def __init__(self, program: Program) -> None:
        self.extents = {array.name: array.extents for array in program.arrays}
        self.values: dict[Element, int] = {}

    def check(self, array: str, index: tuple[int, ...]) -> Element:
        """The element, which must exist."""
        extents = self.extents[array]
        assert len(index) == len(extents), (array, index)
        assert all(0 <= i < n for i, n in zip(index, extents, strict=True)), f"{array}{list(index)} of {extents}"
        return array, index

    def load(self, array: str, index: tuple[int, ...]) -> int:
        """The value of an element."""
        element = self.check(array, index)
        code = sum((7 * k + 3) * (i + 11) for k, i in enumerate(index)) + sum(map(ord, array))
        return self.values.get(element, code * code % PRIME)

    def store(self, array: str, index: tuple[int, ...], value: int) -> None:
        """Overwrite an element."""
        self.values[self.check(array, index)] = value % PRIME

    def global_values(self, program: Program) -> dict[Element, int]:
        """What the program's own arrays hold, temporary ones left out."""
        visible = {array.name for array in program.arrays if array.role != "temp"}
        return {element: value for element, value in self.values.items() if element[0] in visible}


def evaluate(expr: Expr, names: Names, memory: Memory) -> int:
    """The value of an expression."""
    match expr:
        case Int(value):
            return value
        case Real(text):
            return int(float(text.rstrip("fF")) * 64)
        case Name(name):
            return names[name]
        case Load(array, index, _):
            return memory.load(array, tuple(evaluate(i, names, memory) for i in index))
        case Unary(op, operand):
            value = evaluate(operand, names, memory)
            return {"-": -value, "+": value, "!": int(not value), "~": ~value}[op]
        case Binary("&&", left, right):
            return int(bool(evaluate(left, names, memory)) and bool(evaluate(right, names, memory)))
        case Binary("||", left, right):
            return int(bool(evaluate(left, names, memory)) or bool(evaluate(right, names, memory)))
        case Binary(op, left, right):
            return _binary(op, evaluate(left, names, memory), evaluate(right, names, memory))
        case Select(condition, then, otherwise):
            return evaluate(then if evaluate(condition, names, memory) else otherwise, names, memory)
        case Cast(_, operand):
            return evaluate(operand, names, memory)
        case Call():
            raise AssertionError("the nests call no functions")
        case _:
            assert_never(expr)


def _binary(op: str, a: int, b: int) -> int:
    if op in _COMPARISONS:
        return int(_COMPARISONS[op](a, b))
    if op in ("min", "max"):
        return min(a, b) if op == "min" else max(a, b)
    if op in ("/", "%"):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if op == "/" else a - b * quotient
    return {"+": a + b, "-": a - b, "*": a * b}[op]


def assign(body: Assignment | Assign, names: Names, memory: Memory) -> None:
    """Execute one assignment."""
    value = evaluate(body.value, names, memory)
    index = tuple(evaluate(i, names, memory) for i in body.target.index)
    if body.op:
        value = _binary(body.op, memory.load(body.target.array, index), value)
    memory.store(body.target.array, index, value)


def run_original(program: Program) -> Memory:
    """The program in its original order."""
    memory = Memory(program)
    statements = {s.name: s for s in program.statements}
    for name, values in original_order(program):
        assign(statements[name].body, dict(zip(statements[name].iterators, values, strict=True)), memory)
    return memory


class Device:
    """Runs launches; everything that a device leaves open is drawn at random."""

    def __init__(self, program: Program, kernels: tuple[LoweredKernel, ...], rng: np.random.Generator) -> None:
        self.kernels = {k.kernel.name: k for k in kernels}
        self.memory, self.rng = Memory(program), rng

    def run(self, operations: tuple[HostOp, ...], names: Names) -> None:
        """The host program."""
        for operation in operations:
            match operation:
                case Launch(kernel, _, iterators):
                    values = [evaluate(i, names, self.memory) for i in iterators]
                    self.launch(self.kernels[kernel], values)
                case HostLoop(iterator, start, condition, step, body):
                    value = evaluate(start, names, self.memory)
                    while evaluate(condition, {**names, iterator: value}, self.memory):
                        self.run(body, {**names, iterator: value})
                        value += step
                case HostBranch(condition, then, otherwise):
                    self.run(then if evaluate(condition, names, self.memory) else otherwise, names)

    def launch(self, lowered: LoweredKernel, iterators: list[int]) -> None:
        """All blocks of one launch, in random order."""
        names = dict(zip(lowered.kernel.iterators, iterators, strict=True))
        blocks = list(product(*(range(n) for n in reversed(lowered.grid))))
        for number in self.rng.permutation(len(blocks)):
            self.block(lowered, {**names, **_named(block_names, blocks[number])})

    def block(self, lowered: LoweredKernel, names: Names) -> None:
        """The threads of a block, in a new random order after each barrier, which all must reach."""
        threads = list(product(*(range(n) for n in reversed(lowered.kernel.block))))
        running = [self.thread(lowered.body, {**names, **_named(thread_names, t)}) for t in threads]
        while running:
            reached = [next(running[k], None) for k in self.rng.permutation(len(running))]
            assert len(set(reached)) == 1, "some threads wait at a barrier that others never reach"
            if reached[0] is None:
                return

    def thread(self, nodes: tuple[Node, ...], names: Names) -> Iterator[str]:
        """One thread; yields at barriers."""
        for node in nodes:
            match node:
                case For():
                    value = evaluate(node.start, names, self.memory)
                    while evaluate(node.condition, {**names, node.iterator: value}, self.memory):
                        yield from self.thread(node.body, {**names, node.iterator: value})
                        value += node.step
                case If(condition, then, otherwise):
                    yield from self.thread(then if evaluate(condition, names, self.memory) else otherwise, names)
                case Assign():
                    assign(node, names, self.memory)
                case Copy():
                    self.copy(node, names)
                case Barrier():
                    yield "barrier"
                case Instance():
                    raise AssertionError("lowering replaces all instances")

    def copy(self, node: Copy, names: Names) -> None:
        """Fill a shared copy; every thread does all of it, which is the same since nobody writes the source."""
        corner = [evaluate(o, names, self.memory) for o in node.origin]
        self.memory.extents[node.local] = node.sizes
        for offset in product(*(range(n) for n in node.sizes)):
            index = tuple(c + o for c, o in zip(corner, offset, strict=True))
            skipped = any((low and i < 0) or (high and i >= n) for i, n, low, high in
                          zip(index, node.extents, node.below, node.above, strict=True))
            if not skipped:
                self.memory.store(node.local, offset, self.memory.load(node.array, index))


def _named(names: Callable[[int], tuple[str, ...]], values: tuple[Any, ...]) -> dict[str, int]:
    return dict(zip(names(len(values)), values, strict=True))
