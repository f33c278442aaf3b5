"""Storage orders of intermediate arrays: where passes along rows and along columns meet."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from antune import halide as hl
from experiments.exports.flat import rows_of
from experiments.search.costs import find_model, predicted
from experiments.search.modelled import model_plans
from experiments.search.parts import PARTS
from experiments.search.spaces import make_reachable_space
from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.frontend_c.source import Compilation
from generator.frontend_py.problem import problem_of, program_of
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.usual import usual_plan
from generator.plan import Plan, plan_from_json
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import computed_arrays
from generator.polyhedral.pipelines.storage import has_orders
from generator.problem import Problem
from generator.program import Program
from generator.schedules.stages import Stages
from generator.storage_orders import offered_dimensions, preferred_orders
from generator.target import Target
from graph.optimization_graph import OptimizationGraph
from graph.policies import uniform
from graph.reaching import walk_to
from metrics.costs.base import Cost
from tests.support.devices import check_plans, check_results, device_named, has_intel
from tests.support.slow import few
from tests.support.space_plans import lowered
from tests.support.suite import TARGET, small_problem
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

CPU = replace(TARGET, shares_host_cores=True)
OPTIONS = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline")


def turned() -> hl.Func:
    """Differences along rows, then along columns, written as if the image were turned: `h` and `l` run over columns."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Int(32), 2, "image")
    rows, h, l, out = hl.Func("rows"), hl.Func("h"), hl.Func("l"), hl.Func("out")
    rows[x, y] = image[x, y] - image[x + 1, y]
    h[x, y] = rows[y, 2 * x + 1] - ((rows[y, 2 * x] + rows[y, 2 * x + 2]) >> 1)
    l[x, y] = rows[y, 2 * x + 2] + ((h[x, y] + h[x + 1, y] + 2) >> 2)
    out[x, y] = hl.select(y % 2 == 0, l[y // 2, x], h[y // 2, x])
    return out


def everything() -> list[hl.Func]:
    """Arrays of two and three dimensions of all kinds: scans, sums, tuples, histograms per cell."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image, r, s = hl.ImageParam(hl.Int(32), 3, "image"), hl.RDom([(0, 5)], "r"), hl.RDom([(1, 30)], "s")
    light, summed, scan, pair, cells = (hl.Func(name) for name in ("light", "summed", "scan", "pair", "cells"))
    light[x, y, c] = image[x, y, c] * 3 + c
    summed[y, c, x] = 0
    summed[y, c, x] += light[x, y + r.x, c]
    scan[x, y] = summed[x, 0, y]
    scan[x, s.x] += scan[x, s.x - 1] * 2
    pair[y, x] = hl.Tuple(scan[x, y] + light[y, x, 1], summed[y, 1, x])
    cells[x, y, c] = 0
    cells[x, y, hl.clamp(summed[y, 0, x + r.x] % 8, 0, 7)] += 1
    out, other = hl.Func("out"), hl.Func("other")
    out[x, y] = pair[y, x][0] - pair[y + 1, x][1]
    other[x, y, c] = cells[x, y, c % 8] + summed[x, c % 3, y] + light[y, x, c % 3]
    return [out.set_estimates([(0, 24), (0, 24)]), other.set_estimates([(0, 24), (0, 24), (0, 16)])]


@lru_cache
def problem(name: str) -> Problem:
    if name == "turned":
        return problem_of([turned()], [66, 40], name=name)
    return problem_of(everything(), [], name=name)


def stages(plan: Plan) -> Stages:
    assert isinstance(plan.schedule, Stages)
    return plan.schedule


def contiguous(plan: Plan) -> dict[str, int]:
    return dict(stages(plan).contiguous)


def drawn(program: Program, target: Target, count: int, seed: int) -> list[Plan]:
    """Random plans of the space, all with some array in another order than that of its declaration."""
    space, rng, found = make_reachable_space(program, target, OPTIONS), np.random.default_rng(seed), list[Plan]()
    while len(found) < count:
        walk = OptimizationGraph().walk(space, uniform(rng))
        if walk is not None and contiguous(walk.plan):
            found.append(walk.plan)
    return found


def has_code(program: Program, plan: Plan, target: Target) -> bool:
    """Whether a plan is legal; the space only estimates the registers for what crosses the image."""
    try:
        return lowered(program, plan, target) is not None
    except IllegalPlan as illegal:
        assert "bytes of registers" in str(illegal)
        return False


def any_orders(program: Program, rng: np.random.Generator) -> Stages:
    """Random orders of all arrays that have several, whether the space offers them or not."""
    free = [one for one in program.arrays if has_orders(one)]
    dims = {one.name: int(rng.integers(len(one.extents))) for one in free}
    return Stages(contiguous=tuple((one.name, dims[one.name]) for one in sorted(free, key=lambda one: one.name)
                                   if dims[one.name] < len(one.extents) - 1))


def test_by_default_kernels_pass_over_rows() -> None:
    plan = usual_plan(problem("turned").program, CPU, Stages())
    assert contiguous(plan) == {"h": 0, "l": 0}
    text = lower(problem("turned").program, plan, CPU).source
    assert "h[(2 * b0 + x_point) * 66 + y_point] = rows[(4 * b0 + 2 * x_point + 1) * 66 + y_point] - " in text
    assert "? l[(4 * b0 + y_point) / 2 * 66 + x_point] : h[(4 * b0 + y_point) / 2 * 66 + x_point]" in text
    assert contiguous(usual_plan(problem("turned").program, HOPPER, Stages())) == {"h": 0, "l": 0}


def test_searches_begin_so_and_offer_both() -> None:
    program = problem("turned").program
    assert offered_dimensions(computed_arrays(program)) == dict.fromkeys(("rows", "h", "l"), (1, 0))
    for target in (CPU, HOPPER):
        space = make_reachable_space(program, target, OPTIONS)
        plans = [walk.plan for walk in PARTS.starts(program, target, OPTIONS)]
        stored = [contiguous(plan) for plan in plans if dict(stages(plan).computed).get("h") != "inline"]
        assert stored[0] and not all(stored), "one start has the declared order"
        for plan in plans:
            assert walk_to(space, plan).plan == plan
    several = {tuple(contiguous(plan).items()) for plan in drawn(program, CPU, 20, 0)}
    assert len(several) > 3


def test_stages_in_blocks_have_an_order_and_inlined_ones_none() -> None:
    program = problem("turned").program
    assert preferred_orders(computed_arrays(program), ("l",)) == (("h", 0),)
    plans = drawn(program, CPU, 40, 1)
    places: list[dict[str, str]] = [dict(stages(plan).computed) for plan in plans]
    assert any(place.get(array) == "block" for plan, place in zip(plans, places, strict=True)
               for array in contiguous(plan))
    assert not any(place.get(array) == "inline" for plan, place in zip(plans, places, strict=True)
                   for array in contiguous(plan))


@pytest.mark.parametrize("name", few([one.name for one in PIPELINES], ["unsharp", "interpolate", "bilateral_grid"]))
def test_where_all_passes_agree_nothing_is_asked(name: str) -> None:
    offered = offered_dimensions(computed_arrays(small_problem(pipeline(name))[0].program))
    assert set(offered) == ({"transposed_y"} if name == "iir_blur" else set())


def passes(before: int, after: int) -> Program:
    """Pointwise passes, one of which turns the image, and a result that is not turned."""
    x, y, last = hl.Var("x"), hl.Var("y"), hl.Func("last")
    source: hl.ImageParam | hl.Func = hl.ImageParam(hl.Int(32), 2, "image")
    for number in range(before + after):
        stage = hl.Func(f"stage_{number}")
        stage[x, y] = (source[y, x] if number == before else source[x, y]) * 3 + number
        source = stage
    last[x, y] = source[y, x] + source[y, x + 1]
    return program_of([last], [40, 30])


def test_a_chain_of_arrays_is_turned_as_a_whole() -> None:
    computed = computed_arrays(passes(3, 4))
    assert preferred_orders(computed) == tuple((f"stage_{number}", 0) for number in range(3, 7))
    assert set(offered_dimensions(computed)) == {f"stage_{number}" for number in range(2, 7)}, "not the first two"


def test_scans_keep_their_order() -> None:
    """Neighbouring threads cannot run along the dimension of a scan."""
    x, y, image, r = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Int(32), 2, "image"), hl.RDom([(1, 29)], "r")
    down, out = hl.Func("down"), hl.Func("out")
    down[x, y] = image[x, y]
    down[x, r] += down[x, r - 1]
    out[x, y] = down[y, x] + down[y, x + 1]
    found = next(one for one in computed_arrays(program_of([out], [29, 30])) if one.array == "down")
    assert found.turnable == (1,) and not preferred_orders([found])


def test_models_choose_them_and_judge_kernels_as_they_are() -> None:
    program = problem("turned").program
    guided = replace(OPTIONS, explorer="beam")
    (walk,) = PARTS.make_explorer("beam", PARTS.make_space(program, CPU, guided), 0, ()).ask(1)
    for plan in (walk.plan, *model_plans(program, CPU, "sioutas", 2).plans, *drawn(program, CPU, 5, 2)):
        assert contiguous(plan) or dict(stages(plan).computed).keys() >= {"h", "l"}
        walk_to(make_reachable_space(program, CPU, OPTIONS), plan)
    for name in ("sioutas", "polymage", "learned"):
        target = CPU if name == "learned" else HOPPER
        plan = default_plan(program, target, choice=Stages(contiguous=(("h", 0), ("l", 0))))
        assert isinstance(predicted(program, plan, target, find_model(name, target)), Cost)


@pytest.mark.parametrize("selector", ["pocl", *(["intel"] if has_intel() else [])])
@pytest.mark.parametrize("name", ["turned", "everything"])
@pytest.mark.parametrize("seed", few(range(12), 1))
def test_results_are_right(name: str, selector: str, seed: int) -> None:
    found, device = problem(name), device_named(selector)
    rng = np.random.default_rng(seed)
    plans = [usual_plan(found.program, device.target, Stages())]
    plans += [default_plan(found.program, device.target, choice=any_orders(found.program, rng)) for _ in range(3)]
    check_plans(device, found, plans)
    check_results(device, found, [plan for plan in drawn(found.program, device.target, 4, seed)
                                  if has_code(found.program, plan, device.target)])


@pytest.mark.parametrize("name", ["turned", "everything"])
@pytest.mark.parametrize("seed", few(range(8), 1))
def test_results_are_right_on_a_gpu(name: str, seed: int, watched_gpu: WatchedGpu) -> None:
    """With shared copies, textures, vectors and warps."""
    found, target = problem(name), watched_gpu.target
    plans = drawn(found.program, target, 6, seed)
    plans += [default_plan(found.program, target, choice=any_orders(found.program, np.random.default_rng(seed)))]
    watched_gpu.check(found, [plan for plan in plans if has_code(found.program, plan, target)], slow=True)


def test_plans_keep_and_show_them() -> None:
    program = problem("turned").program
    plan = usual_plan(program, CPU, Stages())
    assert plan_from_json(plan.to_json()) == plan
    assert '"contiguous"' not in default_plan(program, CPU, choice=Stages()).to_json(), "older plans stay the same"
    assert "h: elements along dimension 0 are adjacent in memory" in explain(program, plan, CPU)
    row, without = rows_of([plan, default_plan(program, CPU, choice=Stages())])
    assert (row["contiguous_h"], without["contiguous_h"]) == (0, "-")


def test_wrong_ones_are_refused() -> None:
    program = problem("turned").program
    for array, dim in (("out", 0), ("image", 0), ("h", 1), ("h", 7), ("nothing", 0)):
        said = rf"dimension {dim} of `{array}` cannot be contiguous .*: h \(0 to 0\), l"
        with pytest.raises(IllegalPlan, match=said):
            kernels_of(program, Stages(contiguous=((array, dim),)))
    text = usual_plan(program, CPU, Stages()).to_json()
    for wrong in ('[["h",0],["h",0]]', '[["h",-1]]', '[["h",true]]', '[["h"]]', '{"h":0}'):
        with pytest.raises(InputError, match=r"contiguous is .*; use a list of \[array, number of a dimension\]"):
            plan_from_json(text.replace('[["h",0],["l",0]]', wrong))
