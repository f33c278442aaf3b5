"""Arrays of a Program in Python, and statements that run on them in sequence."""

from __future__ import annotations

from typing import Any, TypeAlias

from generator.expr import Expr
from generator.nest import Assign
from generator.program import Assignment, Program
from tests.support.values import PRIME, Compiled, Function, Names, Number, common, compiled, converter, operate, wrap

Element: TypeAlias = tuple[str, tuple[int, ...]]


class Memory:
    """Elements of arrays; those not yet written have a value that depends on their place."""

    def __init__(self, program: Program) -> None:
        self.extents = {array.name: array.extents for array in program.arrays}
        self.types: dict[str, str] = {array.name: array.type for array in program.arrays}
        self.values: dict[Element, Any] = {}
        self._unwritten: dict[Element, Number] = {}
        self._functions: dict[int, tuple[Expr, Compiled]] = {}

    def check(self, array: str, index: tuple[int, ...]) -> Element:
        """Return the element, which must exist."""
        extents = self.extents[array]
        assert len(index) == len(extents), (array, index)
        for i, n in zip(index, extents, strict=True):
            if not 0 <= i < n:
                raise AssertionError(f"{array}{list(index)} is outside of {extents}")
        return array, index

    def load(self, array: str, index: tuple[int, ...]) -> Number:
        """Return the value of an element."""
        found = self.values.get((array, index))
        return self._first(array, index) if found is None else found

    def _first(self, array: str, index: tuple[int, ...]) -> Number:
        """Return the value of an element that nothing has written."""
        found = self._unwritten.get((array, index))
        if found is None:
            element = self.check(array, index)
            code = sum((7 * k + 3) * (i + 11) for k, i in enumerate(index)) + sum(map(ord, array))
            found = wrap(self.types[array], code * code % PRIME | 1)  # odd: integer products do not become 0 soon
            self._unwritten[element] = found
        return found

    def store(self, array: str, index: tuple[int, ...], value: Number) -> None:
        """Overwrite an element."""
        self.values[self.check(array, index)] = converter(self.types[array])(value)

    def global_values(self, program: Program) -> dict[Element, Any]:
        """Return the contents of the program's arrays, without temporary ones."""
        visible = {array.name for array in program.arrays if array.role != "temp"}
        return {element: value for element, value in self.values.items() if element[0] in visible}

    def compiled(self, expr: Expr) -> Compiled:
        """Return `expr` as a function of names and a memory like this one; cached."""
        if id(expr) not in self._functions:  # the value keeps the expression, and so its id
            self._functions[id(expr)] = expr, compiled(expr, self.types)
        return self._functions[id(expr)][1]

    def function(self, expr: Expr) -> Function:
        """Return the same without its type."""
        return self.compiled(expr)[1]


def evaluate(expr: Expr, names: Names, memory: Memory) -> int:
    """Return the value of an expression."""
    return memory.function(expr)(names, memory)  # type: ignore[no-any-return]  # a function made from text


def assign(body: Assignment | Assign, names: Names, memory: Memory) -> None:
    """Execute one assignment, ignoring its guard."""
    kind, function = memory.compiled(body.value)
    value = function(names, memory)
    index = tuple(evaluate(i, names, memory) for i in body.target.index)
    if body.op:
        kind = common(memory.types[body.target.array], kind)
        value = operate(kind, body.op, memory.load(body.target.array, index), value)
    memory.store(body.target.array, index, value)


def execute(body: Assignment, names: Names, memory: Memory) -> None:
    """Execute one assignment if its guard holds; its named values are computed when C computes them."""
    known = dict(names)
    for number, (name, value) in enumerate(body.lets):
        if number == body.before_guard and body.guard is not None and not evaluate(body.guard, known, memory):
            return
        known[name.name] = evaluate(value, known, memory)
    if body.before_guard < len(body.lets) or body.guard is None or evaluate(body.guard, known, memory):
        assign(body, known, memory)
