"""Loops that distribute the elements of a box over threads: to copy, compute, or add them to global memory.

    for (int e0 = t0; e0 < 10; e0 += 8) { // all threads fill a_here (10 x 32 elements of a)
        for (int e1 = t1; e1 < 32; e1 += 4) {
            a_here[e0][e1] = a[8 * b0 + e0][32 * b1 + e1];
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from math import prod

from generator.expr import Binary, Expr, Int, Name
from generator.linear import simplify, substitute
from generator.lowering.memory.box import LocalBox
from generator.nest import For, If, Node, map_expressions


def all_fill(box: LocalBox, threads: tuple[int, ...], body: tuple[Node, ...], verb: str, of: str = "",
             lanes: int = 1, equally: bool = False) -> Node:
    """Return the loops in which threads `fill` or `compute` (`verb`) a box.

    `body`: for its element `index`, or for so many neighbours with several `lanes`. `of`: the end of the comment.
    `equally`: all threads have a constant number of iterations.
    """
    note = f"all threads {verb} {box.name} ({' x '.join(map(str, box.box))} elements{of})"
    one_by_one = lanes == 1 and not equally
    return all_threads(box, threads, body, note) if one_by_one else _in_a_row(box, threads, body, note, lanes, equally)


def _in_a_row(box: LocalBox, threads: tuple[int, ...], body: tuple[Node, ...], note: str, lanes: int,
              equally: bool) -> Node:
    """Return `body` for every vector of a box: the linearized threads take turns over the linearized vectors.

    If all threads have equally many iterations, their number is a constant. With `equally` it is always constant, and
    some iterations do nothing.
    """
    total, count = prod(box.box) // lanes, prod(threads)
    thread: Expr = Name("t0") if threads else Int(0)
    for d in range(1, len(threads)):
        thread = simplify(Binary("+", Binary("*", thread, Int(threads[d])), Name(f"t{d}")))
    turn = Name(f"{box.index[0].name}_turn")
    number: Expr = turn
    if total % count and not equally:
        loop = For(turn.name, thread, Binary("<", turn, Int(total)), count, ())
    else:
        number = simplify(Binary("+", thread, Binary("*", Int(count), turn)))
        loop = For(turn.name, Int(0), Binary("<", turn, Int(-(-total // count))), 1, ())
    if total % count and equally:
        body = (If(Binary("<", number, Int(total)), body),)
    inside = map_expressions(body, lambda expr: substitute(expr, _vector_at(box, number, lanes)))
    return replace(loop, body=inside, note=note, unroll=0)


def _vector_at(box: LocalBox, number: Expr, lanes: int) -> dict[str, Expr]:
    """Return the subscripts in a box of the first element of a vector, by the number of the vector."""
    index, place = dict[str, Expr](), prod(box.box) // lanes
    for d, size in enumerate((*box.box[:-1], box.box[-1] // lanes)):
        place //= size
        here = number if place == 1 else Binary("/", number, Int(place))
        here = here if d == 0 else Binary("%", here, Int(size))
        index[box.index[d].name] = Binary("*", Int(lanes), here) if d == len(box.box) - 1 else here
    return index


def all_threads(box: LocalBox, threads: tuple[int, ...], body: tuple[Node, ...], note: str) -> Node:
    """Return `body` for every element of a box; `threads` (per dimension, the outermost first) take turns.

    Compilers may unroll copying loops: the body is one load and one store.
    """
    loops = []
    for d, (name, (first, end)) in enumerate(zip(box.index, box.bounds, strict=True)):
        start, step = share(d, len(box.index), threads)
        begin = start if first == Int(0) else first if start == Int(0) else Binary("+", first, start)
        loops.append(For(name.name, begin, Binary("<", name, end), step, ()))
    return nested(loops, body, note, int(box.filled != "copy"))


def all_lines(box: LocalBox, threads: tuple[int, ...], body: tuple[Node, ...], verb: str,
              lines: Collection[int]) -> Node:
    """Return `body`, which computes all elements along the dimensions `lines` of a box, for every line.

    `threads` take turns; the first one alone computes a box of one line.
    """
    free = [d for d in range(len(box.box)) if d not in lines]
    note = f"all threads {verb} {box.name} ({' x '.join(map(str, box.box))} elements), whole lines"
    if not free:
        alone: list[Expr] = [Binary("==", Name(f"t{d}"), Int(0)) for d, count in enumerate(threads) if count > 1]
        first, end = box.bounds[box.ring.dim] if box.ring else (Int(0), Int(1))
        alone += [] if first == Int(0) else [Binary("<", first, end)]  # they stay from the first step on
        return If(reduce(lambda a, b: Binary("&&", a, b), alone), body) if alone else For(
            box.index[0].name, Int(0), Binary("<", box.index[0], Int(1)), 1, body, note=note)
    loops = []
    for k, d in enumerate(free):
        (first, end), (start, step) = box.bounds[d], share(k, len(free), threads)
        begin = start if first == Int(0) else first if start == Int(0) else Binary("+", first, start)
        loops.append(For(box.index[d].name, begin, Binary("<", box.index[d], end), step, ()))
    return nested(loops, body, note)


def nested(loops: Sequence[For], body: tuple[Node, ...], note: str, unroll: int = 1) -> Node:
    """Return `body` in these loops, the outermost first, which gets the note; the innermost is unrolled."""
    for d in reversed(range(len(loops))):
        body = (
            replace(
                loops[d], body=body, note="" if d else note, unroll=unroll if d == len(loops) - 1 else min(unroll, 1)
            ),
        )
    return body[0]


def share(dim: int, count: int, sizes: tuple[int, ...]) -> tuple[Expr, int]:
    """Return the first element and step of a thread in dimension `dim` of a box with `count` dimensions.

    `sizes`: the block, outermost first. The last dimensions are distributed. If a block has more dimensions than the
    box, its outer ones are flattened into the first.
    """
    spread = min(count, len(sizes))
    dim -= count - spread
    if dim < 0 or not sizes:
        return Int(0), 1
    surplus = len(sizes) - spread
    if dim > 0:
        return Name(f"t{dim + surplus}"), sizes[dim + surplus]
    start: Expr = Name("t0")
    for extra in range(1, surplus + 1):
        start = Binary("+", Binary("*", start, Int(sizes[extra])), Name(f"t{extra}"))
    return start, prod(sizes[:surplus + 1])
