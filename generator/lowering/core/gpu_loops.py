"""The loops of a thread among others: copies of the next tile ahead, vector accesses, operations on copied elements."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from generator.expr import loads_of, names_of
from generator.lowering.core.ahead import with_next_tile
from generator.lowering.core.later import with_later_copies
from generator.lowering.core.neighbours import Layout
from generator.lowering.core.operated import with_lanes
from generator.lowering.core.wide import with_vectors
from generator.lowering.memory.box import LocalBox
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Declare, For, Node, expressions, walk
from generator.plan import KernelPlan
from generator.program import Program


def for_gpus(program: Program, body: tuple[Node, ...], shared: tuple[LocalBox, ...], plan: KernelPlan,
             prefix: tuple[str, ...]) -> tuple[tuple[Node, ...], tuple[LocalBox, ...]]:
    """Return the loops of a thread with copies ahead and vector accesses, as planned, and the resulting boxes.

    Threads that are alone in their blocks have neither.
    """
    alone = prod(plan.block) == 1
    if not plan.prologue and (alone or (not plan.ahead and plan.vector == 1)):
        return body, shared
    taken = _taken(program, body, shared, prefix)
    if not alone:
        body, shared = _ahead(body, shared, plan, taken)
        layouts = {array.name: Layout(array.type, array.extents) for array in program.arrays}
        layouts |= {box.name: Layout(box.type, box.sizes) for box in shared}
        body = with_vectors(body, layouts, plan.vector, taken) if plan.vector > 1 else body
    return with_lanes(body, taken), shared


def _ahead(body: tuple[Node, ...], shared: tuple[LocalBox, ...], plan: KernelPlan,
           taken: set[str]) -> tuple[tuple[Node, ...], tuple[LocalBox, ...]]:
    copies = {box.name: box.type for box in shared if isinstance(box, CopiedBox)}
    if plan.ahead and plan.asynchronous:
        body, doubled = with_later_copies(body, copies, {box.name: len(box.sizes) for box in shared}, taken)
        shared = tuple(replace(box, sizes=(2, *box.sizes)) if box.name in doubled else box for box in shared)
    elif plan.ahead:
        body = with_next_tile(body, copies, taken)
    return body, shared


def _taken(program: Program, body: tuple[Node, ...], shared: tuple[LocalBox, ...], prefix: tuple[str, ...]) -> set[str]:
    """Return all names in a kernel."""
    mentioned = {name for node in walk(body) for expr in expressions(node)
                 for name in (*names_of(expr), *(load.array for load in loads_of(expr)))}
    declared = {node.name for node in walk(body) if isinstance(node, Declare)}
    iterators = {node.iterator for node in walk(body) if isinstance(node, For)}
    named = {array.name for array in program.arrays} | {box.name for box in shared}
    return {*named, *mentioned, *declared, *iterators, *prefix}
