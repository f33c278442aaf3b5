"""Loops of at most one iteration as conditions, and those of exactly one as plain statements.

    for (int e0 = t0; e0 < 4; e0 += 8) box[e0] = a[e0];       ->   if (t0 < 4) box[t0] = a[t0];
    for (int e0 = t0; e0 < 32; e0 += 32) box[e0] = a[e0];     ->   box[t0] = a[t0];   // blocks have 32 threads

The text is simpler, and Intel's CPU runtime (2026.22.10) miscompiles some of these loops with 16-bit elements
(docs/compilers.md). A loop is rewritten only if the ranges of indices and iterators prove it: interval arithmetic of
`last - start`, whose common terms cancel, compared with the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from generator.arithmetic import c_type
from generator.expr import Binary, Expr, Fold, Int, Load, Name, Select, loads_of, map_children, names_of
from generator.intervals import Interval, Intervals
from generator.linear import Terms, combination, is_sum, plain_form, terms
from generator.lowered_kernel import LoweredKernel
from generator.nest import (
    Assign,
    Atomic,
    Barrier,
    Declare,
    For,
    Fragments,
    If,
    Node,
    Note,
    Receive,
    Shuffle,
    Streamed,
    expressions,
    map_expressions,
    rounds,
    walk,
)

Ranges = Mapping[str, Interval]
"""The least and the greatest value of indices and iterators."""
MOST_TERMS = 3
"""A start that is a sum of more terms is held in a variable, because the iterator may be mentioned often."""
MOST_CASES = 4
"""The most nested minima, maxima and choices that are told apart."""
SIGNED = frozenset(["char", "short", "int", "long"])


class _CapturedError(Exception):
    """A name of the start means something else inside the loop."""


def without_short_loops(kernel: LoweredKernel) -> tuple[Node, ...]:
    """Return the body of `kernel` without loops that are known to have at most one iteration."""
    indices = zip("bt", (kernel.grid, kernel.block), strict=True)
    ranges = {f"{letter}{d}": (0, n - 1) for letter, sizes in indices for d, n in enumerate(reversed(sizes))}
    types: dict[str, str] = {array.name: array.type for array in (*kernel.arrays, *kernel.scalars)}
    types |= {box.name: box.type for box in kernel.shared}
    declared: dict[str, str] = {node.name: node.type for node in walk(kernel.body) if isinstance(node, Declare)}
    changing = frozenset(name for node in walk(kernel.body) for name in _written(node))
    return _Shortening(Intervals({}, declared | types), frozenset(types), changing).nodes(kernel.body, ranges)


@dataclass(frozen=True, slots=True)
class _Bound:
    """A condition in the first iteration: `value >= 0`, or `value > 0` if `strict`. `last`: what the iterator is
    compared with.
    """

    value: Expr
    strict: bool
    last: Expr


@dataclass(frozen=True, slots=True)
class _Shortening:
    """`taken`: names of arrays. `changing`: names of arrays and variables that the kernel writes."""

    intervals: Intervals
    taken: frozenset[str]
    changing: frozenset[str]

    def nodes(self, nodes: Sequence[Node], ranges: Ranges) -> tuple[Node, ...]:
        """Return `nodes`; `ranges` are those of the names around them."""
        found: list[Node] = []
        for node in nodes:
            match node:
                case If(condition, then, otherwise):
                    found.append(If(condition, self.nodes(then, self._where(condition, True, ranges)),
                                    self.nodes(otherwise, self._where(condition, False, ranges))))
                case For():
                    found += self._loop(node, nodes, ranges)
                case _:
                    found.append(node)
        return tuple(found)

    def _where(self, condition: Expr, holds: bool, ranges: Ranges) -> Ranges:
        narrowed = self.intervals.narrowed(condition, holds, ranges)
        return {name: one for name, one in narrowed.items() if one[0] <= one[1] and name not in self.changing}

    def _loop(self, loop: For, siblings: Sequence[Node], ranges: Ranges) -> tuple[Node, ...]:
        count = rounds(loop)
        short = self._short(loop, siblings, ranges) if count is None or count <= 1 else None
        if short is not None:
            return short
        if not any(isinstance(node, For) for node in walk(loop.body)):
            return (loop,)
        inside = {name: one for name, one in ranges.items() if name != loop.iterator}
        values = self._values(loop, ranges)
        if values is not None:
            inside[loop.iterator] = values
        return (replace(loop, body=self.nodes(loop.body, inside)),)

    def _short(self, loop: For, siblings: Sequence[Node], ranges: Ranges) -> tuple[Node, ...] | None:
        """Return what replaces a loop of at most one iteration; None for other loops."""
        bounds = _bounds(loop)
        compared = (loop.start, *(bound.last for bound in bounds))
        if loop.vector or not bounds or not {c_type(expr, self.intervals.types) for expr in compared} <= SIGNED:
            return None
        spans = [self._range(bound.value, ranges) for bound in bounds]
        if all(high - bound.strict >= abs(loop.step) for (_, high), bound in zip(spans, bounds, strict=True)):
            return None
        tests = dict.fromkeys(test for bound in bounds for test in self._tests(bound, ranges))
        if tests and any(isinstance(one, Barrier | Shuffle | Receive | Fragments) for one in walk(loop.body)):
            return None  # all threads must reach it, and compilers know that of loops only
        if _changes(loop):
            return None
        note = (Note(loop.note),) if loop.note else ()
        body = self._body(loop, ranges)
        if body is None:
            return None
        if not tests:
            return None if self._clashes(body, loop, siblings) else (*note, *body)
        return *note, If(reduce(lambda left, right: Binary("&&", left, right), tests), body)

    def _body(self, loop: For, ranges: Ranges) -> tuple[Node, ...] | None:
        """Return the body of the only iteration; None if names would be captured."""
        inside = {name: one for name, one in ranges.items() if name != loop.iterator}
        if not is_sum(loop.start) or sum(map(bool, terms(loop.start).values())) > MOST_TERMS:
            inside[loop.iterator] = self._range(loop.start, ranges)
            return (Declare(loop.iterator, "int", ()), Assign(Load(loop.iterator), "", loop.start),
                    *self.nodes(loop.body, inside))
        bound = {name for node in walk(loop.body) for name in _declared(node)}
        if bound & {loop.iterator, *names_of(loop.start)}:
            return None
        try:
            return self.nodes(map_expressions(loop.body, _Putting(loop.iterator, loop.start, {}).put), inside)
        except _CapturedError:
            return None

    def _clashes(self, body: tuple[Node, ...], loop: For, siblings: Sequence[Node]) -> bool:
        """Return whether variables of `body` would be known to siblings of the loop by another meaning."""
        own = {name for node in body for name in _declared(node) if isinstance(node, Declare)}
        if not own:
            return False
        others = [node for sibling in siblings if sibling is not loop for node in walk((sibling,))]
        used = {name for node in others for name in (*_declared(node), *_mentioned(node))}
        return bool(own & (used | self.taken))

    def _values(self, loop: For, ranges: Ranges) -> Interval | None:
        """Return the range of the iterator inside the loop; None if it is not known, or there are no iterations."""
        bounds, first = _bounds(loop), self._range(loop.start, ranges)
        lasts = [self._range(bound.last, ranges) for bound in bounds]
        if not bounds:
            return None
        if loop.step > 0:
            low, high = first[0], min(most - bound.strict for (_, most), bound in zip(lasts, bounds, strict=True))
        else:
            low, high = max(least + bound.strict for (least, _), bound in zip(lasts, bounds, strict=True)), first[1]
        return (low, high) if low <= high else None

    def _range(self, expr: Expr, ranges: Ranges, cases: int = MOST_CASES) -> Interval:
        """Return the range of an integer expression."""
        form = terms(expr)
        choice = _choice(form) if cases else None
        if choice is None:
            return self._sum_range(form, ranges)
        match choice:
            case Select(test, then, otherwise):
                one = self._range(_instead(form, choice, then), self._where(test, True, ranges), cases - 1)
                two = self._range(_instead(form, choice, otherwise), self._where(test, False, ranges), cases - 1)
                return min(one[0], two[0]), max(one[1], two[1])
            case Binary(_, left, right):
                one, two = (self._range(_instead(form, choice, side), ranges, cases - 1) for side in (left, right))
                pick = min if _is_least(form, choice) else max
                return pick(one[0], two[0]), pick(one[1], two[1])
            case _:
                raise AssertionError("a choice is a minimum, a maximum or a Select")

    def _sum_range(self, form: Terms, ranges: Ranges) -> Interval:
        low = high = form.get(None, 0)
        for atom, factor in _named(form).items():
            known = ranges.get(atom.name) if isinstance(atom, Name) else None
            least, most = known if known is not None else self.intervals.integer(atom, ranges)
            ends = factor * least, factor * most
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _tests(self, bound: _Bound, ranges: Ranges) -> Iterator[Expr]:
        """Yield comparisons that together say that `bound` holds, without those that always do."""
        if self._range(bound.value, ranges)[0] >= bound.strict:
            return
        form = terms(bound.value)
        choice = _choice(form)
        if isinstance(choice, Binary) and _is_least(form, choice):
            for side in (choice.left, choice.right):
                yield from self._tests(replace(bound, value=_instead(form, choice, side)), ranges)
            return
        constant = form.get(None, 0)
        left = {atom: -factor for atom, factor in _named(form).items() if factor < 0}
        right = {atom: factor for atom, factor in _named(form).items() if factor > 0}
        if left:
            yield Binary("<" if bound.strict else "<=", combination(left, 0), combination(right, constant))
        else:
            yield Binary(">" if bound.strict else ">=", combination(right, 0), Int(-constant))


def _bounds(loop: For) -> list[_Bound]:
    """Return the parts of the loop's condition; empty if one of them is of another kind."""
    waiting, found = [loop.condition], list[_Bound]()
    while waiting:
        match waiting.pop():
            case Binary("&&", left, right):
                waiting += (right, left)
            case Binary("<" | "<=" as op, Name(name), last) if name == loop.iterator and loop.step > 0:
                found.append(_Bound(Binary("-", last, loop.start), op == "<", last))
            case Binary(">" | ">=" as op, Name(name), last) if name == loop.iterator and loop.step < 0:
                found.append(_Bound(Binary("-", loop.start, last), op == ">", last))
            case _:
                return []
    return found


def _named(form: Terms) -> dict[Expr, int]:
    return {atom: factor for atom, factor in form.items() if atom is not None and factor}


def _choice(form: Terms) -> Expr | None:
    """Return a minimum, a maximum or a Select among the terms; None if there is none."""
    for atom in _named(form):
        match atom:
            case Binary("min" | "max") | Select():
                return atom
            case _:
                pass
    return None


def _is_least(form: Terms, choice: Binary) -> bool:
    """Return whether the sum is the least of its two values, not the greatest."""
    return (choice.op == "min") == (form[choice] > 0)


def _instead(form: Terms, choice: Expr, chosen: Expr) -> Expr:
    """Return the sum with `chosen` in place of the term `choice`."""
    rest = {atom: factor for atom, factor in _named(form).items() if atom != choice}
    return Binary("+", combination(rest, form.get(None, 0)), Binary("*", Int(form[choice]), chosen))


def _changes(loop: For) -> bool:
    """Return whether an iteration may change what the loop's start and condition read, or its iterator."""
    loads = {load.array for expr in (loop.start, loop.condition) for load in loads_of(expr)}
    read = loads | {name for expr in (loop.start, loop.condition) for name in names_of(expr)}
    return not read.isdisjoint(name for node in walk(loop.body) for name in _written(node))


def _written(node: Node) -> Iterator[str]:
    match node:
        case Assign(target=target) | Atomic(target=target) | Streamed(target=target):
            yield target.array
        case Shuffle(variable=variable) | Receive(variable=variable):
            yield variable.array
        case Declare(name=name):
            yield name
        case _:
            pass


def _declared(node: Node) -> Iterator[str]:
    match node:
        case For(iterator=name) | Declare(name=name):
            yield name
        case _:
            pass


def _mentioned(node: Node) -> Iterator[str]:
    for expr in expressions(node):
        yield from names_of(expr)
        yield from (load.array for load in loads_of(expr))


@dataclass(frozen=True, slots=True)
class _Putting:
    """Puts the value of an iterator into expressions. `done`: those that were met, by identity."""

    iterator: str
    value: Expr
    done: dict[int, tuple[Expr, Expr]]

    def put(self, expr: Expr) -> Expr:
        """Return `expr` with the value."""
        if id(expr) not in self.done:
            self.done[id(expr)] = expr, self._put(expr)
        return self.done[id(expr)][1]

    def _put(self, expr: Expr) -> Expr:
        if isinstance(expr, Name):
            return self.value if expr.name == self.iterator else expr
        if isinstance(expr, Fold):
            bound = {one[0].name for one in expr.changes} | {name.name for name, _ in expr.lets} | {expr.iterator.name}
            if bound & {self.iterator, *names_of(self.value)}:
                raise _CapturedError
        changed = map_children(expr, self.put)
        if changed is expr or isinstance(self.value, Name):
            return changed
        return plain_form(changed) or changed
