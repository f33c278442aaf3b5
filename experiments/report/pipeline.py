"""Fusion in pipelines: the kernels of the default plan and of the best plan, with the stages of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from experiments.graphs.pipeline import KernelNote, pipeline_picture
from experiments.pictures.canvas import Picture, picture_still, svg
from experiments.pictures.stills import Still
from experiments.report.facts import Facts, kernels_of
from experiments.report.html import Section, note, nothing
from experiments.values.records import Result
from experiments.words import describe_count, describe_kernel, describe_ms, describe_ratio
from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.schedules.stages import Stages
from metrics.outcome import Timed

TITLE, ANCHOR, SHORT = "What was fused with what", "pipeline", "Pipeline"
MOST = 400
"""Larger drawings would be unreadable: the most stages, counted once per kernel that computes them."""
SIDE_BY_SIDE = 560
"""Drawings up to this width in pixels are placed side by side."""
MOST_STEPS = 12
"""The most drawings on the slider: the default plan and the latest improvements."""
HOW = (
    "A box with a head is a kernel, with its time when it was first measured; the blue line below is its share of all "
    "kernels. Inside of it stands what it computes. `own kernel`: the stage is stored in global memory (Halide's "
    "compute_root). `inline`: each thread computes the elements that it needs, in registers. `block`: the threads of a "
    "block compute the box of elements (width first) that their tile needs, in shared memory (compute_at in the "
    "block's loop). Both stand in every kernel that computes them. `1.3x`: on average the kernel computes each element "
    "so many times, since tiles overlap or several elements of the reader need it. An arrow leads to what reads; one "
    "that enters a kernel is an array in global memory. Point at a stage for its definition."
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The drawing of a plan, or the reason why there is none. `title` says which plan of the run it is."""

    name: str
    title: str
    picture: Picture | str


def is_about_stages(facts: Facts) -> bool:
    """Return whether the run searches for placements of stages, or its default or best plan places stages."""
    plans = [result.evaluation.plan for result in (facts.default, facts.best) if result is not None]
    return facts.info.options.space == "pipeline" or any(isinstance(plan.schedule, Stages) for plan in plans)


def drawn(facts: Facts, tips: bool) -> list[Drawn]:
    """Return drawings of the default and the best plan: one if they are the same plan, none if neither is known."""
    found = []
    if facts.default is not None:
        found.append(Drawn("default", "default plan", _picture(facts, facts.default, "default plan", tips)))
    if facts.best is not None and facts.best is not facts.default:
        found.append(Drawn("best", _title(facts, facts.best), _picture(facts, facts.best, "best plan", tips)))
    return found


def improvements(facts: Facts) -> list[Result]:
    """Return the timed results that were faster than all earlier ones, with the first; the best plan comes last."""
    found: list[Result] = []
    fastest = math.inf
    for result in facts.results:
        if isinstance(result.outcome, Timed) and result.outcome.median_ms < fastest:
            fastest = result.outcome.median_ms
            found.append(result)
    best = facts.best
    return [*(one for one in found if one is not best), best] if best is not None else found


def _steps(facts: Facts) -> list[Drawn]:
    """Return the drawings on the slider."""
    found = improvements(facts)
    shown = found if len(found) <= MOST_STEPS else [found[0], *found[1 - MOST_STEPS :]]
    return [Drawn(f"step {number}", _title(facts, one), _picture(facts, one, _name(one), True))
            for number, one in enumerate(shown)]


def _name(result: Result) -> str:
    return f"evaluation {result.evaluation.number}"


def _title(facts: Facts, result: Result) -> str:
    """Return the title of a drawing: `evaluation 11, 2.1 ms, 1.6x as fast as the default plan`."""
    time, default = _time(facts, result), _time(facts, facts.default)
    faster = ""
    if time and default and result is not facts.default:
        faster = f", {describe_ratio(default.median_ms / time.median_ms)} as fast as the default plan"
    return f"{_name(result)}, {describe_ms(time.median_ms if time else None)}{faster}"


def _time(facts: Facts, result: Result | None) -> Timed | None:
    """Return the times of a result: those of the final if it took part."""
    if result is None or not isinstance(result.outcome, Timed):
        return None
    return facts.final.get(result.evaluation.number, result.outcome)


def _picture(facts: Facts, result: Result, name: str, tips: bool) -> Picture | str:
    from generator.pipeline_graph import pipeline_graph  # takes a while to import

    plan = result.evaluation.plan
    try:
        graph = pipeline_graph(facts.info.program, plan.scheduled)
        stages, kernels = sum(len(one.arrays) for one in graph.kernels), describe_count(len(graph.kernels), "kernel")
        if stages > MOST:
            return f"The {name} computes {stages} stages in {kernels}: too many for a drawing."
        return pipeline_picture(graph, _notes(facts, plan, result), f"{name}: {kernels}", tips)
    except IllegalPlan as error:
        return f"The {name} cannot be drawn: {error}."


def _notes(facts: Facts, plan: Plan, result: Result) -> dict[tuple[str, ...], KernelNote]:
    from generator.lowering.analysis.stage_work import stage_work  # takes a while to import

    times = {kernel.statements: kernel.median_ms for kernel in kernels_of(facts, result)}
    works = stage_work(facts.info.program, plan, facts.info.device.target.language)
    return {kernel.statements: KernelNote(times.get(kernel.statements), describe_kernel(kernel),
                                          works.get(kernel.statements, {}))
            for kernel in plan.kernels}


def section(facts: Facts) -> list[Section]:
    """Return the section with the drawings; nothing for a program without stages."""
    if not is_about_stages(facts):
        return []
    found = drawn(facts, tips=True)
    if not found:
        return [Section(ANCHOR, SHORT, TITLE, nothing("No plan is evaluated yet."))]
    steps = _steps(facts)
    bodies = [_html(found[0]), _slides(steps)] if len(steps) > 2 else [_html(one) for one in found]
    pictures = [one.picture for one in (found[0], *steps)]
    narrow = all(isinstance(one, Picture) and one.width <= SIDE_BY_SIDE for one in pictures)
    body = f'<div class="columns wide">{"".join(bodies)}</div>' if narrow and len(bodies) > 1 else "".join(bodies)
    return [Section(ANCHOR, SHORT, TITLE, body + note(HOW))]


def _slides(steps: Sequence[Drawn]) -> str:
    """Return all drawings at one position, with a slider to select one; without scripts the last one is shown."""
    last = len(steps) - 1
    slides = "".join(f'<div class="slide{" shown" if number == last else ""}" data-title="{escape(one.title)}">'
                     f"{_html(one)}</div>" for number, one in enumerate(steps))
    return (f'<div class="slides"><label class="slider"><span>improvements of the run</span>'
            f'<input type="range" min="0" max="{last}" value="{last}" step="1" aria-label="improvement that is drawn">'
            f"<output>{escape(steps[-1].title)}</output></label>{slides}</div>")


def _html(one: Drawn) -> str:
    if isinstance(one.picture, str):
        return nothing(one.picture)
    return f'<div class="scroll drawn" tabindex="0" style="--drawn:{one.picture.width:g}px">{svg(one.picture)}</div>'


def stills(facts: Facts) -> Sequence[Still]:
    """Return the drawings as pictures."""
    if not is_about_stages(facts):
        return ()
    return [picture_still(f"pipeline-{one.name}", one.picture) for one in drawn(facts, tips=False)
            if isinstance(one.picture, Picture)]
