"""Points inside the sums of inline stages: a step of a sum is done for all points of a thread.

    for x: { s = 0; for r: s += w[r] * a[x][r]; out[x] = s; }      becomes      for x: s[x] = 0;
                                                                    for r: for x: s[x] += w[r] * a[x][r];
                                                                    for x: out[x] = s[x];

One after the other, each sum waits for its own additions, and loads all `w` again.

A thread's points are independent of each other, so any order of them is right as long as the order within each point
stays; every point has its own variables. The loops over points must run over all points; if it depends on the block or
the thread whether they do, both versions are printed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import TypeAlias

from generator.decisions.points_inside import MOST_TOGETHER
from generator.expr import Binary, Expr, Int, Load, Name, loads_of, map_children, names_of
from generator.linear import simplify
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Declare, For, If, Instance, Node, Note, expressions, map_expressions, rounds, walk
from generator.polyhedral.memory.mapping import Points


def marked_points(nodes: tuple[Node, ...], loops: Mapping[str, Mapping[Points, str]],
                  wanted: bool) -> tuple[tuple[Node, ...], bool]:
    """Return generated loops, if `wanted` with a mark (`For.spread`) at those over the points of a thread, and whether
    there are any.

    `loops` names them by statement.
    """
    if not wanted:
        return nodes, False
    counts = {name: {loop: points.count for points, loop in found.items()} for name, found in loops.items()}
    marked = tuple(_marked(node, counts) for node in nodes)
    return marked, any(isinstance(node, For) and node.spread > 0 for node in walk(marked))


def _marked(node: Node, counts: Mapping[str, Mapping[str, int]]) -> Node:
    match node:
        case For(body=body):
            found = {counts.get(n.name, {}).get(node.iterator) for n in walk(body) if isinstance(n, Instance)}
            [count] = found if len(found) == 1 else [None]  # another branch may use the name for another loop
            return replace(node, spread=count or 0, body=tuple(_marked(one, counts) for one in body))
        case If(condition, then, otherwise):
            return If(condition, tuple(_marked(one, counts) for one in then),
                      tuple(_marked(one, counts) for one in otherwise))
        case _:
            return node


def with_points_in_sums(nodes: tuple[Node, ...], outputs: Collection[str], taken: set[str]) -> tuple[Node, ...]:
    """Return `nodes` with marked loops inside of the loops that their bodies contain, where that is legal; no marks
    are left.

    `outputs`: the arrays in global memory. Of several marked loops in one another, the inner ones of at most
    MOST_TOGETHER points go inside. New names are added to `taken`.
    """
    found = list[Node]()
    for node in nodes:
        match node:
            case For(spread=0, body=body):
                found.append(replace(node, body=with_points_in_sums(body, outputs, taken)))
            case For():
                found += _of_points(node, outputs, taken)
            case If(condition, then, otherwise):
                found.append(If(condition, with_points_in_sums(then, outputs, taken),
                                with_points_in_sums(otherwise, outputs, taken)))
            case _:
                found.append(node)
    return tuple(found)


def _of_points(outer: For, outputs: Collection[str], taken: set[str]) -> tuple[Node, ...]:
    """Return a marked loop, with as many of the marked loops in it as possible inside its other loops."""
    nest = [outer]
    while len(nest[-1].body) == 1 and isinstance(one := nest[-1].body[0], For) and one.spread:
        nest.append(one)
    body = nest[-1].body
    if any(isinstance(node, For) and node.spread for node in walk(body)):
        return _around(nest, with_points_in_sums(body, outputs, taken))
    first = len(nest)
    while first and prod(loop.spread for loop in nest[first - 1:]) <= MOST_TOGETHER:
        first -= 1
    inner = nest[first:]
    spread = _Spread(tuple(inner), _written(body), taken)
    if not inner or not spread.fits or not _is_independent(body, outputs):
        return _around(nest, body)
    parts = spread.parts(body)
    if all(isinstance(part, _Leaf) for part in parts):
        return _around(nest, body)
    together = spread.together(parts)
    whole = spread.whole
    if whole is None:
        return _around(nest, body)
    return _around(nest[:first], (If(whole, together, _around(inner, body)),) if whole != Int(1) else together)


def _around(loops: Sequence[For], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body` in these loops, the outermost first, without marks."""
    for loop in reversed(loops):
        body = (replace(loop, spread=0, body=body),)
    return body


def _is_independent(body: tuple[Node, ...], outputs: Collection[str]) -> bool:
    """Return whether a point changes only its own elements of arrays in global memory, and variables that are declared
    for it. A variable from outside passes from point to point.
    """
    own = {node.name for node in walk(body) if isinstance(node, Declare)}
    allowed = own.union(outputs)
    return all(isinstance(node, Declare | For | If | Note) or
               (isinstance(node, Assign) and node.wide is None and not node.later and node.target.array in allowed)
               for node in walk(body))


def _written(body: tuple[Node, ...]) -> frozenset[str]:
    """Return the names of all that `body` changes."""
    own = {node.name for node in walk(body) if isinstance(node, Declare)}
    iterators = {node.iterator for node in walk(body) if isinstance(node, For)}
    return frozenset(own | iterators | {node.target.array for node in walk(body) if isinstance(node, Assign)})


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Nodes that each point runs one after the other."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Inside:
    """A loop that all points run together."""

    loop: For
    parts: tuple[_Part, ...]


_Part: TypeAlias = _Leaf | _Inside


@dataclass(frozen=True, slots=True)
class _Spread:
    """Loops over points that go inside others. `written`: the names of all that their body changes."""

    loops: tuple[For, ...]
    written: frozenset[str]
    taken: set[str]

    @property
    def iterators(self) -> frozenset[str]:
        """The names of the points' numbers."""
        return frozenset(loop.iterator for loop in self.loops)

    @property
    def counts(self) -> tuple[int, ...]:
        """The points in each loop."""
        return tuple(min(loop.spread, rounds(loop) or loop.spread) for loop in self.loops)

    @property
    def fits(self) -> bool:
        """Whether the loops count points from 0 on."""
        return all(loop.start == Int(0) and loop.step == 1 for loop in self.loops)

    @property
    def whole(self) -> Expr | None:
        """A condition that holds where the loops run over all points; None if there is none of a simple form."""
        tests = list[Expr]()
        for loop, count in zip(self.loops, self.counts, strict=True):
            match loop.condition:
                case Binary("<" | "<=" as op, Name(name), end) if name == loop.iterator and self._is_common(end):
                    tests += _above(op, count - 1, end)
                case _:
                    return None
        every = [test for test in tests if test != Int(1)]
        return reduce(lambda left, right: Binary("&&", left, right), every) if every else Int(1)

    def _is_common(self, expr: Expr) -> bool:
        """Return whether `expr` has the same value for all points, during all of the body."""
        names = names_of(expr) | {load.array for load in loads_of(expr)}
        return names.isdisjoint(self.iterators) and names.isdisjoint(self.written)

    def parts(self, body: tuple[Node, ...]) -> tuple[_Part, ...]:
        """Return `body` as loops with bounds that are common to all points, and what is between these."""
        found, leaf = list[_Part](), list[Node]()
        for node in body:
            if isinstance(node, For) and self._is_uniform(node):
                found += [_Leaf(tuple(leaf))] if leaf else []
                found.append(_Inside(node, self.parts(node.body)))
                leaf = []
            else:
                leaf.append(node)
        return (*found, _Leaf(tuple(leaf))) if leaf else tuple(found)

    def _is_uniform(self, loop: For) -> bool:
        """Return whether all points run the same iterations."""
        match loop.condition:
            case Binary("<" | "<=", Name(name), end) if name == loop.iterator and loop.step > 0:
                return self._is_common(loop.start) and self._is_common(end)
            case _:
                return False

    def together(self, parts: tuple[_Part, ...]) -> tuple[Node, ...]:
        """Return the loops over points inside the other loops, after the variables that pass between these."""
        leaves = tuple(_leaves(parts))
        declared = {node.name: node for leaf in leaves for node in leaf.nodes if isinstance(node, Declare)}
        used = [_mentioned(leaf.nodes) for leaf in leaves]
        names = {name: fresh_name(f"{name}_points", self.taken) for name in declared
                 if sum(name in one for one in used) > 1}
        first = (Declare(new, declared[old].type, (*self.counts, *declared[old].sizes), declared[old].note)
                 for old, new in names.items())
        return (*first, *(node for part in parts for node in self._nodes(part, names)))

    def _nodes(self, part: _Part, names: Mapping[str, str]) -> Iterator[Node]:
        """Yield a part for all points. `names`: those of variables with an element per point, by the old ones."""
        match part:
            case _Leaf(nodes):
                left = tuple(node for node in nodes if not (isinstance(node, Declare) and node.name in names))
                body = map_expressions(left, lambda expr: self._elements(expr, names))
                for loop, count in reversed(list(zip(self.loops, self.counts, strict=True))) if body else ():
                    body = (For(loop.iterator, Int(0), Binary("<", Name(loop.iterator), Int(count)), 1, body,
                                loop.note, points=count),)
                yield from body
            case _Inside(loop, inside):
                yield replace(loop, body=tuple(node for one in inside for node in self._nodes(one, names)))

    def _elements(self, expr: Expr, names: Mapping[str, str]) -> Expr:
        """Return `expr` with the element of its point for each variable."""
        changed = map_children(expr, lambda part: self._elements(part, names))
        if not isinstance(changed, Load) or changed.array not in names:
            return changed
        point = tuple(Name(loop.iterator) for loop in self.loops)
        return replace(changed, array=names[changed.array], index=(*point, *changed.index))


def _leaves(parts: Sequence[_Part]) -> Iterator[_Leaf]:
    for part in parts:
        match part:
            case _Leaf():
                yield part
            case _Inside(_, inside):
                yield from _leaves(inside)


def _mentioned(nodes: tuple[Node, ...]) -> frozenset[str]:
    return frozenset(load.array for node in walk(nodes) for expr in expressions(node) for load in loads_of(expr))


def _above(op: str, value: int, end: Expr) -> Iterator[Expr]:
    """Yield conditions that together mean `value op end`, without those that always hold."""
    match end:
        case Binary("min", left, right):
            yield from _above(op, value, left)
            yield from _above(op, value, right)
        case Int(most) if value < most + (op == "<="):
            pass
        case _:
            yield Binary(op, Int(value), simplify(end))
