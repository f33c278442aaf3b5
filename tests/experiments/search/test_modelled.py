"""Plans that models choose: they are legal, the space has them, and who cannot be helped is told why."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from math import exp, log

import numpy as np
import pytest

from experiments.search import modelled
from experiments.search.costs import find_model, planned, predicted
from experiments.search.first_walks import BEST, check_models
from experiments.search.foretold import ForetoldSpace, Judge
from experiments.search.modelled import MAKERS, model_plans, walks_of_models
from experiments.search.parts import PARTS
from experiments.search.spaces import make_reachable_space
from experiments.values.options import Budget, RunOptions
from explorer.registry import EXPLORERS, PLAN_MAKERS
from generator.decisions.deciding import nearest_to
from generator.errors import IllegalPlan, InputError
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import start_plans, unrated_plan
from generator.plan import Plan
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.memory.boxes import ring_rows
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from generator.variant import Variant
from graph.foretelling import foresight_of, foretelling_of, foretold_alone
from graph.reaching import NotOnOffer, walk_to
from graph.stage_graph import stage_graph_of
from metrics.costs.base import Cost, Judgement, PlannedKernel
from metrics.costs.device import CostDevice, cost_device
from metrics.costs.groups import Group
from metrics.costs.sioutas import Sioutas
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.space_plans import FORESEEN
from tests.support.stages import SMALL, case
from tests.support.suite import pipeline_program
from tests.support.targets import CPU, CUDA

OPTIONS = RunOptions("test.py", Compilation(), Budget(evaluations=1), space="pipeline")
BLURS = """
  for (i = 0; i < 62; i++) for (j = 0; j < 64; j++) t[i][j] = A[i][j] + A[i + 1][j] + A[i + 2][j];
  for (i = 0; i < 62; i++) for (j = 0; j < 62; j++) B[i][j] = t[i][j] + t[i][j + 1] + t[i][j + 2];
"""


def c_program(body: str = BLURS) -> Program:
    return expand(
        program_of(
            scop(body, "double A[64][64], B[64][64], t[64][64]; int idx[64];")
            .replace("double A[64][64], B[64][64], t[64][64]", "double A[64][64], B[64][64]")
            .replace("#pragma scop", "#pragma scop\n  double t[62][64];")
        )
    )


def places_of(plan: Plan) -> dict[str, str]:
    """Where the stages are computed that have no kernels of their own."""
    assert isinstance(plan.schedule, Stages)
    return dict(plan.schedule.computed)


NAMES = ("unsharp", "harris", "bilateral_grid", "camera_pipe", "interpolate", "depthwise_conv", "iir_blur",
         "histogram_equalize")


@pytest.mark.parametrize(("name", "maker", "target"), few(product(NAMES, PLAN_MAKERS, (CPU, CUDA)), (
    ("unsharp", PLAN_MAKERS[0], CUDA), ("unsharp", PLAN_MAKERS[1], CPU), ("harris", PLAN_MAKERS[0], CPU))))
def test_the_plans_of_models_are_legal_and_the_space_has_them(name: str, maker: str, target: Target) -> None:
    program = pipeline_program(name, "medium")
    found = model_plans(program, target, maker, 3)
    space = make_reachable_space(program, target, OPTIONS)
    for plan in found.plans[:2]:
        assert lower(program, plan, target).kernels
    walks = list(walks_of_models([found], space))
    assert walks and walks[0].plan == found.plans[0]
    stores_all = name == "iir_blur" or (name, maker) == ("depthwise_conv", "polymage-dp")
    assert any(map(places_of, found.plans)) != stores_all and found.reasons
    assert len(found.differences) == len(found.plans) - 1 and len({*found.differences}) == len(found.differences)


@pytest.mark.parametrize(("name", "maker"), few([("bilateral_grid", "sioutas"), ("conv_layer", "polymage-dp")], 1))
def test_plans_for_gpus_cost_what_their_makers_say(name: str, maker: str) -> None:
    """Arrays of four dimensions have launches of three, in which neighbouring threads are neighbours along rows."""
    program, device = pipeline_program(name, "medium"), cost_device(CUDA)
    [said, *_] = MAKERS[maker](program, CUDA, 1, None).groupings
    plan = model_plans(program, CUDA, maker, 1).plans[0]
    assert isinstance(plan.schedule, Stages) and plan.schedule.launches
    costs = {kernel.group.output: kernel.cost.number for kernel in said.kernels}
    shared = {kernel.statements: kernel.local_bytes for kernel in lower(program, plan, CUDA).kernels}
    model, deep = find_model(maker.removesuffix("-dp"), CUDA), 0
    for one in planned(program, plan):
        if isinstance(one.group, Group):
            judged = model.judge(one, device)
            assert isinstance(judged, Cost) and judged.number == pytest.approx(costs[one.group.output])
            terms = {term.name: term.value for term in judged.terms}
            assert terms["shared memory"] == shared[one.statements] or one.sums
            deep += one.group.hosted
    assert deep, "some array has four dimensions"


def test_plans_that_cannot_be_lowered_are_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    program = pipeline_program("harris", "small")
    best, *others = model_plans(program, CUDA, "sioutas", 4).plans

    def picky(program: Program, plan: Plan, target: Target) -> Variant:
        if plan == best:
            raise IllegalPlan("not today")
        return lower(program, plan, target)

    monkeypatch.setattr(modelled, "lower", picky)
    found = modelled.model_plans.__wrapped__(program, CUDA, "sioutas", 4)
    assert found.plans[0] == others[0] and best not in found.plans
    assert found.reasons[-1] == "1 of the best plans left out: not today"


@in_turn
def test_stages_in_the_loop_over_rows_are_a_plan_of_the_space_with_right_results() -> None:
    """Rows of t are shared along j only: blocks walk, and keep the rows of a step, as the model says."""
    program = expand(program_of(
        scop(BLURS.replace("62", "94").replace("64", "96"), "double A[96][96], B[94][94];")
        .replace("#pragma scop", "#pragma scop\n  double t[94][96];")
    ))
    plans = model_plans(program, CUDA, "sioutas", BEST).plans
    [plan] = [plan for plan in plans if any(kernel.walk for kernel in plan.kernels)]
    assert any(places_of(other) == {"t": "block"} and not other.kernels[0].walk for other in plans), "overlapped tiles"
    assert walk_to(make_reachable_space(program, CUDA, OPTIONS), plan).plan == plan
    [one], [kernel] = planned(program, plan), lower(program, plan, CUDA).kernels
    judged = find_model("sioutas", CUDA).judge(one, cost_device(CUDA))
    assert isinstance(judged, Cost)
    shared = next(term.value for term in judged.terms if term.name == "shared memory")
    assert one.step is not None and one.step[0] == 0
    assert shared == kernel.local_bytes == 8 * ring_rows(one.step[1]) * (one.tile[1] + 2)
    assert not differences(program, run_plan(program, plan, np.random.default_rng(0)), run_original(program))


@pytest.mark.parametrize("order", [1, -1])
def test_nested_stages_that_no_plan_computes_are_left_out_and_named(
        order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No space offers steps of 3 rows. The nested stages that plans can compute stay, whichever cost less."""
    program = pipeline_program("unsharp", "medium")
    made = MAKERS["sioutas"](program, CUDA, 4, None)
    [nested] = [one for one in made.groupings if one.note]
    others = tuple(one for one in made.groupings if not one.note)
    [kernel] = nested.kernels
    assert kernel.step is not None
    odd = replace(nested, kernels=(replace(kernel, step=(kernel.step[0], 3)),), note="odd rows")
    given = [replace(made, groupings=(*((odd, nested)[::order]), *others)), replace(made, groupings=(odd, *others))]
    makers = {f"{k} {order}": (lambda *_, one=one: one) for k, one in enumerate(given)}
    monkeypatch.setattr(modelled, "MAKERS", makers)
    both, alone = (model_plans(program, CUDA, name, 3) for name in makers)
    for found in both, alone:
        [reason] = [reason for reason in found.reasons if "odd rows" in reason]
        assert re.fullmatch(r"no plan computes odd rows: tiles of .* in steps of 3 rows.* are not on offer for `\w+`",
                            reason)
    assert any(kernel.walk for plan in both.plans for kernel in plan.kernels)
    assert alone.plans and not any(kernel.walk for plan in alone.plans for kernel in plan.kernels)
    assert model_plans(program, CUDA, f"1 {order}", 1).plans == alone.plans[:1]


def test_plans_for_devices_with_shuffles_have_fractions_in_registers() -> None:
    program = pipeline_program("harris", "medium")
    plan = model_plans(program, CUDA, "polymage-dp", 1).plans[0]
    assert [kernel.level for kernel in plan.kernels if kernel.in_registers] == ["sub-group"]
    assert walk_to(make_reachable_space(program, CUDA, OPTIONS), plan).plan == plan


def test_c_programs_have_stages_too() -> None:
    program = c_program()
    for maker in PLAN_MAKERS:
        [plan, *_] = model_plans(program, CPU, maker, BEST).plans
        assert places_of(plan).keys() <= {"t"}
        assert lower(program, plan, CPU).kernels
        assert walk_to(make_reachable_space(program, CPU, OPTIONS), plan).plan == plan


def test_searches_may_begin_with_the_plans_of_a_beam() -> None:
    program, asked = pipeline_program("blur", "medium"), replace(OPTIONS, models=("beam",))
    alone = replace(OPTIONS, explorer="beam")
    beam = PARTS.make_explorer("beam", PARTS.make_space(program, CPU, alone), alone.seed, ())
    walks = PARTS.starts(program, CPU, asked)
    assert walks[0].plan == beam.ask(1)[0].plan
    assert len({walk.identity for walk in walks}) == len(walks) > 3
    [told] = PARTS.reasons(program, CPU, asked)
    assert re.fullmatch(r"beam: 1 kernel, the cheapest of \d+ prefixes by the model `learned`", told)
    without = program_of(scop("for (i = 0; i < 64; i++) y[i] = x[i] + 1.0;"))
    assert len(PARTS.starts(without, CPU, asked)) > 1, "nothing to place, but sizes"


@pytest.mark.parametrize(("name", "maker"), few(product(("bilateral_grid", "iir_blur"), (*PLAN_MAKERS, "beam")), (
    ("iir_blur", "sioutas"), ("bilateral_grid", "beam"))))
def test_kernels_that_no_model_can_judge_are_those_of_a_start_plan(name: str, maker: str) -> None:
    program, beam = pipeline_program(name), "width=2,passes=1" if maker == "beam" else ""
    asked = replace(OPTIONS, models=(maker,), beam=beam)
    plan = PARTS.starts(program, CPU, asked)[0].plan
    assert isinstance(plan.schedule, Stages)
    left = {word for node in dataflow(program).nodes if node.refusal for word in node.statements}
    unrated = [kernel for kernel in plan.kernels if not left.isdisjoint(kernel.statements)]
    start = unrated_plan(program, CPU, plan.schedule)
    shapes = {shape.statements: shape for shape in kernel_shapes(program, plan.schedule)}
    assert unrated and unrated == [nearest_to(start.kernel(names), shapes[names], CPU, True)[0]
                                   for names in (kernel.statements for kernel in unrated)]
    array = "histogram" if name == "bilateral_grid" else "blur_y"
    told = f"{array} by kernels of its own, as the start plans have them: `{array}` is not computed element by element"
    assert any(line.startswith(f"{maker}: {told}") for line in PARTS.reasons(program, CPU, asked))
    if maker == "beam":
        both = [PARTS.reasons(program, CPU, replace(asked, explorer="beam", models=names)) for names in ((), (maker,))]
        assert [sum(line.startswith(f"beam: {told}") for line in lines) for lines in both] == [1, 1], "not twice"
    assert "transposed_y" not in places_of(plan), "the loops of blur_x would read columns"


def test_a_program_without_arrays_between_others_is_refused() -> None:
    program = expand(program_of(scop("for (i = 0; i < 64; i++) y[i] = x[i] + 1.0;")))
    with pytest.raises(
        InputError, match="model of `sioutas` can judge: it computes no array between"
    ):
        model_plans(program, CPU, "sioutas", BEST)


def test_an_array_that_the_program_keeps_is_no_stage_and_is_named() -> None:
    body = ("for (i = 0; i < 64; i++) y[i] = x[i] + 1.0; "
            "for (i = 0; i < 16; i++) for (j = 0; j < 16; j++) B[i][j] = y[i] + y[j];")
    with pytest.raises(InputError, match=r"`y` may be read after the loops, .* declare it in the function or"):
        model_plans(expand(program_of(scop(body))), CPU, "sioutas", BEST)


def test_a_program_that_models_cannot_judge_is_refused_with_the_reason() -> None:
    program = expand(program_of(scop("for (i = 0; i < 64; i++) y[idx[i]] += x[i];")))
    with pytest.raises(InputError, match="`y` is not computed element by element"):
        model_plans(program, CPU, "polymage-dp", BEST)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (replace(OPTIONS, models=("oracle",)), "there is no plan maker 'oracle'; use one of sioutas, polymage-dp, b"),
        (replace(OPTIONS, models=("sioutas",), space="wide"), "not a decision in the space `wide`; use --space"),
        (replace(OPTIONS, explorer="polymage-dp", space="tiles"), "use --space pipeline"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: RunOptions, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_models(options)


def test_the_explorers_are_those_that_there_are_makers_for() -> None:
    assert {*PLAN_MAKERS} == {*MAKERS} <= {*EXPLORERS}


def test_other_explorers_begin_with_plans_of_each_model_and_usual_ones_in_turns() -> None:
    program = pipeline_program("unsharp", "medium")
    usual = PARTS.starts(program, CPU, OPTIONS)
    starts = PARTS.starts(program, CPU, replace(OPTIONS, models=PLAN_MAKERS))
    first = [model_plans(program, CPU, maker, 5).plans[0] for maker in PLAN_MAKERS]
    assert [walk.plan for walk in starts[:4]] == [first[0], usual[0].plan, first[1], usual[1].plan]
    assert {walk.identity for walk in usual} <= {walk.identity for walk in starts}
    assert len({walk.identity for walk in starts}) == len(starts)


def test_plans_that_the_space_has_not_are_refused_with_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """No space offers tiles of 5 points; a model that wants them is followed only where others are followed, too."""
    program = pipeline_program("unsharp", "medium")
    found = model_plans(program, CPU, "sioutas", 2)
    odd = [replace(plan, kernels=tuple(replace(one, tile=(*one.tile[:-1], 5)) for one in plan.kernels))
           for plan in found.plans]
    monkeypatch.setattr(modelled, "model_plans", lambda *_: replace(found, plans=tuple(odd)))
    with pytest.raises(NotOnOffer, match=r"tile.* is .*5.*; on offer: "):
        PARTS.starts(program, CPU, replace(OPTIONS, explorer="sioutas"))
    assert PARTS.starts(program, CPU, replace(OPTIONS, models=("sioutas",)))


def test_a_model_that_is_the_explorer_is_all_there_is_to_begin_with() -> None:
    program = pipeline_program("unsharp", "medium")
    options = replace(OPTIONS, explorer="sioutas")
    starts = PARTS.starts(program, CPU, options)
    plans = model_plans(program, CPU, "sioutas", BEST).plans
    assert [walk.plan for walk in starts] == [*plans][: len(starts)] and len(starts) > 5
    space = PARTS.make_space(program, CPU, options)
    assert [walk.plan for walk in PARTS.make_explorer("sioutas", space, 0, starts).ask(3)] == [*plans[:3]]
    assert any("in one kernel" in reason for reason in PARTS.reasons(program, CPU, options))
    assert PARTS.reasons(program, CPU, OPTIONS) == ()


@pytest.mark.parametrize("seed", few([*range(24)], 1))
def test_plans_of_models_for_random_pipelines_are_right(seed: int) -> None:
    program = case(seed).program
    original = run_original(program)
    for maker in PLAN_MAKERS:
        try:
            found = model_plans(program, SMALL, maker, 2)
        except InputError as error:
            assert "can judge" in str(error) or "is legal" in str(error)
            continue
        for plan in found.plans:
            try:
                memory = run_plan(program, plan, np.random.default_rng(seed))
            except IllegalPlan as illegal:
                assert any(words in str(illegal) for words in FORESEEN), illegal
            else:
                assert not differences(program, memory, original), (seed, plan.to_json())


def test_a_space_that_foretells_is_the_same_space() -> None:
    program = pipeline_program("unsharp", "medium")
    inside = make_reachable_space(program, CPU, OPTIONS)
    space = PARTS.make_space(program, CPU, replace(OPTIONS, foretell="sioutas"))
    assert isinstance(space, ForetoldSpace) and foretelling_of(inside) is None
    plan = model_plans(program, CPU, "sioutas", 3).plans[0]
    assert walk_to(space, plan) == walk_to(inside, plan)
    assert stage_graph_of(space) == stage_graph_of(inside)
    whole = predicted(program, plan, CPU, find_model("sioutas", CPU))
    assert space.foretell is not None and space.foresee is None and foresight_of(space) is None
    assert isinstance(whole, Cost) and space.foretell(plan).program == pytest.approx(log(whole.number))
    large = replace(plan, kernels=tuple(replace(kernel, tile=(4, 256, 2048), walk=0) for kernel in plan.kernels))
    assert space.foretell(large).program is None, "more than a core's cache holds"
    assert not foretold_alone(space) and not foretold_alone(inside)
    alone = PARTS.make_space(program, CPU, replace(OPTIONS, foretell="only:sioutas"))
    assert foretold_alone(alone) and (told := foretelling_of(alone)) is not None
    assert told(plan) == space.foretell(plan)


def test_the_learned_model_foretells_too() -> None:
    program = pipeline_program("unsharp", "medium")
    space = PARTS.make_space(program, CPU, replace(OPTIONS, foretell="learned"))
    plan = model_plans(program, CPU, "sioutas", 1).plans[0]
    whole = predicted(program, plan, CPU, find_model("learned", CPU))
    assert isinstance(space, ForetoldSpace) and space.foretell is not None and isinstance(whole, Cost)
    assert space.foretell(plan).program == pytest.approx(log(whole.number))


def test_a_kernel_is_judged_once_whatever_the_others_of_its_plan_are(monkeypatch: pytest.MonkeyPatch) -> None:
    program, asked = pipeline_program("bilateral_grid", "medium"), list[tuple[str, ...]]()
    model, plan = find_model("sioutas", CPU), model_plans(program, CPU, "sioutas", 1).plans[0]
    judge = Sioutas.judge

    def counted(self: Sioutas, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        asked.append(kernel.statements)
        return judge(self, kernel, device)

    monkeypatch.setattr(Sioutas, "judge", counted)
    known = Judge(program, CPU, model)
    known.foresee(plan)
    known.foresee(plan)
    assert sorted(asked) == sorted(kernel.statements for kernel in plan.kernels)
    first, *others = plan.kernels
    known.foresee(replace(plan, kernels=(replace(first, tile=(1,) * len(first.tile)), *others)))
    assert asked[len(plan.kernels) :] == [first.statements]


def test_inputs_that_are_inlined_into_arrays_that_no_model_can_judge_are_left_out_with_these() -> None:
    program, model = pipeline_program("bilateral_grid", "medium"), find_model("sioutas", CPU)
    judge, found = Judge(program, CPU, model), list[bool]()
    for inlined in ((), (("repeat_edge", "inline"),)):
        plan = start_plans(program, CPU, Stages((("interpolated", "inline"), *inlined)))[0]
        found.append(judge.foresee(plan).program is not None)
    assert found == [True, True]


def test_what_models_leave_out_of_foretold_costs_is_said_and_a_program_that_is_all_that_is_refused() -> None:
    program = pipeline_program("bilateral_grid", "medium")
    told = PARTS.reasons(program, CPU, replace(OPTIONS, foretell="sioutas", foresee="sioutas"))
    assert told and all(line.startswith("sioutas: what is foretold leaves ") for line in told)
    assert len({*told}) == len(told)
    scattered = program_of(
        scop("for (i = 0; i < 24; i++) t[u[i] % 24] += in[i];", "int in[24], t[24]; unsigned char u[24];")
    )
    with pytest.raises(InputError, match="nothing that the model `polymage` can judge: `t` is not computed element by"):
        PARTS.reasons(scattered, CPU, replace(OPTIONS, foresee="polymage"))


def test_ants_foresee_the_cost_of_each_kernel_and_of_the_program() -> None:
    program = pipeline_program("bilateral_grid", "medium")
    space = PARTS.make_space(program, CPU, replace(OPTIONS, foresee="sioutas"))
    assert isinstance(space, ForetoldSpace) and space.foretell is None and space.foresee is not None
    plan = model_plans(program, CPU, "sioutas", 1).plans[0]
    found = space.foresee(plan)
    left = {kernel.statements for kernel in plan.kernels} - set(found.kernels)
    assert 0 < len(left) < len(plan.kernels), "what no model can judge is there in every plan"
    assert found.program == pytest.approx(log(sum(exp(cost) for cost in found.kernels.values())))
