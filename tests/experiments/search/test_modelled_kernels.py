"""The kernels of plans that models choose: judged as they are generated, and those that models leave to start plans."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import pytest

from experiments.search import modelled
from experiments.search.costs import find_model, planned
from experiments.search.modelled import MAKERS, model_plans
from experiments.search.spaces import make_reachable_space
from experiments.values.options import Budget, RunOptions
from explorer.plan_makers.choices import Grouping
from explorer.plan_makers.products import summed
from explorer.registry import PLAN_MAKERS
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan
from generator.schedules.stages import Stages
from graph.reaching import walk_to
from metrics.costs.base import Cost, Judgement, PlannedKernel, Refused
from metrics.costs.device import CostDevice, cost_device
from metrics.costs.groups import Group
from metrics.costs.sioutas import Sioutas
from tests.support.slow import few
from tests.support.suite import pipeline_program
from tests.support.targets import CPU, CUDA

OPTIONS = RunOptions("test.py", Compilation(), Budget(evaluations=1), space="pipeline")


def places_of(plan: Plan) -> dict[str, str]:
    """Where the stages are computed that have no kernels of their own."""
    assert isinstance(plan.schedule, Stages)
    return dict(plan.schedule.computed)


def test_the_reasons_have_the_tiles_and_figures_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device may offer smaller tiles than the model chose: the model judges those."""
    program = pipeline_program("harris", "small")

    def smaller(wanted: KernelPlan, known: Known) -> KernelPlan:
        return nearest(replace(wanted, tile=tuple(min(size, 8) for size in wanted.tile)), known)

    monkeypatch.setattr(modelled, "nearest", smaller)
    found = modelled.model_plans.__wrapped__(program, CPU, "polymage-dp", 1)
    assert {kernel.tile for kernel in found.plans[0].kernels} == {(8, 8)}
    [judged] = [find_model("polymage", CPU).judge(one, cost_device(CPU)) for one in planned(program, found.plans[0])]
    assert isinstance(judged, Cost)
    terms = {term.name: term.value for term in judged.terms}
    assert found.reasons[0].endswith(f"in one kernel: tiles of 8x8, {terms['shared memory'] / 1024:.1f} KB shared, "
                                     f"{terms['computed again']:.0f} % recomputed")


@pytest.mark.parametrize(("name", "maker"), few(
    product(("bilateral_grid", "depthwise_conv", "nl_means"), PLAN_MAKERS),
    (("bilateral_grid", "polymage-dp"), ("bilateral_grid", "sioutas"))))
def test_plans_for_cpus_are_what_their_model_accepts_and_users_read(name: str, maker: str) -> None:
    """Threads run whole rows of arrays of four dimensions: tiles that the model compares have them, too."""
    program, model = pipeline_program(name, "medium"), find_model(maker.removesuffix("-dp"), CPU)
    found = model_plans(program, CPU, maker, 6)
    sums = modelled._sums(program, CPU)
    for place, plan in enumerate(found.plans):
        for one in planned(program, plan):
            if not isinstance(one.group, Group) or summed(one.group, sums):
                continue
            judged = model.judge(one, cost_device(CPU))
            assert isinstance(judged, Cost), judged
            kib = next(term.value for term in judged.terms if term.name == "shared memory") / 1024
            if place == 0 and one.group.members:
                [told] = [line for line in found.reasons if f"{one.group.output} in one kernel" in line]
                [tile] = re.findall(r"tiles of ([\dx]+)", told)
                assert tuple(map(min, map(int, tile.split("x")), one.group.extents)) == one.tile, (one.tile, told)
                assert f"{kib:.1f} KB shared" in told, (kib, told)


@pytest.mark.parametrize(("name", "maker"), few(
    product(("max_filter", "unsharp", "harris", "blur", "bilateral_grid", "camera_pipe", "nl_means"), PLAN_MAKERS),
    (("max_filter", "polymage-dp"), ("unsharp", "sioutas"), ("bilateral_grid", "polymage-dp"))))
def test_the_shared_memory_of_plans_for_gpus_is_what_their_model_says(name: str, maker: str) -> None:
    """Also of tiles of warps with parts in registers, whose stages begin elsewhere than the output (max_filter)."""
    program, model = pipeline_program(name, "medium"), find_model(maker.removesuffix("-dp"), CUDA)
    for plan in model_plans(program, CUDA, maker, 3).plans:
        bytes_of = {kernel.statements: kernel.local_bytes for kernel in lower(program, plan, CUDA).kernels}
        for one in planned(program, plan):
            if isinstance(one.group, Group) and one.group.members:
                judged = model.judge(one, cost_device(CUDA))
                assert isinstance(judged, Cost)
                shared = next(term.value for term in judged.terms if term.name == "shared memory")
                assert shared == bytes_of[one.statements], (one.group.output, one.tile, one.in_registers)


class Picky:
    """Sioutas' model, which refuses kernels with some tile (None: all)."""

    name = "sioutas"

    def __init__(self, tile: tuple[int, ...] | None) -> None:
        self.tile = tile

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """See CostModel."""
        return Refused("not this tile") if self.tile in (None, kernel.tile) else Sioutas().judge(kernel, device)


def test_plans_that_their_model_refuses_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    program = pipeline_program("unsharp", "medium")
    made, plans = MAKERS["sioutas"](program, CPU, 5, None), model_plans(program, CPU, "sioutas", 5).plans
    [best, *others] = [planned(program, plan)[0].tile for plan in plans]
    second = next(plan for plan, tile in zip(plans[1:], others, strict=True) if tile != best)
    monkeypatch.setattr(modelled, "MAKERS", {"some": lambda *_: replace(made, model=Picky(best)),
                                             "none": lambda *_: replace(made, model=Picky(None))})
    assert model_plans(program, CPU, "some", 5).plans[0] == second
    with pytest.raises(InputError, match=r"no plan of `none` is legal for unsharp \(.*the kernel that stores "
                                         r"`unsharp`, tiles of [\dx]+.*: not this tile\)"):
        model_plans(program, CPU, "none", 5)


class Only:
    """Sioutas' model, which refuses all kernels but those of some grouping."""

    name = "sioutas"

    def __init__(self, grouping: Grouping) -> None:
        self.known = {(one.group.output, one.group.members) for one in grouping.kernels}

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """See CostModel."""
        assert isinstance(kernel.group, Group)
        known = (kernel.group.output, kernel.group.members) in self.known
        return Sioutas().judge(kernel, device) if known else Refused("not this kernel")


def test_the_stages_set_apart_are_those_of_the_plan_that_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model refuses the grouping that the plan maker has first."""
    program = pipeline_program("max_filter", "medium")
    made = MAKERS["sioutas"](program, CPU, 12, None)
    first, *others = [{kernel.group.output for kernel in one.kernels} for one in made.groupings]
    place = next(k for k, one in enumerate(others, 1) if one != first)
    monkeypatch.setattr(modelled, "MAKERS", {"some": lambda *_: replace(
        made, model=Only(made.groupings[place]), unjudged=lambda group, _: f"not with {group.output}")})
    found = model_plans.__wrapped__(program, CPU, "some", 12)
    stored = {one.group.output for one in planned(program, found.plans[0]) if isinstance(one.group, Group)}
    told = [line.split(" by kernels of ")[0].split(", ") for line in found.reasons if " by kernels of " in line]
    assert stored == others[place - 1]
    assert {name for names in told for name in names} == stored - {"filtered"}


@pytest.mark.parametrize(("name", "maker", "told"), [
    ("conv_layer", "sioutas", "conv (inlined), relu in one kernel as the start plans have it: a sum of products"),
    ("conv_layer", "polymage-dp", "conv as the start plans have it: a sum of products"),
    ("depthwise_conv", "sioutas",
     "mixed (inlined), filtered, relu in one kernel as the start plans have it: a sum of products"),
])
def test_sums_of_products_on_cpus_are_as_the_start_plans_have_them(name: str, maker: str, told: str) -> None:
    """Their speed depends on sums in registers, which models do not know: in conv_layer it differs by a factor of 18.
    """
    program = pipeline_program(name, "medium")
    [array] = sums = modelled._sums(program, CPU)
    found = model_plans(program, CPU, maker, 3)
    assert found.reasons[0] == told and not modelled._sums(program, CUDA)
    for plan in found.plans:
        assert isinstance(plan.schedule, Stages) and plan.schedule.launches, "threads of neighbours along rows"
        assert places_of(plan).get(array) != "block"
        usual = start_plans(program, CPU, plan.schedule)[0]
        [own] = [one.statements for one in planned(program, plan)
                 if isinstance(one.group, Group) and summed(one.group, sums)]
        assert plan.kernel(own) == nearest(usual.kernel(own), Known(
            next(shape for shape in kernel_shapes(program, plan.schedule) if shape.statements == own), CPU, True))
    assert walk_to(make_reachable_space(program, CPU, OPTIONS), found.plans[0]).plan == found.plans[0]
