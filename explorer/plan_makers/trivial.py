"""Stages that are inlined without a model (Sioutas et al. 2020, section 4.1; facts of the artifact).

    trivial by cost         1 + bytes of an element >= arithmetic + bytes loaded, to compute an element
    element by element      read by one other stage only, at the coordinates of each of its own elements, in order

Deviations: an element at a constant distance counts, too, although the paper requires equal coordinates: arrays here
begin at 0, for any coordinates of the program. A stage that turns rows into columns is not trivial by cost if an array
that models cannot judge reads it.
"""

from __future__ import annotations

from functools import reduce

from generator.dataflow import Dataflow, Node
from graph.inlining import MAX_COPIES
from metrics.costs.groups import flat


def trivial(flow: Dataflow) -> frozenset[str]:
    """Return the stages of `flow` that are always inlined, as far as texts have room for them."""
    cheap = [node.array for node in flow.nodes
             if can_inline(node) and _is_cheap(flow, node) and not _turns_rows(flow, node)]
    inlined = frozenset(cheap)
    if not fits(flow, inlined):
        inlined = reduce(lambda some, one: some | {one} if fits(flow, some | {one}) else some, cheap, frozenset[str]())
    while True:
        more = [
            node.array
            for node in flow.nodes
            if node.array not in inlined
            and can_inline(node)
            and is_element_wise(flow, node)
            and fits(flow, inlined | {node.array})
        ]
        if not more:
            return inlined
        inlined |= {more[0]}


def can_inline(node: Node) -> bool:
    """Return whether its readers' threads may compute it; not for a reduction, which each reader would repeat
    completely.
    """
    return node.stage and not node.reduces and not node.refusal


def fits(flow: Dataflow, inlined: frozenset[str]) -> bool:
    """Return whether no text exceeds the limit of inlined elements."""
    return all(
        flat(flow, node.array, inlined).elements <= MAX_COPIES
        for node in flow.nodes
        if node.array not in inlined and not node.refusal
    )


def readers_of(flow: Dataflow, array: str, inlined: frozenset[str]) -> tuple[str, ...]:
    """Return the stages of kernels that read `array`, directly or through inlined stages."""
    found: dict[str, None] = {}
    waiting = list(flow.readers(array))
    while waiting:
        reader = waiting.pop(0)
        if reader in inlined:
            waiting += flow.readers(reader)
        else:
            found[reader] = None
    return tuple(found)


def _turns_rows(flow: Dataflow, node: Node) -> bool:
    """Return whether an array of which models do not know how it reads others would read columns instead of the rows of
    a stage, such as a transposed image, if the stage was inlined.
    """
    unknown = any((reader := flow.node(name)) is not None and reader.refusal for name in flow.readers(node.array))
    return unknown and any(read.reach and any(read.reach[-1].slopes) and not read.reach[-1].slopes[-1]
                           for read in node.reads)


def _is_cheap(flow: Dataflow, node: Node) -> bool:
    loaded = sum(read.loads * flow.array(read.array).element for read in node.reads)
    return 1.0 + node.element >= node.arithmetic - 1.0 + loaded


def is_element_wise(flow: Dataflow, node: Node) -> bool:
    """Return whether one stage reads a stage, at the coordinates of each of its own elements, in order."""
    readers = flow.readers(node.array)
    if len(readers) != 1:
        return False
    reader = flow.node(readers[0])
    assert reader is not None
    reads = [read for read in reader.reads if read.array == node.array]
    return (
        not reader.refusal
        and len(reads) == 1
        and not reads[0].by_data
        and reads[0].different == 1.0
        and len(reads[0].reach) == len(reader.extents)
        and all(
            reach.low == reach.high and reach.slopes == tuple(float(q == d) for q in range(len(reader.extents)))
            for d, reach in enumerate(reads[0].reach)
        )
    )
