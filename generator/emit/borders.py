"""Split loops along rows of images where clamped subscripts reach a border.

    for (int x = 0; x <= 641; ++x) out[x] = in[max(min(x - 1, 639), 0)];

reads elements that compilers gather one by one, because they need not be neighbours. Inside the borders they are:

    for (int x = 0; x <= 0; ++x) out[x] = in[max(min(x - 1, 639), 0)];
    for (int x = 1; x <= 640; ++x) out[x] = in[x - 1];
    for (int x = 641; x <= 641; ++x) out[x] = in[max(min(x - 1, 639), 0)];

(Halide's compiler does the same and calls it loop partitioning.) Loops in which an iterator chooses between values,
`x < 256 ? low[max(min(x, 255), 0)] : high[max(min(x - 256, 255), 0)]`, are first split there. Done for long loops of a
thread that is alone in its block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from generator.expr import Binary, Expr, Int, Load, Name, Select, loads_of, map_children, names_of, parts
from generator.linear import is_plain, simplify, substitute
from generator.nest import Assign, Atomic, Declare, For, If, Node, Note, expressions, map_expressions, walk

LEAST_TRIPS = 32
MOST_LOADS = 64
"""The most loads in a loop: its text is printed three times, and compilers are slow on long loops."""


@dataclass(frozen=True, slots=True)
class _Clamp:
    """`max(min(value, high), low)`, which is `value` from iteration `first` to iteration `last`."""

    whole: Expr
    value: Expr
    first: Expr
    last: Expr


def cut_at_borders(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `nodes` with innermost loops split where clamps of sums with their iterator begin and end to take effect.
    """
    return _cut_all(nodes, frozenset(n.name for n in walk(nodes) if isinstance(n, Declare) and _is_int(n)))


def _is_int(node: Declare) -> bool:
    return node.type == "int" and not node.sizes


def _cut_all(nodes: Sequence[Node], variables: frozenset[str]) -> tuple[Node, ...]:
    """Return the same. `variables`: those of type int in the kernel."""
    return tuple(cut for node in nodes for cut in _cut(node, variables))


def _cut(node: Node, variables: frozenset[str]) -> tuple[Node, ...]:
    match node:
        case If(condition, then, otherwise):
            return (If(condition, _cut_all(then, variables), _cut_all(otherwise, variables)),)
        case For(body=body) if any(isinstance(inner, For) for inner in walk(body)):
            return (replace(node, body=_cut_all(body, variables)),)
        case For():
            return _cut_loop(node, variables - {n.target.array for n in walk(node.body) if isinstance(n, Assign)})
        case _:
            return (node,)


def _cut_loop(loop: For, fixed: frozenset[str]) -> tuple[Node, ...]:
    """Return the loop, or equivalent ones in the same order. `fixed`: variables that it does not change."""
    last_one = _last(loop)
    if last_one is None or not _can_be_cut(loop, last_one):
        return (loop,)
    if halves := _at_choice(loop, last_one):
        return tuple(cut for half in halves for cut in _cut_loop(half, fixed))
    found = {part: None for node in walk(loop.body) for expr in expressions(node) for part in parts(expr)}
    clamps = [clamp for part in found if (clamp := _clamp(part, loop.iterator, fixed)) is not None]
    if not clamps:
        return (loop,)
    bound, one = last_one, Int(1)
    first, last = _extreme("max", [c.first for c in clamps]), _extreme("min", [c.last for c in clamps])
    if _is_negative(Binary("-", last, first)):  # no iteration is inside all borders
        return (loop,)
    plain = {c.whole: c.value for c in clamps}

    def until(end: Expr) -> Expr:
        return Binary("<=", Name(loop.iterator), _extreme("min", [end, bound]))

    before = replace(loop, condition=until(simplify(Binary("-", first, one))), unroll=1, note="up to a border")
    inside = replace(
        loop,
        start=_extreme("max", [loop.start, first]),
        condition=until(last),
        body=map_expressions(loop.body, lambda expr: _without(expr, plain)),
    )
    behind = replace(
        loop,
        start=_extreme("max", [loop.start, first, simplify(Binary("+", last, one))]),
        unroll=1,
        note="from a border on",
    )
    return tuple(part for part in (before, inside, behind) if not _is_empty(part))


def _is_empty(loop: For) -> bool:
    """Return whether the loop is known to have no iteration."""
    last = _last(loop)
    return last is not None and _is_negative(Binary("-", last, loop.start))


def _is_negative(expr: Expr) -> bool:
    found = simplify(expr)
    return isinstance(found, Int) and found.value < 0


def _at_choice(loop: For, last: Expr) -> tuple[For, ...]:
    """Return two loops that make the choice of a `iterator < constant ? a : b` in `loop` once; () if there is none that
    leaves both of them long.
    """
    if not isinstance(loop.start, Int) or not isinstance(last, Int):
        return ()
    for part in (part for node in walk(loop.body) for expr in expressions(node) for part in parts(expr)):
        match part:
            case Select(Binary("<", Name(name), Int(at)) as chosen) if (
                    name == loop.iterator and min(at - loop.start.value, last.value + 1 - at) >= LEAST_TRIPS):
                below, above = (map_expressions(loop.body, partial(_chosen, condition=chosen, holds=holds))
                                for holds in (True, False))
                until = Binary("<=", Name(name), Int(at - 1))
                return replace(loop, condition=until, body=below), replace(loop, start=Int(at), body=above)
    return ()


def _chosen(expr: Expr, condition: Expr, holds: bool) -> Expr:
    """Return `expr` where `condition` holds, or does not."""
    if isinstance(expr, Select) and expr.condition == condition:
        return _chosen(expr.then if holds else expr.otherwise, condition, holds)
    return map_children(expr, lambda child: _chosen(child, condition, holds))


def _last(loop: For) -> Expr | None:
    """Return the last value of its iterator, if it is a simple expression."""
    match loop.condition:
        case Binary("<=", Name(name), bound) if name == loop.iterator and is_plain(bound):
            return bound
        case Binary("<", Name(name), Int(bound)) if name == loop.iterator:
            return Int(bound - 1)
        case _:
            return None


def _can_be_cut(loop: For, last: Expr) -> bool:
    """Return whether it is long, up to `last`, and its body contains only some updates."""
    if loop.step != 1 or loop.once or not isinstance(loop.start, Int) or loop.start.value < 0:
        return False
    sides = (last.left, last.right) if isinstance(last, Binary) and last.op == "min" else (last,)
    trips = [side.value - loop.start.value + 1 for side in sides if isinstance(side, Int)]
    simple = all(isinstance(node, Assign | Atomic | If | Declare | Note) for node in walk(loop.body))
    loads = sum(1 for node in walk(loop.body) for expr in expressions(node) for _ in loads_of(expr)) if simple else 0
    return simple and bool(trips) and min(trips) >= LEAST_TRIPS and loads <= MOST_LOADS


def _clamp(expr: Expr, iterator: str, fixed: frozenset[str]) -> _Clamp | None:
    """Return `expr` as a clamp whose value grows by a constant per iteration; `fixed` variables do not change."""
    match expr:
        case Binary("max", Binary("min", value, Int(high)), Int(low)) | Binary(
            "min", Binary("max", value, Int(low)), Int(high)
        ):
            pass
        case _:
            return None
    if low > high or not _is_arithmetic(value, fixed) or iterator not in names_of(value):
        return None
    after = substitute(value, {iterator: Binary("+", Name(iterator), Int(1))})
    step = simplify(Binary("-", after, value))
    if not isinstance(step, Int) or step.value < 1:
        return None
    rest = simplify(Binary("-", value, Binary("*", step, Name(iterator))))
    if iterator in names_of(rest):
        return None
    room, space = simplify(Binary("-", Int(low + step.value - 1), rest)), simplify(Binary("-", Int(high), rest))
    if step.value == 1:
        return _Clamp(expr, value, room, space)
    # Iterators are not negative, so it is harmless that C rounds a negative `room` up; for `space` it would be wrong.
    last = Select(Binary("<", space, Int(0)), Int(-1), Binary("/", space, step))
    return _Clamp(expr, value, Binary("/", room, step), last)


def _is_arithmetic(expr: Expr, fixed: frozenset[str]) -> bool:
    """Return whether it is arithmetic of `int` only, of names, numbers and `fixed` variables (corners of boxes)."""

    def named(part: Expr) -> Expr:
        held = isinstance(part, Load) and part.array in fixed and not part.index
        return Name(part.array) if held and isinstance(part, Load) else map_children(part, named)

    return is_plain(named(expr))


def _extreme(op: str, values: Sequence[Expr]) -> Expr:
    """Return the greatest ("max") or least of `values`, with one of those that differ by a constant."""
    kept: list[Expr] = []
    for value in values:
        for place, other in enumerate(kept):
            difference = simplify(Binary("-", value, other))
            if isinstance(difference, Int):
                kept[place] = value if (difference.value > 0) == (op == "max") else other
                break
        else:
            kept.append(value)
    return reduce(lambda left, right: Binary(op, left, right), kept)


def _without(expr: Expr, plain: dict[Expr, Expr]) -> Expr:
    """Return `expr` with clamps replaced by their unclamped values."""
    found = plain.get(expr)
    return map_children(expr if found is None else found, lambda child: _without(child, plain))
