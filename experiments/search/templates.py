"""What a search needs to know of a kernel template: its space, where it begins, and the answer to compare with."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from generator.contract import NUMPY_TYPES
from generator.errors import InputError
from generator.plan import Plan
from generator.problem import Problem, Reference
from generator.templates.template import Template
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, first, prefer
from graph.template import TemplateSpace
from metrics.outcome import Timed
from runners.base import DeviceInfo, Job, Limits
from runners.data import Values
from runners.many import Place
from runners.registry import find_devices, is_deterministic
from runners.tasks import Make


def template_space(template: Template) -> TemplateSpace:
    """The space of a template. Raises InputError: nothing is legal, or a restriction makes no sense."""
    return TemplateSpace(template.parameters, template.restrictions)


def first_plan(template: Template, space: TemplateSpace | None = None) -> Plan:
    """The configuration that a search begins with: the template's own, where it is legal, else the first one.

    Raises:
        InputError: nothing is legal.
    """
    preferred: Preferences = {(name, ()): value for name, value in template.first}
    walk = OptimizationGraph().walk(space or template_space(template), prefer(preferred, first))
    if walk is None:
        raise InputError(f"no configuration of {template.name} fulfils its restrictions; relax them")
    return walk.plan


def answered(problem: Problem, place: Place, limits: Limits, workdir: Path, make: Make | None = None,
             plan: Plan | None = None) -> Problem:
    """The problem of a template with an answer: where it has none, what its first configuration computes.

    It runs on a device of `place` on this machine. `plan`: that configuration; `make`: see `runners.batch.Batch`.

    Raises:
        InputError: that configuration does not run.
    """
    template = problem.subject
    if not isinstance(template, Template) or problem.reference.origin != "first":
        return problem
    if place.devices and is_deterministic(place.devices[0]):  # it compares nothing
        zeros = {array.name: np.zeros(array.extents, NUMPY_TYPES[array.type]) for array in template.outputs}
        return Problem(template, replace(problem.reference, outputs=zeros))
    if all(array.name in problem.reference.outputs for array in template.outputs):
        return problem
    plan, device = plan or first_plan(template), find_devices(place.devices)[0]
    unchecked = replace(template, arrays=tuple(
        replace(array, role="temp") if array.role != "in" else array for array in template.arrays))
    found = _computed(Problem(unchecked, problem.reference), device, limits, workdir, make, plan)
    outputs = {array.name: found[array.name] for array in template.outputs}
    reference: Reference = problem.reference
    return Problem(template, replace(reference, outputs=outputs))


def _computed(problem: Problem, device: DeviceInfo, limits: Limits, workdir: Path, make: Make | None,
              plan: Plan) -> Values:
    from runners.pool_runner import DeviceRunner

    with tempfile.TemporaryDirectory(prefix="answer-", dir=workdir) as name:
        few = replace(limits, min_repeats=1, max_repeats=1, least_s=0.0)
        runner = DeviceRunner(problem, device, few, Path(name), workers=1, make=make, results=Path(name).resolve())
        try:
            ((_, outcome),) = runner.evaluate([Job(0, plan)])
        finally:
            runner.close()
        values = ", ".join(f"{name} = {value}" for name, value in plan.parameters)
        if not isinstance(outcome, Timed):
            raise InputError(f"the first configuration ({values}), whose results all others are compared with, fails: "
                             f"{outcome.message}; give an answer, or put values first that work")
        with np.load(Path(name) / f"{outcome.code_hash}.npz") as data:
            return {key: data[key] for key in data}
