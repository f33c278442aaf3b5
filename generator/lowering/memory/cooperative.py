"""Loops in which threads take turns over the elements of a box: to copy them, to compute them, to add them to global
memory.

for (int e0 = t0; e0 < 10; e0 += 8) { // all threads fill a_here (10 x 32 elements of a)
  for (int e1 = t1; e1 < 32; e1 += 4) {
    a_here[e0][e1] = a[8 * b0 + e0][32 * b1 + e1];
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from generator.expr import Binary, Expr, Int, Name
from generator.lowering.memory.box import LocalBox
from generator.nest import For, Node


def all_fill(box: LocalBox, threads: tuple[int, ...], body: tuple[Node, ...], verb: str, of: str = "") -> Node:
    """The loops in which threads `fill` or `compute` (`verb`) a box; `body` is for its element `index`, `of` for
    the comment.
    """
    return all_threads(
        box, threads, body, f"all threads {verb} {box.name} ({' x '.join(map(str, box.box))} elements{of})"
    )


def all_threads(box: LocalBox, threads: tuple[int, ...], body: tuple[Node, ...], note: str) -> Node:
    """`body` for every element of a box: `threads` (in each dimension, the outermost first) take turns.

    Compilers unroll loops that copy as they like: what is inside is one load and one store.
    """
    loops = []
    for d, (name, (first, end)) in enumerate(zip(box.index, box.bounds, strict=True)):
        start, step = share(d, len(box.index), threads)
        begin = start if first == Int(0) else first if start == Int(0) else Binary("+", first, start)
        loops.append(For(name.name, begin, Binary("<", name, end), step, ()))
    return nested(loops, body, note, int(box.filled != "copy"))


def nested(loops: Sequence[For], body: tuple[Node, ...], note: str, unroll: int = 1) -> Node:
    """`body` in these loops, the outermost first: `note` stands at that one, the innermost is unrolled."""
    for d in reversed(range(len(loops))):
        body = (
            replace(
                loops[d], body=body, note="" if d else note, unroll=unroll if d == len(loops) - 1 else min(unroll, 1)
            ),
        )
    return body[0]


def share(dim: int, count: int, sizes: tuple[int, ...]) -> tuple[Expr, int]:
    """First element and step of a thread in dimension `dim` of a box with `count`; the block is `sizes`, outermost
    first.

    The last dimensions are shared out. The outer ones of a block that has more than the box are flattened into the
    first.
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
