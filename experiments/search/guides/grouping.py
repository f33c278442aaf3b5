"""The kernels of a prefix: each choice of where a stage is computed changes few of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from experiments.search.guides.tables import KernelKey
from generator.dataflow import Dataflow, Node, Reach

CHEAP = 8.0
"""Operations (`generator.polyhedral.pipelines.arithmetic`) of an element that is loaded from limited positions."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """The kernels of a prefix, by the array that each stores. `inside` maps a stage to the kernels that compute it.

    Stages that are not decided yet cost nothing; reading them costs what reading a stored array does.
    """

    keys: Mapping[str, KernelKey]
    inside: Mapping[str, frozenset[str]]


def first_kernels(flow: Dataflow, stages: frozenset[str]) -> Kernels:
    """Return the kernels of the arrays that are not `stages`, before any decision."""
    alone = [node.array for node in flow.nodes if node.array not in stages]
    return Kernels({array: KernelKey(array) for array in alone}, {})


def with_stage(kernels: Kernels, flow: Dataflow, stage: str, place: str) -> Kernels:
    """Return the kernels after `stage`, whose readers are all decided, is placed at `place`."""
    readers = frozenset[str]().union(*(kernels.inside.get(one, frozenset([one])) for one in flow.readers(stage)))
    if place == "root":
        return Kernels({**kernels.keys, stage: KernelKey(stage)}, kernels.inside)
    keys = dict(kernels.keys)
    for output in readers & keys.keys():
        key = keys[output]
        if place == "block":
            keys[output] = replace(key, members=key.members | {stage})
        else:
            keys[output] = replace(key, inlined=key.inlined | {stage})
    return Kernels(keys, {**kernels.inside, stage: readers})


@lru_cache(maxsize=8)
def always_inlined(flow: Dataflow) -> frozenset[str]:
    """Return the stages that are always inlined: one reader reads one element once, at its own index.

    Storing such a stage would gain nothing (Anderson et al. 2021, section 4.1). Stages with updates are not inlined.
    """
    plain = (node for node in flow.nodes if node.stage and not node.reduces)
    return frozenset(node.array for node in plain if _only_pointwise(flow, node))


def _only_pointwise(flow: Dataflow, node: Node) -> bool:
    readers = flow.readers(node.array)
    reader = flow.node(readers[0]) if len(readers) == 1 else None
    reads = [read for read in reader.reads if read.array == node.array] if reader is not None else []
    if len(reads) != 1 or reads[0].loads != 1 or reads[0].by_data:
        return False
    return all(reach == Reach(tuple(float(d == q) for q in range(len(reach.slopes))), 0.0, 0.0)
               for d, reach in enumerate(reads[0].reach))


@lru_cache(maxsize=8)
def places_for_unknown(flow: Dataflow) -> Mapping[str, tuple[str, ...]]:
    """Return the places of the stages that arrays read of which the models do not know how often they read what: in
    the kernel of such an array, everything seems to cost nothing.

    These stages are stored. Inputs that are only limited at their borders may also be inlined: that repeats little.
    """
    unknown = {node.array for node in flow.nodes if node.refusal}
    read = (node for node in flow.nodes if node.stage and not unknown.isdisjoint(flow.readers(node.array)))
    return {node.array: ("root", "inline") if _is_cheap_input(flow, node) else ("root",) for node in read}


def _is_cheap_input(flow: Dataflow, node: Node) -> bool:
    return node.arithmetic <= CHEAP and all(flow.node(source) is None for source in node.sources)
