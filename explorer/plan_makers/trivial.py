"""Stages that are inlined before any model is asked (Sioutas et al. 2020, section 4.1; facts of the artifact).

    trivial by cost       1 + bytes of an element >= arithmetic + bytes loaded, to compute an element
    element by element    read by one other stage only, which needs one element of it for each of its own

Deviation: an element at a constant distance is one, too, where the paper wants equal coordinates: arrays here begin at
0, whatever the coordinates of the program.
"""

from __future__ import annotations

from generator.dataflow import Dataflow, Node
from graph.inlining import MAX_COPIES
from metrics.costs.groups import flat


def trivial(flow: Dataflow) -> frozenset[str]:
    """The stages of `flow` that are inlined in any case."""
    inlined = frozenset(node.array for node in flow.nodes if can_inline(node) and _is_cheap(flow, node))
    while True:
        more = [
            node.array
            for node in flow.nodes
            if node.array not in inlined
            and can_inline(node)
            and _is_element_wise(flow, node, inlined)
            and fits(flow, inlined | {node.array})
        ]
        if not more:
            return inlined
        inlined |= {more[0]}


def can_inline(node: Node) -> bool:
    """Whether it may be computed by the threads that read it; a reduction is not: each reader would do all of it."""
    return node.stage and not node.reduces and not node.refusal


def fits(flow: Dataflow, inlined: frozenset[str]) -> bool:
    """Whether every text has room for what is inlined in it."""
    return all(
        flat(flow, node.array, inlined).elements <= MAX_COPIES
        for node in flow.nodes
        if node.array not in inlined and not node.refusal
    )


def readers_of(flow: Dataflow, array: str, inlined: frozenset[str]) -> tuple[str, ...]:
    """The kernels' stages that read `array`, by themselves or by way of what is inlined in them."""
    found: dict[str, None] = {}
    waiting = list(flow.readers(array))
    while waiting:
        reader = waiting.pop(0)
        if reader in inlined:
            waiting += flow.readers(reader)
        else:
            found[reader] = None
    return tuple(found)


def _is_cheap(flow: Dataflow, node: Node) -> bool:
    loaded = sum(read.loads * flow.array(read.array).element for read in node.reads)
    return 1.0 + node.element >= node.arithmetic - 1.0 + loaded


def _is_element_wise(flow: Dataflow, node: Node, inlined: frozenset[str]) -> bool:
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
        and all(
            reach.low == reach.high
            and sorted(reach.slopes)[:-1] == [0.0] * (len(reach.slopes) - 1)
            and max(reach.slopes) == 1.0
            for reach in reads[0].reach
        )
    )
