"""The search space of a kernel template, its first plan, and the expected results."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from math import lgamma, log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.contract import NUMPY_TYPES, Array
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

_CHANCE = 1e-3
"""If chance leaves that many elements unchanged with a lower probability than this, they were not written."""


def template_space(template: Template) -> TemplateSpace:
    """Return the space of a template. Raises InputError if no configuration is legal or a restriction is invalid."""
    return TemplateSpace(template.parameters, template.restrictions)


def first_plan(template: Template) -> Plan:
    """Return the configuration that a search starts with: the template's own if it is legal, else the first legal one.

    Raises:
        InputError: no configuration is legal.
    """
    preferred: Preferences = {(name, ()): value for name, value in template.first}
    walk = OptimizationGraph().walk(template_space(template), prefer(preferred, first))
    if walk is None:
        raise InputError(f"no configuration of {template.name} fulfils its restrictions; relax them")
    return walk.plan


def answered(problem: Problem, place: Place, limits: Limits, workdir: Path, make: Make | None = None,
             plan: Plan | None = None) -> Problem:
    """Return the problem of a template with expected results: if it has none, those of its first configuration.

    That configuration runs on a device of `place` on this machine. `plan` overrides it; `make`: see
    `runners.batch.Batch`.

    Raises:
        InputError: the configuration does not run, or leaves elements of an output unwritten.
    """
    template = problem.subject
    if not isinstance(template, Template) or problem.reference.origin != "first":
        return problem
    if place.devices and is_deterministic(place.devices[0]):  # the deterministic device compares no results
        zeros = {array.name: np.zeros(array.extents, NUMPY_TYPES[array.type]) for array in template.outputs}
        return Problem(template, replace(problem.reference, outputs=zeros))
    if all(array.name in problem.reference.outputs for array in template.outputs):
        return problem
    plan, device = plan or first_plan(template), (place.found or find_devices(place.devices))[0]
    unchecked = replace(template, arrays=tuple(
        replace(array, role="temp") if array.role != "in" else array for array in template.arrays))
    before = {array.name: _odd(array) for array in template.outputs if array.role == "out"}
    given = replace(problem.reference, inputs={**problem.reference.inputs, **before})
    found = _computed(Problem(unchecked, given), device, limits, workdir, make, plan)
    for array in template.outputs:
        if array.name in before:
            _check_written(array, before[array.name], found[array.name], plan)
    outputs = {array.name: found[array.name] for array in template.outputs}
    reference: Reference = problem.reference
    return Problem(template, replace(reference, outputs=outputs))


def _odd(array: Array) -> NDArray[Any]:
    """Return random bytes as an array: contents that a kernel is very unlikely to write."""
    dtype = np.dtype(NUMPY_TYPES[array.type])
    drawn = np.random.default_rng(array.elements).bytes(array.elements * dtype.itemsize)
    return np.frombuffer(drawn, dtype).reshape(array.extents)


def _check_written(array: Array, before: NDArray[Any], after: NDArray[Any], plan: Plan) -> None:
    """Raise InputError if more elements are unchanged than chance explains (see `_CHANCE`)."""
    size = before.dtype.itemsize
    words = [np.frombuffer(one.tobytes(), f"V{size}") for one in (before, after)]
    same = np.flatnonzero(words[0] == words[1])
    by_chance = len(same) * -8 * size * log(2) + lgamma(array.elements + 1) - lgamma(len(same) + 1) - lgamma(
        array.elements - len(same) + 1)  # an upper bound of the probability's logarithm
    if len(same) and by_chance < log(_CHANCE):
        place = "".join(f"[{index}]" for index in np.unravel_index(int(same[0]), array.extents))
        raise InputError(f"{_first(plan)} leaves {len(same)} of {array.elements} elements of `{array.name}` unwritten, "
                         f"the first is {array.name}{place}; give an answer, or say that it is read and written")


def _first(plan: Plan) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in plan.parameters)
    return f"the first configuration ({values}), whose results all others are compared with,"


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
        if not isinstance(outcome, Timed):
            raise InputError(f"{_first(plan)} fails: {outcome.message}; give an answer, or put values first that work")
        with np.load(Path(name) / f"{outcome.code_hash}.npz") as data:
            return {key: data[key] for key in data}
