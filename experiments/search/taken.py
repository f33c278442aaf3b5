"""Fit plans from wisdom, known for similar sizes or devices, to the space of a run.

Fitting happens once, when a run begins, and the fitted plans are stored with its options. So a resumed run begins with
the same walks, even if wisdom has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from experiments.search.spaces import make_reachable_space
from experiments.search.templates import template_space
from experiments.values.options import RunOptions
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan, InputError
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import Plan, plan_from_json
from generator.problem import Subject, program_of
from generator.program import Program
from generator.target import Target
from generator.templates.template import Template
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, first, prefer
from graph.reaching import Reachable, walk_to
from graph.walk import Walk


def fitted(plans: Iterable[Plan], subject: Subject, target: Target, options: RunOptions,
           most: int) -> Mapping[Plan, Plan]:
    """Map the nearest plans of the space to the `plans` that they came from, for at most `most` of them.

    Plans that the space cannot reach are left out.
    """
    found: dict[Plan, Plan] = {}
    walks = _of_template(plans, subject) if isinstance(subject, Template) else _of_program(
        plans, program_of(subject), target, options)
    for plan, walk in walks:
        found.setdefault(walk.plan, plan)
        if len(found) == most:
            break
    return found


def taken_walks(subject: Subject, target: Target, options: RunOptions) -> Sequence[Walk]:
    """Return the walks to the plans from wisdom that the run began with. Raises InputError as `plan_from_json`."""
    plans = [plan_from_json(text) for text in options.wisdom]
    if isinstance(subject, Template):
        return tuple(walk for _, walk in _of_template(plans, subject))
    return tuple(walk for _, walk in _of_program(plans, program_of(subject), target, options)) if plans else ()


def _of_program(plans: Iterable[Plan], program: Program, target: Target,
                options: RunOptions) -> Iterator[tuple[Plan, Walk]]:
    if options.space == "tiles":
        return
    space = make_reachable_space(program, target, options)
    for plan in plans:
        if plan.schedule is None or (walk := _walk(plan, program, target, options, space)) is None:
            continue
        yield plan, walk


def _walk(plan: Plan, program: Program, target: Target, options: RunOptions, space: Reachable) -> Walk | None:
    """Return the walk to the nearest plan with the same schedule; None if the space does not offer that schedule."""
    with suppress(IllegalPlan, InputError, KeyError):  # the program lacks statements, arrays or loops
        shapes = kernel_shapes(program, plan.scheduled, target.language)
        wide = options.space != "paper"
        near = replace(plan, kernels=tuple(nearest(plan.kernel(shape.statements), Known(shape, target, wide))
                                           for shape in shapes))
        for one in dict.fromkeys((near, replace(near, placement=()))):
            with suppress(InputError):
                return walk_to(space, one)
    return None


def _of_template(plans: Iterable[Plan], template: Template) -> Iterator[tuple[Plan, Walk]]:
    space = template_space(template)
    for plan in plans:
        preferred: Preferences = {(name, ()): value for name, value in plan.parameters}
        if preferred and (walk := OptimizationGraph().walk(space, prefer(preferred, first))) is not None:
            yield plan, walk
