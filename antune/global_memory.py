"""The global memory accesses of the threads of a plan's kernels, in words: a section of `antune explain`."""

from __future__ import annotations

from collections.abc import Iterator

from generator.facts import Access, KernelFacts
from generator.lowering.analysis.facts import kernel_facts
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from metrics.device_model import DeviceModel, device_model
from metrics.transactions import request


def memory_lines(program: Program, plan: Plan, target: Target) -> Iterator[str]:
    """Yield the section: a line per kernel, array, mode and distance of neighbours. Raises IllegalPlan."""
    model = device_model(target)
    yield (
        f"== Global memory (neighbours are threads next to each other along x; sectors of {model.sector_bytes} bytes "
        f"per request of {model.warp} threads)"
    )
    for facts in kernel_facts(program, plan, target):
        yield f"{facts.name} {{{', '.join(facts.statements)}}}:"
        yield from (f"    {line}" for line in _accesses(facts, model))


def _accesses(facts: KernelFacts, model: DeviceModel) -> Iterator[str]:
    times: dict[str, float] = {}
    for access in facts.accesses:
        if access.space == "global":
            line = _described(access, facts, model)
            times[line] = times.get(line, 0.0) + access.transfers
    yield from (f"{line}; {often:.3g} per thread" for line, often in times.items())


def _described(access: Access, facts: KernelFacts, model: DeviceModel) -> str:
    asked = request(access, facts.block, model.warp, model.sector_bytes)
    start = f"{access.mode} {access.array}: {'' if access.coalesced else 'not '}coalesced"
    return f"{start}, {_distance(access, facts)}; {asked.sectors:.3g} sectors (at least {asked.least:g})"


def _distance(access: Access, facts: KernelFacts) -> str:
    if facts.block[0] == 1:
        return "a thread has no neighbours"
    match access.neighbour_stride:
        case None:
            return "which element is known at run time only"
        case 0:
            return "neighbours touch the same element"
        case stride:
            return f"neighbours touch elements {abs(stride)} apart"
