"""Plans of the plan makers `sioutas` and `polymage-dp`, which use cost models: the walks to them and the reasons.

A plan maker decides where each stage is computed and how each kernel is tiled. The other decisions of a kernel are
those of the first start plan. Sizes that a device does not offer are replaced by the next smaller ones, except in
kernels that walk: without the chosen tile and steps there is no plan. The model then judges the kernels of the plan:
plans are sorted by these costs, users read these figures, and a plan with a kernel that the model refuses is left out.

Arrays that the model cannot judge have kernels of their own, those of a start plan (`unrated_plan`). On CPUs, kernels
with sums of products are those of start plans, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import TypeAlias

from experiments.search.costs import planned
from explorer.plan_makers.choices import Choice, Grouping, Made, kept
from explorer.plan_makers.dynamic import dynamic_plans
from explorer.plan_makers.greedy import greedy_plans
from explorer.plan_makers.words import brief_words, reasons, step_words
from generator.dataflow import Dataflow
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.decisions.size_lists import cover
from generator.decisions.walk import walked
from generator.errors import IllegalPlan, InputError
from generator.lowering import lower
from generator.lowering.analysis.planned import Stored, stored_kernels, turned
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.heuristics.orders import dataflow_in_order, in_order
from generator.lowering.heuristics.row_sums import sums_products
from generator.lowering.heuristics.serial_loops import serial_stages
from generator.lowering.heuristics.starts import start_plans, unrated_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.stage_facts import computed_arrays
from generator.program import Program, Where
from generator.schedules.stages import Stages
from generator.target import Target
from graph.deep import MANY_TERMS, around_launches
from graph.reaching import NotOnOffer, Reachable, walk_to
from graph.walk import Walk
from metrics.costs.base import CostModel, Refused
from metrics.costs.calibration import polymage_of, sioutas_of
from metrics.costs.constants import Calibration
from metrics.costs.device import cost_device

_INLINE: Where = "inline"
_BLOCK: Where = "block"


@dataclass(frozen=True, slots=True)
class ModelPlans:
    """The plans of one plan maker, best first, the reasons for the best one, a sentence per line, and for each further
    one its difference from the best (empty: not known).
    """

    plans: tuple[Plan, ...]
    reasons: tuple[str, ...]
    differences: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def model_plans(
    program: Program, target: Target, maker: str, count: int, calibration: Calibration | None = None
) -> ModelPlans:
    """Return the `count` best plans of the plan maker `maker`.

    Raises:
        InputError: the program has no stages that the model can judge, or none of the plans is legal.
    """
    flow, device = dataflow_in_order(program), cost_device(target)
    made = MAKERS[maker](program, target, count, calibration)
    if not made.groupings or not any(node.stage for node in flow.nodes):
        raise InputError(f"{program.name} has no stages that the model of `{maker}` can judge: {_why_none(flow, made)}")
    plans, without = _expressed(program, target, made)
    without += _dropped(program, target, plans)
    if not plans:
        why = "".join(f" ({one})" for one in without[:1])
        raise InputError(f"no plan of `{maker}` is legal for {program.name}{why}")
    best = kept(plans, count)
    differences = tuple(brief_words(one, best[0], device.host) for one in best[1:])
    told = (*reasons(replace(made, groupings=best), device.host), *without)
    return ModelPlans(tuple(plans[one] for one in best), told, differences)


def _expressed(program: Program, target: Target, made: Made) -> tuple[dict[Grouping, Plan], list[str]]:
    """Return different plans by their groupings, the best first, and why there is none with some nested stages, a
    sentence each; without any plan, why not.
    """
    plans, without, others = dict[Plan, Grouping](), list[str](), list[str]()
    for grouping in made.groupings:
        found = _plan(program, target, grouping)
        found = found if isinstance(found, str) else _judged(program, target, *found, made.model)
        if not isinstance(found, str):
            plans.setdefault(*found)
        elif grouping.note:
            without.append(f"no plan computes {grouping.note}: {found}")
        else:
            others.append(found)
    ordered = sorted(plans.items(), key=lambda one: one[1].cost)
    return {grouping: plan for plan, grouping in ordered}, without if plans else [*without, *others[:1]]


def _judged(program: Program, target: Target, plan: Plan, grouping: Grouping,
            model: CostModel) -> tuple[Plan, Grouping] | str:
    """Return the plan and its grouping with the costs of its kernels by the model; why the model refuses one.

    Kernels left to start plans keep the cost of the model's best tile: it does not know which tiles are fast in them.
    """
    device, found = cost_device(target), list[Choice]()
    kernels = {one.group.output: one for one in planned(program, plan) if not isinstance(one.group, Refused)}
    for choice in grouping.kernels:
        if choice.summed:
            found.append(choice)
            continue
        kernel = kernels.get(choice.group.output)
        judged = model.judge(kernel, device) if kernel else Refused("its kernel is not one that models know")
        if isinstance(judged, Refused):
            return f"the kernel that stores `{choice.group.output}`, {step_words(choice)}: {judged.reason}"
        found.append(replace(choice, cost=judged))
    return plan, replace(grouping, kernels=tuple(found))


def _dropped(program: Program, target: Target, plans: dict[Grouping, Plan]) -> list[str]:
    """Remove the best plans up to the first legal one, which will be announced; return why, in a sentence.

    The others are not lowered here: that takes a second for each in large programs, and a search does it anyway.
    """
    why = list[str]()
    for grouping in [*plans]:
        try:
            lower(program, plans[grouping], target)
            break
        except IllegalPlan as illegal:
            del plans[grouping]
            why.append(str(illegal))
    return [f"{len(why)} of the best plans left out: {why[0]}"] if why else []


def _why_none(flow: Dataflow, made: Made) -> str:
    """Return the reason why a program has no stages to place."""
    if made.left:
        return "; ".join(dict.fromkeys(one.reason for one in made.left))
    seen = [node.array for node in flow.nodes if node.seen and flow.readers(node.array)]
    if seen:
        return (
            f"`{seen[0]}` may be read after the loops, so it has to be stored (in C: declare it in the function or "
            "between the pragmas to prevent that)"
        )
    return "it computes no array between others"


def walks_of_models(found: Sequence[ModelPlans], space: Reachable) -> Iterator[Walk]:
    """Yield the walks through `space` to the plans of all plan makers in turn, best first; plans outside `space` are
    skipped.
    """
    for place in range(max((len(one.plans) for one in found), default=0)):
        for one in found:
            if place < len(one.plans) and (walk := _walk(space, one.plans[place])) is not None:
                yield walk


def _walk(space: Reachable, plan: Plan) -> Walk | None:
    try:
        return walk_to(space, plan)
    except NotOnOffer:  # the inlined code would be too long, or the stages do not fit a small tile
        return None


def _sioutas(program: Program, target: Target, count: int, calibration: Calibration | None) -> Made:
    device = cost_device(target)
    model = sioutas_of(calibration, device)
    return greedy_plans(dataflow_in_order(program), device, model, count, launches=_launches(program, target),
                        sums=_sums(program, target))


def _polymage(program: Program, target: Target, count: int, calibration: Calibration | None) -> Made:
    flow, device = dataflow_in_order(program), cost_device(target)
    return dynamic_plans(flow, device, polymage_of(calibration), count, launches=_launches(program, target),
                         sums=_sums(program, target))


def _launches(program: Program, target: Target) -> bool:
    """Return whether plans for `target` run the outermost of more than three dimensions around launches, as start plans
    do: otherwise rows are loops inside a thread.
    """
    return around_launches(computed_arrays(program), target)


def _sums(program: Program, target: Target) -> frozenset[str]:
    """Return the long sums of products on a CPU: models do not know what makes them fast there."""
    return frozenset(one.array for one in computed_arrays(program) if target.shares_host_cores
                     and one.terms >= MANY_TERMS
                     and any(sums_products(program, program.statement(name)) for name in one.statements))


Maker: TypeAlias = Callable[[Program, Target, int, Calibration | None], Made]
"""Return up to the given number of groupings of a program's stages, and those with nested stages. A calibration
replaces the model's constants.
"""
MAKERS: Mapping[str, Maker] = MappingProxyType({"sioutas": _sioutas, "polymage-dp": _polymage})
"""The plan makers by the names of their explorers."""


def _plan(program: Program, target: Target, grouping: Grouping) -> tuple[Plan, Grouping] | str:
    """Return the plan of a grouping, and the grouping with what the plan has of it; the reason if it is illegal for the
    program or has no such steps.
    """
    places: dict[str, Where] = {}
    for kernel in grouping.kernels:
        places |= {**dict.fromkeys(kernel.group.inlined, _INLINE), **dict.fromkeys(kernel.group.members, _BLOCK)}
    placed = in_order(program, Stages(tuple(sorted(places.items())), launches=_launches(program, target)))
    schedule = serial_stages(program, target, placed)
    try:
        base, unrated = start_plans(program, target, schedule)[0], unrated_plan(program, target, schedule)
        stored = {one.statements: one for one in stored_kernels(program, schedule, dataflow_in_order(program))}
        shapes = kernel_shapes(program, schedule, target.language)
    except IllegalPlan as illegal:  # blocks cannot wait in the loops of some kernel
        return str(illegal)
    chosen = {kernel.group.output: kernel for kernel in grouping.kernels}
    found = list[KernelPlan]()
    for shape in shapes:
        output = stored[shape.statements].output
        start = base if output in chosen else unrated
        wanted = _kernel(start.kernel(shape.statements), stored[shape.statements], chosen, shape, target)
        found.append(nearest(wanted, Known(shape, target, True)))
        if output in chosen and not _has_steps(chosen[output], wanted, found[-1]):
            return f"{step_words(chosen[output])} are not on offer for `{output}`"
        if output in chosen:
            chosen[output] = _with_sizes(chosen[output], stored[shape.statements], found[-1])
    stepping = {output for output, choice in chosen.items() if choice.step is not None}
    if missing := stepping - {stored[one.statements].output for one in found}:
        return f"`{min(missing)}` has no kernel of its own"
    expressed = replace(grouping, kernels=tuple(chosen[kernel.group.output] for kernel in grouping.kernels))
    return replace(base, kernels=tuple(found)), expressed


def _with_sizes(choice: Choice, stored: Stored, found: KernelPlan) -> Choice:
    """Return the choice with what the plan has: the device may not offer all of it."""
    hosted = choice.group.hosted
    tile = [*choice.tile[:hosted], *choice.group.extents[hosted:]]
    for axis, size in zip(turned(stored.axes, found.order), found.tile, strict=True):
        tile[axis] = size
    return replace(choice, tile=tuple(tile), level=found.level, in_registers=found.in_registers)


def _has_steps(choice: Choice, wanted: KernelPlan, found: KernelPlan) -> bool:
    """Return whether a kernel walks over the chosen tile in the chosen steps, if it should walk: in others, its stages
    take more or less room than the model says.
    """
    return choice.step is None or bool(choice.summed) or (found.walk, set(found.whole), found.tile) == (
        choice.step[1], set(choice.whole), wanted.tile)


def _kernel(base: KernelPlan, stored: Stored, chosen: Mapping[str, Choice], shape: KernelShape,
            target: Target) -> KernelPlan:
    """Return the kernel tiled as the model chose; `base` if the model does not judge it, or not how fast it is."""
    choice = chosen.get(stored.output)
    if choice is None or choice.summed:
        return base
    axes = turned(stored.axes, base.order)
    tile = tuple(cover(choice.tile[axis]) for axis in axes)
    block = tuple(min(cover(choice.block[axis]), points) for axis, points in zip(axes, tile, strict=True))
    inside = shape.steps_on(target) and prod(tile) > prod(block)
    kernel = KernelPlan(base.statements, tile, block, order=base.order, registers=base.registers, points_inside=inside)
    if choice.step is not None:
        return replace(kernel, walk=choice.step[1] if axes[walked(len(axes))] == choice.step[0] else 0,
                       whole=choice.whole)
    if choice.level == "block":
        return kernel
    return replace(kernel, level=choice.level, in_registers=choice.in_registers, registers=False, points_inside=False)
