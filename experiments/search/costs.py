"""Costs of plans by a cost model: of each kernel, and of the whole plan."""

from __future__ import annotations

from dataclasses import dataclass

from generator.dataflow import Dataflow
from generator.errors import InputError
from generator.facts import KernelFacts
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.analysis.planned import Cut, cut_kernels
from generator.plan import Plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.storage import laid_out
from generator.program import Program
from generator.target import Target
from metrics.costs.base import Cost, CostModel, Judgement, PlannedKernel, Refused
from metrics.costs.constants import Calibration
from metrics.costs.device import cost_device
from metrics.costs.groups import Group
from metrics.costs.models import MODELS, make_model


@dataclass(frozen=True, slots=True)
class JudgedKernel:
    """A kernel of a plan with a model's judgement of it."""

    name: str
    kernel: PlannedKernel
    judgement: Judgement


def find_model(name: str, target: Target, calibration: Calibration | None = None) -> CostModel:
    """Return the cost model `name` for a device. Raises InputError if there is none."""
    if name not in MODELS:
        raise InputError(f"unknown cost model {name!r}; use one of {', '.join(MODELS)}")
    return make_model(name, cost_device(target), calibration)


def judge(program: Program, plan: Plan, target: Target, model: CostModel) -> tuple[JudgedKernel, ...]:
    """Return the judgements of `model` on the kernels of `plan`, in launch order.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence.
    """
    flow, device = _flow(program, plan), cost_device(target)
    found = []
    for facts, cut in zip(kernel_facts(program, plan, target), cut_kernels(program, plan, flow), strict=True):
        kernel = _planned(flow, cut, facts)
        found.append(JudgedKernel(facts.name, kernel, model.judge(kernel, device)))
    return tuple(found)


def predicted(program: Program, plan: Plan, target: Target, model: CostModel) -> Cost | Refused:
    """Return the cost of a whole plan by a model that needs no generated code, without generating any.

    Raises:
        IllegalPlan: the plan does not fit the program.
    """
    device = cost_device(target)
    return total(
        tuple(JudgedKernel(" ".join(one.statements), one, model.judge(one, device)) for one in planned(program, plan))
    )


def planned(program: Program, plan: Plan) -> tuple[PlannedKernel, ...]:
    """Return the kernels of a plan, without their code. Raises IllegalPlan if the plan does not fit the program."""
    flow = _flow(program, plan)
    return tuple(_planned(flow, cut, None) for cut in cut_kernels(program, plan, flow))


def _flow(program: Program, plan: Plan) -> Dataflow:
    """Return the dataflow of a program as a plan stores its arrays."""
    return dataflow(laid_out(program, plan.scheduled)[0])


def _planned(flow: Dataflow, cut: Cut, facts: KernelFacts | None) -> PlannedKernel:
    stored, timed = cut.stored, cut.stored.timed
    group = Refused(stored.refusal) if stored.refusal else Group(
        timed.flow if timed else flow, stored.output, stored.members, frozenset(stored.inlined),
        timed.boxes if timed else (), stored.hosted)  # fmt: skip
    return PlannedKernel(
        stored.statements, group, cut.tile, cut.block, cut.level, cut.step, facts, cut.in_registers, cut.sums,
        timed.launches if timed else None, cut.whole, cut.points, cut.order)  # fmt: skip


def total(kernels: tuple[JudgedKernel, ...]) -> Cost | Refused:
    """Return the cost of a whole plan; refused if the model refuses one of its kernels."""
    number = 0.0
    for one in kernels:
        if isinstance(one.judgement, Refused):
            return Refused(f"{one.name}: {one.judgement.reason}")
        number += one.judgement.number
    return Cost(number, ())
