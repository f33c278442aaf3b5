"""The bank conflicts of a plan's kernels, in words: a section of `antune explain`."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.search.paddings import Counted, conflicts
from generator.facts import Access, KernelFacts
from generator.lowering.analysis.facts import kernel_facts
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from metrics.device_model import DeviceModel, device_model
from metrics.transactions import passes


def shared_lines(program: Program, plan: Plan, target: Target) -> Iterator[str]:
    """Yield the section: a line per kernel, array, mode and number of passes; nothing on a device without banks, or if
    no kernel accesses shared memory. Raises IllegalPlan.
    """
    model = device_model(target)
    found = [facts for facts in kernel_facts(program, plan, target) if any(_shared(facts))]
    if not found or not model.banks:
        return
    yield ""
    yield f"== Shared memory ({model.banks} banks; passes of a warp's access, 1 without bank conflicts)"
    others = conflicts(program, plan, target, True)
    for facts in found:
        yield f"{facts.name} {{{', '.join(facts.statements)}}}:"
        yield from (f"    {line}" for line in _accesses(facts, model))
        choices = others.get(facts.statements, [])
        if choices:
            yield f"    all accesses, mean: {'; '.join(map(_choice, choices))}"


def _shared(facts: KernelFacts) -> Iterator[Access]:
    return (access for access in facts.accesses if access.space == "shared")


def _accesses(facts: KernelFacts, model: DeviceModel) -> Iterator[str]:
    times: dict[str, float] = {}
    for access in _shared(facts):
        count = passes(access, facts.block, model.warp, model.banks)
        said = "passes are known at run time only" if count is None else f"{count:.3g} pass{'es' if count != 1 else ''}"
        line = f"{access.mode} {access.array}, {access.element_bytes} bytes each: {said}"
        times[line] = times.get(line, 0.0) + access.executions
    yield from (f"{line}; {often:.3g} per thread" for line, often in times.items())


def _choice(one: Counted) -> str:
    kernel = one.kernel
    what = f"swizzled {', '.join(kernel.swizzled)}" if kernel.swizzled else f"padding {kernel.padding}"
    return f"{1 / one.share:.3g} with {what}"
