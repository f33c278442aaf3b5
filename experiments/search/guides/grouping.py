"""Which kernels a prefix has so far: each choice of where a stage is computed changes few of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from experiments.search.guides.tables import KernelKey
from generator.dataflow import Dataflow


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """The kernels so far, by what they store, and where a stage is computed besides: `inside` names these kernels.

    What is not decided yet costs nothing, nor does it to read it.
    """

    keys: Mapping[str, KernelKey]
    inside: Mapping[str, frozenset[str]]


def first_kernels(flow: Dataflow, stages: frozenset[str]) -> Kernels:
    """The kernels of arrays that are no `stages`: nothing is decided about those."""
    alone = [node.array for node in flow.nodes if node.array not in stages]
    return Kernels({array: KernelKey(array, free=_stages_read(flow, array)) for array in alone}, {})


def with_stage(kernels: Kernels, flow: Dataflow, stage: str, place: str) -> Kernels:
    """What becomes of the kernels when `stage`, all whose readers are decided, is computed at `place`."""
    readers = frozenset[str]().union(*(kernels.inside.get(one, frozenset([one])) for one in flow.readers(stage)))
    keys, reads = dict(kernels.keys), _stages_read(flow, stage)
    for output in readers & keys.keys():
        key = keys[output]
        match place:
            case "block":
                keys[output] = replace(key, members=key.members | {stage}, free=key.free - {stage} | reads)
            case "inline":
                keys[output] = replace(key, inlined=key.inlined | {stage}, free=key.free - {stage} | reads)
            case _:
                keys[output] = replace(key, free=key.free - {stage})
    if place == "root":
        return Kernels({**keys, stage: KernelKey(stage, free=reads)}, kernels.inside)
    return Kernels(keys, {**kernels.inside, stage: readers})


def _stages_read(flow: Dataflow, array: str) -> frozenset[str]:
    """The stages among what an array is computed from."""
    node = flow.node(array)
    found = (flow.node(source) for source in node.sources) if node is not None else ()
    return frozenset(one.array for one in found if one is not None and one.stage)
