"""Tiles of sub-groups and of threads: the same kernels, with boxes and barriers of another level."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from explorer.registry import make_explorer
from generator.decisions.fractions import sub_group
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.memory.teams import Team, team_of
from generator.nest import Barrier, Declare, Level, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.polyhedral.time.time_steps import time_loop
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.target import LANGUAGES, Dialect, Target
from graph.pipeline import make_pipeline_space
from tests.support.interpreter import Device, run_original
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, run_plan
from tests.support.programs import program_of
from tests.support.slow import few, in_turn
from tests.support.stages import any_plan, case
from tests.support.suite import TARGET, polybench_program
from tests.support.sweeps import sweeps_text, time_plan
from tests.support.targets import HOPPER
from tests.support.teams import LEVELS, chain, chain_plan, time_problem

FORESEEN = ("barrier would stand", "loops do not run what they should")


def shapes(dims: int, dialect: Dialect) -> list[tuple[int, ...]]:
    """Blocks of one or two sub-groups: in rows, and in CUDA also of several rows."""
    rows: list[tuple[int, ...]] = (
        [(32,), (64,)] if dialect == "opencl" or dims == 1 else [(4, 8), (2, 16), (4, 16), (64, 1), (8, 8)]
    )
    if dialect == "opencl" and dims > 1:
        rows += [(2, 32)]
    return [(*(1,) * (dims - len(row)), *row) for row in rows if len(row) <= dims]


def at(level: Level, kernel: KernelPlan, rng: np.random.Generator, dialect: Dialect = "opencl") -> KernelPlan:
    """The kernel with another level; its blocks are whole sub-groups then. Where it walks, by one row of threads."""
    if level != "sub-group" or not kernel.block:
        walk = 1 if kernel.walk and level == "thread" else kernel.walk
        return replace(kernel, level=level if kernel.block else "block", walk=walk)
    points = [t // b for t, b in zip(kernel.tile, kernel.block, strict=True)]
    blocks = shapes(len(points), dialect)
    block = blocks[int(rng.integers(len(blocks)))]
    walk = (sub_group(block) or block)[-2] if kernel.walk else 0
    tile = tuple(b * p for b, p in zip(block, points, strict=True))
    return replace(kernel, block=block, tile=tile, level=level, walk=walk)


def check(program: Program, plan: Plan, seed: int, dialect: Dialect = "opencl") -> str:
    """What a plan computes is right; what it is refused for, if that may be."""
    try:
        if dialect == "opencl":
            found = run_plan(program, plan, np.random.default_rng(seed))
        else:
            variant = lower(program, plan, HOPPER)
            device = Device(
                program.with_arrays(variant.scratch),
                lowered_kernels(program, plan, dialect),
                np.random.default_rng(seed),
            )
            device.run(variant.host, {})
            found = device.memory
    except IllegalPlan as illegal:
        assert any(words in str(illegal) for words in FORESEEN), (plan.to_json(), illegal)
        return "refused"
    assert not differences(program, found, run_original(program)), plan.to_json()
    return "right"


@in_turn
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", few(range(10), 1))
def test_random_stages_are_right(level: Level, seed: int) -> None:
    """Kernels run in Python, every access checked: also that no sub-group sees what another one has in shared
    memory.
    """
    program, rng, seen = case(seed).program, np.random.default_rng(seed), Counter[str]()
    for _ in range(3):
        try:
            plan = any_plan(program, rng)
        except IllegalPlan:
            continue
        dialect: Dialect = "cuda" if level == "sub-group" and rng.integers(2) else "opencl"
        plan = replace(plan, kernels=tuple(at(level, kernel, rng, dialect) for kernel in plan.kernels))
        seen[check(program, plan, seed, dialect)] += 1
    assert seen["right"], seen


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", few(range(24), 2))
def test_random_sweeps_are_right(level: Level, seed: int) -> None:
    program, rng = program_of(sweeps_text(seed)), np.random.default_rng(seed)
    if time_loop(program) is None:
        pytest.skip("no loop over time")
    dialect: Dialect = "cuda" if level == "sub-group" and rng.integers(2) else "opencl"
    plan = time_plan(program, rng)
    assert check(program, replace(plan, kernels=(at(level, plan.kernels[0], rng, dialect),)), seed, dialect) == "right"


@in_turn
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("combine", ["atomic", "shared", "shuffle", "private"])
def test_copies_registers_and_reductions_have_levels_too(level: Level, combine: str) -> None:
    """A product of matrices with copies, and sums of rows that threads of a team combine."""
    gemm = polybench_program("gemm", ("NI=5", "NJ=37", "NK=5"))
    (one,) = kernels_of(gemm, ScheduleChoice())
    kernel = KernelPlan(
        one.statements, (4, 64), (2, 32), True, 4, registers=True, points_inside=True, level=level, padding=1
    )
    assert check(gemm, Plan(ScheduleChoice(), (kernel,)), 1) == "right"
    rows = program_of(
        "int A[3][70], r[3];\nvoid f(void) {\n#pragma scop\nfor (int i = 0; i < 3; i++) for (int j = 0; j < 70; j++) "
        "r[i] += A[i][j];\n#pragma endscop\n}\n"
    )
    schedule = ScheduleChoice(reductions=("S0",))
    kernel = KernelPlan(("S0",), (2, 64), (2, 32), level=level, combine=combine)  # type: ignore[arg-type]  # parameters are words
    assert check(rows, Plan(schedule, (kernel,)), 2) == "right"


def test_where_boxes_are_and_who_waits() -> None:
    kernels = {level: lowered_kernels(chain(), chain_plan(level))[0] for level in ("block", *LEVELS)}
    assert [box.sizes for box in kernels["block"].shared] == [(9, 66), (9, 64)]
    assert [box.sizes for box in kernels["sub-group"].shared] == [
        (4, 3, 66),
        (4, 3, 64),
    ]  # one of each for four tiles of 2 x 64
    assert kernels["thread"].shared == ()
    assert [node.sizes for node in walk(kernels["thread"].body) if isinstance(node, Declare) and node.sizes] == [
        (3, 4),
        (3, 2),
    ]
    waits = {
        level: {node for node in walk(kernel.body) if isinstance(node, Barrier)} for level, kernel in kernels.items()
    }
    assert waits == {"block": {Barrier()}, "sub-group": {Barrier("sub-group")}, "thread": set()}
    for level in LEVELS:
        assert check(chain(), chain_plan(level), 1) == "right"


def test_the_text_says_it() -> None:
    opencl, cuda = (
        lower(chain(), chain_plan("sub-group"), target).source for target in (replace(TARGET, sub_group=32), HOPPER)
    )
    assert "sub_group_barrier(CLK_LOCAL_MEM_FENCE)" in opencl and "intel_reqd_sub_group_size(32)" in opencl
    assert "__syncwarp()" in cuda
    assert " barrier(" not in opencl and "__syncthreads" not in cuda
    text = explain(chain(), chain_plan("sub-group"), replace(TARGET, sub_group=32))
    assert "tiles shared by a sub-group" in text


def test_every_thread_of_a_block_is_one_of_a_team() -> None:
    """Tile and place in the team tell all threads apart, and teams are sub-groups as CUDA numbers them."""
    for block in ((2, 32), (4, 8), (2, 2, 16), (64,), (2, 3, 64)):
        plan = KernelPlan(("S0",), block, block, level="sub-group")
        team = team_of(plan, LANGUAGES["cuda"])
        found: dict[tuple[int, ...], list[int]] = {}
        for number, thread in enumerate(product(*map(range, block))):
            found.setdefault(tuple(t // n for t, n in zip(thread, team.threads, strict=True)), []).append(number // 32)
        assert all(len(members) == 32 and len(set(members)) == 1 for members in found.values())
        assert len(found) == np.prod(team.count)
    assert (team_of(KernelPlan(("S0",), (4, 8), (2, 8), level="thread"), LANGUAGES["opencl"])
            == Team("thread", (1, 1), (2, 8)))


@pytest.mark.parametrize(
    ("block", "dialect", "words"),
    [
        ((2, 8), "cuda", "no whole sub-groups of 32"),
        ((1, 48), "cuda", "no whole sub-groups of 32"),
        ((4, 24), "cuda", "no whole sub-groups"),
        ((4, 8), "opencl", "OpenCL leaves open which rows form a sub-group"),
    ],
)
def test_blocks_that_are_no_sub_groups_are_refused(block: tuple[int, int], dialect: Dialect, words: str) -> None:
    with pytest.raises(IllegalPlan, match=words):
        lowered_kernels(chain(), chain_plan("sub-group", block, block), dialect)


def test_devices_without_sub_groups_refuse_their_tiles() -> None:
    with pytest.raises(IllegalPlan, match="sub-groups of 32 threads share the tiles of kernel0"):
        lower(chain(), chain_plan("sub-group"), replace(TARGET, sub_group=0))
    assert lower(chain(), chain_plan("thread"), replace(TARGET, sub_group=0)).kernels[0].local_bytes == 0


def test_plans_are_stored() -> None:
    assert "level" not in chain_plan("block").to_json()
    for level in LEVELS:
        assert plan_from_json(chain_plan(level).to_json()) == chain_plan(level)
        assert chain_plan(level).digest != chain_plan("block").digest
    with pytest.raises(InputError, match=r'plan.kernels\[0\].level is "warp"; use one of block, sub-group, thread'):
        plan_from_json(chain_plan("thread").to_json().replace('"thread"', '"warp"'))


def test_smaller_tiles_compute_more_twice() -> None:
    adds = []
    for level in ("block", *LEVELS):
        found, plan = time_problem("jacobi-2d", level, (8, 64), (2, 32))
        adds.append(kernel_facts(found.program, plan, replace(TARGET, sub_group=32))[0].operations.adds)
    assert adds == sorted(adds) and len(set(adds)) == 3


@in_turn
@pytest.mark.parametrize(("target", "levels"), few([
    (replace(TARGET, sub_group=32), {"block", "sub-group", "thread"}),
    (TARGET, {"block", "thread"}),
    (HOPPER, {"block", "sub-group", "thread"}),
], 1))
@pytest.mark.parametrize("count", few([40, 60], 1))
def test_kernels_that_compute_stages_are_offered_levels_that_fit(target: Target, levels: set[Level],
                                                                 count: int) -> None:
    """All that is offered can be lowered; kernels without stages inside are not asked."""
    shapes = partial(kernel_shapes, chain(), language=target.language)
    space = make_pipeline_space(shapes, stage_facts(chain()), target)
    plans = [walk.plan for walk in make_explorer("random", space, 1).ask(count)]
    seen: set[Level] = set()
    for plan in plans:
        lower(chain(), plan, target)
        assert isinstance(plan.schedule, Stages)
        inside = {array for array, where in plan.schedule.computed if where == "block"}
        seen |= {kernel.level for kernel in plan.kernels}
        assert inside or {kernel.level for kernel in plan.kernels} == {"block"}
    assert seen == levels
