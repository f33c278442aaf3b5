"""Copies in shared memory of what a block accesses in one tile of a wavefront.

    for (e0 = t0; e0 < 12; e0 += 2) for (..)                   all threads fill A_shared
      if (the element exists) A_shared[e0][e1] = A[A_from0 + e0][A_from1 + e1];
    barrier
    for (diagonal ..) {
      A_shared[i - A_from0][j - A_from1] = (A_shared[..] + ..) / 9;
      A[i][j] = A_shared[i - A_from0][j - A_from1];            to both places: only results leave the block
      barrier
    }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, map_children
from generator.linear import simplify, substitute
from generator.lowering.memory.box import LocalBox, corner_variables, padded_rows
from generator.lowering.memory.cooperative import all_threads
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Atomic, Barrier, For, If, Node, map_expressions
from generator.plan import KernelPlan
from generator.polyhedral.memory.wavefront_boxes import wavefront_boxes
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program


@dataclass(frozen=True, slots=True)
class WavefrontCopy(LocalBox):
    """A copy whose element `index` is `loaded` under a condition (None: always)."""

    loaded: Expr | None


def wavefront_copies(program: Program, part: KernelPart, plan: KernelPlan, prefix: Sequence[str],
                     taken: set[str]) -> tuple[WavefrontCopy, ...]:
    """Return the copies of a kernel; () if the plan has none. New names are added to `taken`.

    Raises:
        IllegalPlan: there is nothing to copy, or the plan excludes arrays that are not copied.
    """
    if not plan.shared:
        return ()
    boxes = wavefront_boxes(program, part, tuple(prefix))
    known = [one.box.array for one in boxes]
    what = ", ".join(plan.statements)
    if unknown := sorted(set(plan.uncopied) - set(known)):
        raise IllegalPlan(f"{', '.join(unknown)} of {what} would stay uncopied, but its tiles have copies of "
                          f"{', '.join(known) or 'no array'} only")
    if not known:
        raise IllegalPlan(f"shared copies of {what}: its tiles of a wavefront read nothing often enough, or more than "
                          "a block can hold")
    found = []
    for one in boxes:
        box = one.box
        if box.array in plan.uncopied:
            continue
        name, kind = fresh_name(f"{box.array}_shared", taken), program.array(box.array).type
        variables = corner_variables(box.array, box.corner, "from", taken)
        sizes = padded_rows(box.sizes, plan.padding)
        made = WavefrontCopy(name, box.array, kind, box.corner, box.sizes, sizes, variables, "copy", "block", None)
        if one.loaded is not None:
            at = dict(zip(one.subscripts, made.outside, strict=True))
            made = replace(made, loaded=simplify(substitute(one.loaded, at)))
        found.append(made)
    return tuple(found)


def with_copies(program: Program, nodes: tuple[Node, ...], boxes: Sequence[WavefrontCopy],
                block: tuple[int, ...]) -> tuple[Node, ...]:
    """Return the loops of a kernel with its copies: filled first, then used; inside of a condition around all of it."""
    if not boxes:
        return nodes
    first, inside = (*_copied(program, boxes, block), Barrier(arrays=True)), _all_in_copies(nodes, boxes)
    match inside:
        case (If(tile, then),):
            return (If(tile, (*first, *then)),)
        case _:
            return (*first, *inside)


def _copied(program: Program, boxes: Sequence[WavefrontCopy], block: tuple[int, ...]) -> tuple[Node, ...]:
    """Return the loops that fill the copies; nothing is loaded from outside of an array, even without a tile."""
    nodes = list[Node]()
    for box in boxes:
        tests: list[Expr] = [test for at, extent in zip(box.outside, program.array(box.array).extents, strict=True)
                 for test in (Binary(">=", at, Int(0)), Binary("<", at, Int(extent)))]
        tests += [] if box.loaded is None else [box.loaded]
        load = Assign(box.here, "", Load(box.array, box.outside))
        inside = If(reduce(lambda a, b: Binary("&&", a, b), tests), (load,))
        note = f"all threads fill {box.name} ({' x '.join(map(str, box.box))} elements of {box.array})"
        nodes += [*box.declared, all_threads(box, block, (inside,), note)]
    return tuple(nodes)


def _all_in_copies(nodes: tuple[Node, ...], boxes: Sequence[LocalBox]) -> tuple[Node, ...]:
    """Return `nodes` that read the copies and store each result to both places."""
    by_array = {box.array: box for box in boxes}
    return tuple(one for node in nodes for one in _in_copies(node, by_array))


def _in_copies(node: Node, boxes: Mapping[str, LocalBox]) -> tuple[Node, ...]:
    def read(expr: Expr) -> Expr:
        inside = map_children(expr, read)
        if isinstance(inside, Load) and inside.array in boxes:
            return boxes[inside.array].element(inside.index)
        return inside

    match node:
        case For(start=start, condition=condition, body=body):
            inside = _all_in_copies(body, tuple(boxes.values()))
            return (replace(node, start=read(start), condition=read(condition), body=inside),)
        case If(condition, then, otherwise):
            some = tuple(boxes.values())
            return (If(read(condition), _all_in_copies(then, some), _all_in_copies(otherwise, some)),)
        case Assign(target) | Atomic(target) if target.array in boxes:
            here = boxes[target.array].element(tuple(map(read, target.index)))
            assert not isinstance(node, Atomic) or node.operator == "=", "diagonals combine nothing"
            store = Assign(here, node.op if isinstance(node, Assign) else "", read(node.value))
            outside = Load(target.array, tuple(map(read, target.index)), target.access)
            if isinstance(node, Atomic):
                return store, Atomic(outside, "=", here, node.type)
            return store, Assign(outside, "", here)
        case _:
            return map_expressions((node,), read)
