"""Recurrences of one thread: the value of the previous iteration in a variable, not in memory (GPUs).

A scan `b[r] = f(b[r - 1], a[r])` waits in every step for what it has just written to memory, and compilers load nothing
ahead past that. With the value in a variable, the loop stores each element once and waits for arithmetic only:

    for (r = 1; r <= n; ++r)                  before = b[0];
      b[r] = f(b[r - 1], a[r]);               for (r = 1; r <= n; ++r) {
                                                now = f(before, a[r]); b[r] = now; before = now; }

This is so for every array of which an innermost loop writes one element per iteration, always, and reads that of the
previous iteration. No other thread writes these elements meanwhile: the schedule is legal, and the loop has no
barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from generator.expr import (
    Binary,
    Expr,
    Fold,
    Int,
    Load,
    Name,
    Select,
    evaluate,
    loads_of,
    map_children,
    names_of,
    parts,
)
from generator.linear import is_plain, is_sum, simplify, substitute, terms
from generator.lowered_kernel import LoweredKernel
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Declare, For, If, Node, Note, expressions, walk
from generator.program import Array

AT_ONCE, MOST_PARTS = 32, 80
"""Iterations that are unrolled, so that a compiler loads for all of them before it stores, where the plan has no unroll
factor; not those with more operators, numbers and names.
"""
_TYPES = ("float", "double", "int", "unsigned int", "long", "unsigned long")


def with_carried(kernel: LoweredKernel) -> LoweredKernel:
    """Return the kernel with the values of recurrences in variables."""
    taken = {name for node in walk(kernel.body) for name in _names(node)} | {box.name for box in kernel.shared}
    taken |= {*kernel.outer, *(array.name for array in (*kernel.arrays, *kernel.scalars))}
    arrays = [array for array in kernel.arrays if array.type in _TYPES and array.extents]
    body = tuple(_rewritten(kernel.body, arrays, taken))
    return kernel if body == kernel.body else replace(kernel, body=body)


def _names(node: Node) -> Iterator[str]:
    match node:
        case For(iterator):
            yield iterator
        case Declare(name):
            yield name
        case _:
            pass
    for expr in expressions(node):
        for part in parts(expr):
            if isinstance(part, Name):
                yield part.name


def _rewritten(nodes: tuple[Node, ...], arrays: Iterable[Array], taken: set[str]) -> Iterator[Node]:
    for node in nodes:
        match node:
            case If(condition, then, otherwise):
                yield If(condition, tuple(_rewritten(then, arrays, taken)), tuple(_rewritten(otherwise, arrays, taken)))
            case For() if any(isinstance(inner, For) for inner in walk(node.body)):
                yield replace(node, body=tuple(_rewritten(node.body, arrays, taken)))
            case For():
                yield from _with_variables(node, arrays, taken)
            case _:
                yield node


def _with_variables(loop: For, arrays: Iterable[Array], taken: set[str]) -> Iterator[Node]:
    """Yield `loop`, with what comes before it."""
    before: list[Node] = []
    for array in arrays:
        found = _Recurrence.of(loop, array)
        if found is not None:
            first, loop = found.carried(loop, taken)
            before += first
    if before and loop.unroll == 1 and not loop.rolled:
        size = sum(1 for node in walk(loop.body) for expr in expressions(node) for _ in parts(expr))
        loop = replace(loop, unroll=AT_ONCE if size <= MOST_PARTS else 1)
    yield from (*before, loop)


class _Different(Exception):
    """The loop is no such recurrence."""


@dataclass
class _Recurrence:
    """The recurrence of a loop in `array`, which writes `element` in every iteration.

    `earliest`: for each use of the previous value, whether the first iteration uses it, too.
    """

    loop: For
    array: Array
    element: tuple[Expr, ...]
    earliest: list[bool] = field(default_factory=list)

    @classmethod
    def of(cls, loop: For, array: Array) -> _Recurrence | None:
        """Return the recurrence; None if the loop has none, or it is not certain."""
        writes = [node.target for node in walk(loop.body) if isinstance(node, Assign)
                  and node.target.array == array.name]
        plain = all(isinstance(node, Assign | If | Declare | Note) for node in walk(loop.body))
        wide = any(isinstance(node, Assign) and (node.wide or node.later or node.any_order) for node in walk(loop.body))
        if not writes or not plain or wide or loop.step != 1 or loop.vector or loop.points:
            return None
        if any(target.index != writes[0].index for target in writes) or not all(map(is_sum, writes[0].index)):
            return None
        found = cls(loop, array, writes[0].index)
        try:
            found._body(loop.body, "now", "before")
        except _Different:
            return None
        return found if found.earliest else None

    def carried(self, loop: For, taken: set[str]) -> tuple[list[Node], For]:
        """Return what sets the value before the first iteration, and `loop` with variables."""
        now, before = (fresh_name(f"{self.array.name}_{which}", taken) for which in ("now", "before"))
        body = self._body(loop.body, now, before)
        body = (Declare(now, self.array.type, ()), *body, Assign(Load(self.array.name, self.element), "", Load(now)),
                Assign(Load(before), "", Load(now)))
        first: list[Node] = [Declare(before, self.array.type, ())]
        zero = Assign(Load(before), "", Int(0))
        if not any(self.earliest):
            first.append(zero)
        else:
            start = {loop.iterator: simplify(Binary("-", loop.start, Int(1)))}
            value = Load(self.array.name, tuple(simplify(substitute(index, start)) for index in self.element))
            runs = simplify(substitute(loop.condition, {loop.iterator: loop.start}))
            read = Assign(Load(before), "", value)
            always = is_plain(runs) and not names_of(runs) and evaluate(runs, {})
            first += [read] if always else [zero, If(runs, (read,))]
        return first, replace(loop, body=body)

    def _body(self, nodes: tuple[Node, ...], now: str, before: str) -> tuple[Node, ...]:
        """Return the body with variables. Raises _Different unless its first write is unconditional."""
        self.earliest = []
        made, known = [], False
        for node in nodes:
            made.append(self._node(node, now, before, known, True))
            known |= isinstance(node, Assign) and node.target.array == self.array.name
        return tuple(made)

    def _node(self, node: Node, now: str, before: str, known: bool, runs_first: bool | None) -> Node:
        """Return a node; `known`: the element is in the variable `now`; `runs_first`: also in the first iteration
        (None: perhaps).
        """
        def value(expr: Expr) -> Expr:
            return self._expression(expr, now if known else "", before, runs_first)

        match node:
            case Assign(target, op, given):
                own = target.array == self.array.name
                if own and (not known and (op or not runs_first)):
                    raise _Different
                index = tuple(map(value, target.index))
                return replace(node, target=Load(now) if own else replace(target, index=index), value=value(given))
            case If(condition, then, otherwise):
                if not known and any(isinstance(inner, Assign) and inner.target.array == self.array.name
                                     for inner in walk((*then, *otherwise))):
                    raise _Different
                holds = self._in_first(condition)
                fails = None if holds is None else not holds
                inside = (tuple(self._node(n, now, before, known, runs_first and also) for n in inner)
                          for inner, also in ((then, holds), (otherwise, fails)))
                return If(value(condition), *inside)
            case _:
                return node

    def _in_first(self, condition: Expr) -> bool | None:
        """Return whether `condition` holds in the first iteration; None if it is not a constant."""
        match simplify(substitute(condition, {self.loop.iterator: self.loop.start})):
            case Binary("<" | "<=" | ">" | ">=" | "==" | "!=" as op, Int(left), Int(right)):
                return _COMPARED[op](left, right)
            case _:
                return None

    def _expression(self, expr: Expr, now: str, before: str, runs_first: bool | None) -> Expr:
        """Return `expr` with variables; `now`: empty if the element is still in memory."""
        match expr:
            case Load(array, index) if array == self.array.name:
                if any(load.array == array for inner in index for load in loads_of(inner)):
                    raise _Different
                distance = self._distance(index)
                if distance == "previous":
                    if runs_first is None:
                        raise _Different  # the element before the first one may not exist
                    self.earliest.append(runs_first)
                    return Load(before)
                return Load(now) if distance == "same" and now else expr
            case Select() | Fold() if any(load.array == self.array.name for load in loads_of(expr)):
                raise _Different  # whether the previous element exists may depend on the condition, or on the range
            case Binary("&&" | "||", _, _) if any(load.array == self.array.name for load in loads_of(expr)):
                raise _Different
            case _:
                return map_children(expr, lambda child: self._expression(child, now, before, runs_first))

    def _distance(self, index: tuple[Expr, ...]) -> str:
        """Return whether `index` is the same element, the `previous` or another one. Raises _Different if unknown."""
        step = {self.loop.iterator: Binary("-", Name(self.loop.iterator), Int(1))}
        apart = [_constant(given, own) for given, own in zip(index, self.element, strict=True)]
        last = [_constant(given, substitute(own, step)) for given, own in zip(index, self.element, strict=True)]
        if None in apart:
            raise _Different
        if not any(apart):
            return "same"
        return "other" if any(last) or None in last else "previous"


def _constant(given: Expr, own: Expr) -> int | None:
    """Return the difference of two subscripts; None if it is not constant."""
    if not is_sum(given):
        return None
    left = {key: number for key, number in terms(Binary("-", given, own)).items() if number or key is None}
    return left.get(None, 0) if left.keys() <= {None} else None


_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__}
