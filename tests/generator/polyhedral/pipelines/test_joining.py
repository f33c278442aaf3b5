"""Arrays that share a kernel: which can, which cannot and why, and what a block computes for several of them once."""

from __future__ import annotations

import numpy as np
import pytest

from antune import halide as hl
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan, plan_from_json
from generator.polyhedral.pipelines.joining import sharable
from generator.polyhedral.pipelines.sections import kernels_of, sections
from generator.program import Program
from generator.schedules.stages import Stages
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import random_kernel, run_plan
from tests.support.slow import counted
from tests.support.suite import TARGET

x, y = hl.Var("x"), hl.Var("y")


def edges(total: bool = False) -> Program:
    """`across` and `down` are made from `light`, `edge` from both; `total`: `down` is a sum over rows."""
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    light, across, down, edge = hl.Func("light"), hl.Func("across"), hl.Func("down"), hl.Func("edge")
    light[x, y] = hl.u16(image[x, y]) * 3
    across[x, y] = light[x + 1, y] - light[x - 1, y]
    if total:
        r = hl.RDom([(-1, 3)], "r")
        down[x, y] = hl.u16(0)
        down[x, y] += light[x, y + r]
    else:
        down[x, y] = light[x, y + 1] - light[x, y - 1]
    edge[x, y] = across[x, y] * across[x, y] + down[x, y] * down[x, y]
    return pipeline_program([edge], [19, 13])


def check(program: Program, schedule: Stages, seed: int) -> Plan:
    """A plan of `schedule` with random kernels, which computes what the program does."""
    rng = np.random.default_rng(seed)
    kernels = [random_kernel(one.statements, len(one.part.parallel), rng) for one in kernels_of(program, schedule)]
    plan = Plan(schedule, tuple(sorted(kernels, key=lambda kernel: kernel.statements)))
    assert not differences(program, run_plan(program, plan, rng), run_original(program)), plan.to_json()
    return plan


BOTH = Stages((("light", "block"),), (), (("across", "down"),))


@pytest.mark.parametrize(("total", "count"), counted([False, True], 1, 2, 6))
def test_blocks_compute_what_two_arrays_read_once(total: bool, count: int) -> None:
    program = edges(total)
    for seed in range(count):
        plan = check(program, BOTH, seed)
        assert len(plan.kernels) == 2
    text = lower(program, default_plan(program, TARGET, choice=BOTH), TARGET).source
    assert text.count("all threads compute light_here") == 1


def test_arrays_that_share_a_kernel_may_be_any_number() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    outputs = []
    for number in range(4):
        outputs.append(hl.Func(f"out{number}"))
        outputs[-1][x, y] = hl.u16(image[x + number, y]) * number
    program = pipeline_program(outputs, [19, 13])
    names = tuple(f"out{number}" for number in range(4))
    for together in ((names,), (names[:2], names[2:]), (names[::3],)):
        plan = check(program, Stages((), (), together), 3)
        assert len(plan.kernels) == 4 - sum(len(arrays) - 1 for arrays in together)


def test_a_reader_of_the_same_element_may_share_the_kernel() -> None:
    program = edges()
    check(program, Stages((), (), (("across", "edge"),)), 1)
    check(program, Stages((("light", "inline"),), (), (("across", "down", "edge"),)), 2)


def test_kernels_run_when_what_they_read_is_there() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    first, between, last, out = hl.Func("first"), hl.Func("between"), hl.Func("last"), hl.Func("out")
    first[x, y] = hl.u16(image[x, y]) + 1
    between[x, y] = first[x, y] * 2
    last[x, y] = hl.u16(image[x, y]) * 5
    out[x, y] = between[x, y] + last[x, y]
    program = pipeline_program([out], [19, 13])
    found = sections(program, Stages((), (), (("first", "last"),)))
    assert [[s.name for s in one.program.statements] for one in found] == [["S0", "S2"], ["S1"], ["S3"]]
    check(program, Stages((), (), (("first", "last"),)), 4)
    check(program, Stages((), (), (("between", "last"),)), 5)
    with pytest.raises(IllegalPlan, match="`first`, `out` cannot share a kernel: other kernels must run between them"):
        sections(program, Stages((), (), (("first", "out"),)))


REFUSED = {
    "computed inside": ((("light", "inline"),), ("light", "edge"), "`light` is computed where it is read"),
    "no array": ((), ("edge", "nobody"), "`nobody` cannot share a kernel; arrays that can: light, across, down, edge"),
    "other extents": ((), ("light", "across"), ("`light` and `across` cannot share a kernel: their extents are 15x21 "
                                               "and 13x19")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_share_a_kernel_is_named(case: str) -> None:
    computed, together, words = REFUSED[case]
    with pytest.raises(IllegalPlan, match=words):
        sections(edges(), Stages(computed, (), (together,)))  # type: ignore[arg-type]  # places are words


def test_a_stage_in_the_kernel_does_not_read_what_the_kernel_stores() -> None:
    """Threads would read what other threads have not stored yet."""
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    stored, blurred, out = hl.Func("stored"), hl.Func("blurred"), hl.Func("out")
    stored[x, y] = hl.u16(image[x % 19, y]) + 1
    blurred[x, y] = stored[x, y] + stored[(x + 1) % 19, y]
    out[x, y] = blurred[x, y] * 2 + stored[x, y]
    program = pipeline_program([out], [19, 13])
    assert sharable(program) == ("stored", "blurred", "out")
    with pytest.raises(IllegalPlan, match="`stored` cannot share a kernel with `out`, which needs `blurred`"):
        sections(program, Stages((("blurred", "inline"),), (), (("out", "stored"),)))


def test_neighbours_of_what_the_kernel_stores_are_refused() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    stored, out = hl.Func("stored"), hl.Func("out")
    stored[x, y] = hl.u16(image[x % 19, y]) + 1
    out[x, y] = stored[x, y] + stored[18 - x, y]
    program = pipeline_program([out], [19, 13])
    schedule = Stages((), (), (("out", "stored"),))
    with pytest.raises(IllegalPlan, match="runs a dependence backwards"):
        lower(program, default_plan(program, TARGET, choice=schedule), TARGET)


def test_plans_say_which_arrays_share_a_kernel() -> None:
    program = edges()
    plan = default_plan(program, TARGET, choice=BOTH)
    assert plan_from_json(plan.to_json()) == plan
    assert "together" not in default_plan(program, TARGET, choice=Stages()).to_json(), "stored plans have no such field"
    assert "    across, down: by one kernel" in explain(program, plan, TARGET)


@pytest.mark.parametrize("value", ['[[]]', '"ab"', '[["a", "b"], ["b", "c"]]', '[["a", 1]]'])
def test_bad_lists_of_arrays_are_refused(value: str) -> None:
    with pytest.raises(InputError, match="use a list of lists of arrays, each array once"):
        plan_from_json(f'{{"schedule": {{"computed": [], "together": {value}}}, "kernels": []}}')
