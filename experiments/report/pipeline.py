"""What was fused with what: the kernels of the default plan and of the best plan, with the stages of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.graphs.pipeline import KernelNote, pipeline_picture
from experiments.pictures.canvas import Picture, picture_still, svg
from experiments.pictures.stills import Still
from experiments.report.facts import Facts, kernels_of
from experiments.report.html import Section, note, nothing
from experiments.values.records import Result
from experiments.words import describe_count, describe_kernel
from generator.errors import IllegalPlan
from generator.plan import Plan, Stages

TITLE, ANCHOR, SHORT = "What was fused with what", "pipeline", "Pipeline"
MOST = 400
"""Stages of a drawing, counted in every kernel that computes them: nobody reads a larger one."""
SIDE_BY_SIDE = 560
"""Pixels of a drawing up to which two have room beside each other."""
HOW = (
    "A box with a head is a kernel, with its time when it was first measured; the blue line below is its share of all "
    "kernels. Inside of it stands what it computes. `own kernel`: the stage is stored in global memory (Halide's "
    "compute_root). `inline`: each thread computes the elements that it needs, in registers. `block`: the threads of a "
    "block compute what their tile needs, in shared memory (compute_at in the block's loop). Both stand in every "
    "kernel "
    "that computes them. An arrow leads to what reads; one that enters a kernel is an array in global memory. Point at "
    "a stage for its definition."
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The plans that are drawn together because their kernels are those of one schedule, or why they are not."""

    name: str
    picture: Picture | str


def is_about_stages(facts: Facts) -> bool:
    """Whether stages are what the run searches, or what its default plan or its best plan places."""
    plans = [result.evaluation.plan for result in (facts.default, facts.best) if result is not None]
    return facts.info.options.space == "pipeline" or any(isinstance(plan.schedule, Stages) for plan in plans)


def drawn(facts: Facts, tips: bool) -> list[Drawn]:
    """The default plan and the best; one drawing where they are the same plan, none where neither is known."""
    found = [Drawn("default", _picture(facts, facts.default, "default plan", tips))] if facts.default else []
    if facts.best is not None and facts.best is not facts.default:
        found.append(Drawn("best", _picture(facts, facts.best, "best plan", tips)))
    return found


def _picture(facts: Facts, result: Result, name: str, tips: bool) -> Picture | str:
    from generator.pipeline_graph import pipeline_graph  # takes a while to import

    plan = result.evaluation.plan
    try:
        graph = pipeline_graph(facts.info.program, plan.schedule)
    except IllegalPlan as error:
        return f"The {name} cannot be drawn: {error}."
    stages, kernels = sum(len(one.arrays) for one in graph.kernels), describe_count(len(graph.kernels), "kernel")
    if stages > MOST:
        return f"The {name} computes {stages} stages in {kernels}: too many for a drawing."
    heading = f"{name}: {kernels}"
    return pipeline_picture(graph, _notes(facts, plan, result), heading, tips)


def _notes(facts: Facts, plan: Plan, result: Result) -> dict[tuple[str, ...], KernelNote]:
    times = {kernel.statements: kernel.median_ms for kernel in kernels_of(facts, result)}
    return {kernel.statements: KernelNote(times.get(kernel.statements), describe_kernel(kernel))
            for kernel in plan.kernels}


def section(facts: Facts) -> list[Section]:
    """The drawings; nothing for a program without stages."""
    if not is_about_stages(facts):
        return []
    found = drawn(facts, tips=True)
    if not found:
        return [Section(ANCHOR, SHORT, TITLE, nothing("No plan is evaluated yet."))]
    bodies = [_html(one) for one in found]
    narrow = all(isinstance(one.picture, Picture) and one.picture.width <= SIDE_BY_SIDE for one in found)
    body = f'<div class="columns wide">{"".join(bodies)}</div>' if narrow and len(found) > 1 else "".join(bodies)
    return [Section(ANCHOR, SHORT, TITLE, body + note(HOW))]


def _html(one: Drawn) -> str:
    if isinstance(one.picture, str):
        return nothing(one.picture)
    return f'<div class="scroll drawn" tabindex="0" style="--drawn:{one.picture.width:g}px">{svg(one.picture)}</div>'


def stills(facts: Facts) -> Sequence[Still]:
    """The drawings as pictures."""
    if not is_about_stages(facts):
        return ()
    return [picture_still(f"pipeline-{one.name}", one.picture) for one in drawn(facts, tips=False)
            if isinstance(one.picture, Picture)]
