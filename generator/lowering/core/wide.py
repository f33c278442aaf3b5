"""Vector accesses: adjacent elements that a thread loads or stores in one instruction, where that is equivalent.

                                       float B_wide[4];
                                       *(float4 *)&B_wide[0] = *(const float4 *)&B[4 * t1];
    for (int j = 0; j < 4; ++j) {      for (int j = 0; j < 4; ++j) {
        c[j] += a * B[4 * t1 + j];  ->     c[j] += a * B_wide[j];
    }                                  }

Two kinds of loops qualify: those over a run of neighbours of a thread, and loops that the plan unrolls by at least the
width, which are split into steps of the width. The first element of a vector and the rows of its array must be
multiples of the width; nothing in the loop may write the array, unless each iteration writes the element that it reads;
and either every iteration loads its element or none does. A loop that may end earlier is kept beside its vector
version, under a condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

from generator.expr import Binary, Expr, Int, Load, Name, Select, loads_of, map_children, names_of
from generator.linear import Residues, plain_form, residue, simplify, substitute
from generator.lowering.core.neighbours import Layout, Neighbours, written_in
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Barrier, For, If, Node, Shuffle, map_expressions, walk


def with_vectors(nodes: tuple[Node, ...], layouts: Mapping[str, Layout], width: int,
                 taken: set[str]) -> tuple[Node, ...]:
    """Return `nodes` with vector accesses to the arrays `layouts`, of at most `width` elements; new names go to
    `taken`.
    """
    return _Widener(layouts, width, taken).nodes(nodes, {})


@dataclass(frozen=True, slots=True)
class _Steps:
    """A loop of `count` iterations from `start` on, if `whole` holds (None: always)."""

    loop: For
    start: Expr
    count: int
    whole: Expr | None


@dataclass(slots=True)
class _Widener:
    layouts: Mapping[str, Layout]
    width: int
    taken: set[str]

    def nodes(self, nodes: tuple[Node, ...], known: Residues) -> tuple[Node, ...]:
        """Return `nodes` with vectors. `known`: residues of names."""
        return tuple(new for node in nodes for new in self._node(node, known))

    def _node(self, node: Node, known: Residues) -> tuple[Node, ...]:
        match node:
            case If(condition, then, otherwise):
                return (If(condition, self.nodes(then, known), self.nodes(otherwise, known)),)
            case For():
                return self._loop(node, known)
            case _:
                return (node,)

    def _loop(self, loop: For, known: Residues) -> tuple[Node, ...]:
        cut = self._cut(loop, known)
        if cut is not None:
            return cut
        rest = residue(loop.start, self.width, known) if loop.step % self.width == 0 else None
        inside = known if rest is None else {**known, loop.iterator: (rest, self.width)}
        return (replace(loop, body=self.nodes(loop.body, inside)),)

    def _cut(self, loop: For, known: Residues) -> tuple[Node, ...] | None:
        """Return the loop with vectors; None if there are none."""
        if loop.step != 1 or any(_stays(node) for node in walk(loop.body)):
            return None
        apart = _apart(loop)
        if apart is not None:
            condition, then, otherwise = apart
            inner = self._cut(then, known)
            other = () if otherwise is None else (otherwise,)
            return None if inner is None else (If(condition, inner, other),)
        for width in (self.width, self.width // 2):
            steps = _steps(loop, width) if width > 1 else None
            made = None if steps is None else self._vectors(steps, width, known)
            if steps is not None and made is not None:
                return made if steps.whole is None else (If(steps.whole, made, (loop,)),)
        return None

    def _vectors(self, steps: _Steps, width: int, known: Residues) -> tuple[Node, ...] | None:
        """Return the iterations of a loop, `width` at a time, with vectors; None if there are none."""
        loop, once = steps.loop, steps.count == width
        if not once and (loop.unroll < width or loop.unroll % width):
            return None
        first = steps.start if once else Name(loop.iterator)
        rest = residue(steps.start, width, known)
        here = known if once or rest is None else {**known, loop.iterator: (rest, width)}
        vectors = Neighbours(self.layouts, width, loop.iterator, first, here).found(loop.body, self.taken)
        if not vectors:
            return None
        same = once and first == Int(0)
        lane = Name(loop.iterator if same else fresh_name(f"{loop.iterator}_lane", self.taken))
        now = {loop.iterator: simplify(Binary("+", first, lane))}
        body = map_expressions(vectors.put_into(loop.body, lane), lambda expr: _plain(substitute(expr, now)))
        lanes = For(lane.name, Int(0), Binary("<", lane, Int(width)), 1, body, loop.note if same else "", width)
        inside = (*vectors.loads(), *self.nodes((lanes,), here), *vectors.stores())
        return inside if once else (replace(loop, step=width, body=inside, unroll=loop.unroll // width),)


def _stays(node: Node) -> bool:
    """Return whether iterations with this node must run one by one."""
    return isinstance(node, Barrier | Shuffle) or (isinstance(node, Assign) and node.later)


def _apart(loop: For) -> tuple[Expr, For, For | None] | None:
    """Return a condition that is the same in all iterations, with the loops where it holds and where not."""
    match loop.body:
        case (If(condition, then, otherwise),):
            pass
        case (Assign(target, op, Select(condition, left, right)),):
            then, otherwise = (Assign(target, op, left),), (Assign(target, op, right),)
        case _:
            return None
    written = written_in(loop.body)
    if loop.iterator in names_of(condition) or any(load.array in written for load in loads_of(condition)):
        return None
    return condition, replace(loop, body=then), replace(loop, body=otherwise) if otherwise else None


def _steps(loop: For, width: int) -> _Steps | None:
    """Return the loop as steps, if `width` divides the number of iterations."""
    match loop.condition:
        case Binary("<" | "<=" as op, Name(name), bound) if name == loop.iterator:
            pass
        case _:
            return None
    ends = [end if op == "<=" else simplify(Binary("-", end, Int(1))) for end in _operands("min", bound)]
    starts = list(_operands("max", loop.start))
    for start, end in product(starts, ends):
        count = simplify(Binary("+", Binary("-", end, start), Int(1)))
        if isinstance(count, Int) and count.value > 0 and count.value % width == 0:
            others = (*(Binary("<=", one, start) for one in starts if one is not start),
                      *(Binary("<=", end, one) for one in ends if one is not end))
            whole = reduce(lambda a, b: Binary("&&", a, b), others) if others else None
            exact = replace(loop, start=start, condition=Binary("<=", Name(loop.iterator), end)) if others else loop
            return _Steps(exact, start, count.value, whole)
    return None


def _operands(operator: str, bound: Expr) -> Iterator[Expr]:
    """Yield the operands of minima or maxima of minima or maxima."""
    match bound:
        case Binary(op, left, right) if op == operator:
            yield from _operands(operator, left)
            yield from _operands(operator, right)
        case _:
            yield bound


def _plain(expr: Expr) -> Expr:
    """Return `expr` with simplified subscripts."""
    if isinstance(expr, Load):
        return Load(expr.array, tuple(plain_form(i) or _plain(i) for i in expr.index), expr.access)
    return map_children(expr, _plain)
