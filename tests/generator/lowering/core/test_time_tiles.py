"""Several time steps per launch: what is a loop over time, that overlapped tiles are right, and that wrong ones are
refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from experiments.exports.flat import rows_of
from experiments.search.parts import PARTS
from experiments.search.spaces import make_reachable_space
from experiments.values.options import Budget, RunOptions
from experiments.words import describe_schedule
from explorer.registry import make_explorer
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.frontend_c.source import Compilation
from generator.lowered_kernel import LoweredKernel
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.pipeline_graph import pipeline_graph
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.time import time_relations, time_steps
from generator.polyhedral.time.time_relations import check_time_tiles
from generator.polyhedral.time.time_steps import Overlap, TimeLoop, overlap, time_loop, time_tiling
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles
from graph.reaching import walk_to
from graph.time_steps import STEPS, offered_steps
from tests.support.faults import faults
from tests.support.interpreter import Memory, run_original
from tests.support.orders import differences
from tests.support.plans import lowered_kernels, run_plan
from tests.support.programs import program_of
from tests.support.slow import few, in_turn
from tests.support.suite import ALL_NAMES, ODD_SIZES, TARGET, polybench_program
from tests.support.sweeps import sweeps_text, time_plan

STENCILS = ("fdtd-2d", "heat-3d", "jacobi-1d", "jacobi-2d")
QUICK, BLOCKS, IN_BLOCK = 60, 10, 100


def stencil(name: str) -> Program:
    return polybench_program(name, ODD_SIZES[name])


def plan_of(program: Program, steps: int, tile: tuple[int, ...], block: tuple[int, ...]) -> Plan:
    return Plan(TimeTiles(steps), (KernelPlan(tuple(sorted(s.name for s in program.statements)), tile, block),))


@pytest.mark.parametrize("name", few(ALL_NAMES, ("jacobi-1d", "fdtd-2d", "gemm")))
def test_loops_over_time_are_found(name: str) -> None:
    assert (time_loop(polybench_program(name, ODD_SIZES[name])) is not None) == (name in STENCILS)


def test_what_a_step_hands_on() -> None:
    jacobi, fdtd = time_loop(stencil("jacobi-2d")), time_loop(stencil("fdtd-2d"))
    assert jacobi is not None
    assert fdtd is not None
    assert jacobi.carried == {"A"}  # B is written anew before it is read, but for its rim
    assert fdtd.carried == {"ex", "ey", "hz"}
    assert jacobi.written == (("B", ((1, 37), (1, 37))),)


@cache
def sweeps(seed: int) -> Program:
    return program_of(sweeps_text(seed))


def check(seed: int) -> bool:
    """Random plans of a random program; False if it is not a loop over time."""
    program, rng = sweeps(seed), np.random.default_rng(seed)
    if time_loop(program) is None:
        return False
    expected = run_original(program)
    for _ in range(2):
        plan = time_plan(program, rng)
        found = run_plan(program, plan, rng)
        assert not differences(program, found, expected), (seed, plan.to_json())
    return True


@in_turn
@pytest.mark.parametrize("block", few(range(6), (1,)))
def test_random_sweeps_in_overlapped_tiles_are_right(block: int) -> None:
    """Kernels run in Python, threads in random order, every access checked."""
    assert sum(check(seed) for seed in range(block * QUICK // 6, (block + 1) * QUICK // 6)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_many_random_sweeps_in_overlapped_tiles_are_right(block: int) -> None:
    for seed in range(QUICK + block * IN_BLOCK, QUICK + (block + 1) * IN_BLOCK):
        check(seed)
        sweeps.cache_clear()


@pytest.mark.slow
def test_these_sweeps_reach_what_may_go_wrong() -> None:
    seen: Counter[str] = Counter()
    for seed in range(QUICK):
        loop = time_loop(sweeps(seed))
        if loop is None:
            seen["no loop over time"] += 1
            continue
        seen[f"{len(loop.extents)} dimensions"] += 1
        seen["written anew"] += bool(loop.written)
        seen["carried"] += bool(loop.carried)
        seen["side"] += any(position is None for sweep in loop.sweeps for position, _ in sweep.dims)
        seen["shifted"] += any(
            constant for sweep in loop.sweeps for position, constant in sweep.dims if position is not None
        )
        seen["begins late"] += loop.first > 0
        seen["begins below 0"] += loop.first < 0
        seen["names of others"] += "begin" in loop.sweeps[0].statement.iterators
        seen["small elements"] += any(array.bytes < 4 * array.elements for array in sweeps(seed).arrays)
        seen["backwards"] += "--" in sweeps_text(seed)
        seen["choice"] += "?" in sweeps_text(seed)
        seen["not symmetric"] += any(low != high for low, high in overlap(loop, 2).slope)
    wanted = (
        "no loop over time",
        "1 dimensions",
        "2 dimensions",
        "3 dimensions",
        "written anew",
        "carried",
        "side",
        "shifted",
        "begins late",
        "not symmetric",
        "begins below 0",
        "names of others",
        "small elements",
        "backwards",
        "choice",
    )
    assert [words for words in wanted if not seen[words]] == [], seen


def jacobi(kind: str, time: str, space: str) -> Program:
    """A stencil of five time steps with iterators of these names."""
    sweeps = "\n".join(
        f"for ({space} = 1; {space} < 19; {space}++) {target}[{space}] = {source}[{space} - 1] + 3 * {source}[{space} "
        f"+ 1] + {time};"
        for target, source in (("B", "A"), ("A", "B"))
    )
    return program_of(f"{kind} A[20], B[20];\nvoid f(void) {{\n  int {time}, {space};\n#pragma scop\n"
                      f"for ({time} = 0; {time} < 5; {time}++) {{\n{sweeps}\n}}\n#pragma endscop\n}}\n")


@pytest.mark.parametrize(
    ("time", "space"), [("c", "i"), ("begin", "last"), ("last", "b0"), ("left", "chunk"), ("e0", "at0")]
)
def test_iterators_may_be_called_what_the_check_and_the_kernel_call_theirs(
    time: str, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = jacobi("int", time, space)
    plan = plan_of(program, 3, (4,), (2,))
    assert is_right(program, plan, lowered_kernels(program, plan)[0], run_original(program))
    loop = time_loop(program)
    assert loop is not None
    for worse in smaller(overlap(loop, 3), loop):
        monkeypatch.setattr(time_relations, "overlap", lambda *_, worse=worse: worse)
        with pytest.raises(IllegalPlan, match="a block would"):
            check_time_tiles.__wrapped__(program, 3, (4,))  # type: ignore[attr-defined]  # past its memory


@pytest.mark.parametrize("kind", ["unsigned char", "short", "int", "double"])
def test_atomic_stores_where_the_type_has_them(kind: str) -> None:
    program = jacobi(kind, "t", "i")
    plan = plan_of(program, 3, (4,), (2,))
    plan = replace(plan, kernels=(replace(plan.kernels[0], exchange=True),))
    (kernel,) = lowered_kernels(program, plan)
    assert is_right(program, plan, kernel, run_original(program))
    assert ("exchange" in lower(program, plan, TARGET).source) == (kind in ("int", "double"))


@pytest.mark.parametrize("name", few(STENCILS, ("fdtd-2d", "jacobi-1d")))
def test_smaller_surroundings_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact check finds every margin that is smaller by one element, where that matters: not across a side."""
    program = stencil(name)
    loop = time_loop(program)
    assert loop is not None
    right, tile = overlap(loop, 2), (2, 3, 4)[:len(loop.extents)]
    check_time_tiles(program, 2, tile)
    tried = 0
    for worse in smaller(right, loop):
        monkeypatch.setattr(time_relations, "overlap", lambda *_, worse=worse: worse)
        with pytest.raises(IllegalPlan, match="a block would"):
            check_time_tiles.__wrapped__(program, 2, tile)  # type: ignore[attr-defined]  # past its memory
        tried += 1
    assert tried >= 4 * len(loop.extents)


def smaller(right: Overlap, loop: TimeLoop) -> list[Overlap]:
    """With one of its numbers, if it is not 0, smaller by 1."""
    found = []
    for d, side in ((d, side) for d in range(len(right.slope)) for side in (0, 1)):
        found += [replace(right, slope=less) for less in lessened(right.slope, d, side)]
        for n, (margin, sweep) in enumerate(zip(right.sweeps, loop.sweeps, strict=True)):
            worse = [] if sweep.dims[d][0] is None else lessened(margin, d, side)
            found += [replace(right, sweeps=(*right.sweeps[:n], less, *right.sweeps[n + 1:])) for less in worse]
        for n, (array, margin) in enumerate(right.arrays):
            found += [
                replace(right, arrays=(*right.arrays[:n], (array, less), *right.arrays[n + 1 :]))
                for less in lessened(margin, d, side)
            ]
    return found


def lessened(margin: time_steps.Margin, dim: int, side: int) -> list[time_steps.Margin]:
    pair = list(margin[dim])
    if not pair[side]:
        return []
    pair[side] -= 1
    return [(*margin[:dim], (pair[0], pair[1]), *margin[dim + 1:])]


@pytest.mark.parametrize("count", range(1, 20))
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 30])
def test_chunks_share_out_the_steps(count: int, steps: int) -> None:
    loop = time_loop(stencil("jacobi-1d"))
    assert loop is not None
    tiling = time_tiling(replace(loop, count=count), steps)
    assert tiling.chunks % 2 == 0  # the results end where they began
    runs = [tiling.least + (chunk >= tiling.shorter) for chunk in range(tiling.chunks)]
    assert sum(runs) == count
    assert max(runs) <= steps
    assert runs[-1] > 0


@pytest.mark.parametrize(("change", "words"), [
    ({"tile": (8,), "block": (8,)}, "have 2 dimensions but the plan of S0, S1 has 1"),
    ({"block": (3, 8)}, "block size 3 does not divide tile size 8"),
    ({"shared": True}, "decides nothing but"),
    ({"points_inside": True}, "decides nothing but"),
    ({"statements": ("S0",)}, "has the kernels"),
])
def test_plans_that_do_not_fit_are_refused(change: dict[str, object], words: str) -> None:
    program = stencil("jacobi-2d")
    plan = plan_of(program, 2, (8, 8), (8, 8))
    kernel = replace(plan.kernels[0], **change)  # type: ignore[arg-type]  # fields by name
    with pytest.raises(IllegalPlan, match=words):
        lower(program, replace(plan, kernels=(kernel,)), TARGET)


def test_programs_without_a_loop_over_time_are_refused() -> None:
    program = stencil("seidel-2d")
    with pytest.raises(IllegalPlan, match="kernel_seidel_2d is not a loop over time"):
        lower(program, plan_of(program, 2, (8, 8), (8, 8)), TARGET)


def test_too_much_shared_memory_is_refused() -> None:
    program = stencil("jacobi-2d")
    with pytest.raises(IllegalPlan, match="bytes of local memory"):
        lower(program, plan_of(program, 2, (256, 128), (8, 8)), TARGET)


def test_plans_are_stored_and_described() -> None:
    plan = plan_of(stencil("jacobi-2d"), 4, (8, 8), (8, 8))
    assert plan_from_json(plan.to_json()) == plan
    assert describe_schedule(plan.scheduled) == "schedule: 4 time steps per launch, in overlapped tiles"
    assert rows_of([plan])[0]["schedule_steps"] == 4
    with pytest.raises(InputError, match=r"plan.schedule.steps is 0; use a positive integer"):
        plan_from_json(plan.to_json().replace('"steps":4', '"steps":0'))


def test_explain_says_what_blocks_compute() -> None:
    text = explain(stencil("jacobi-2d"), plan_of(stencil("jacobi-2d"), 2, (8, 8), (8, 8)), TARGET)
    assert "5 time steps in 4 launches of at most 2" in text
    assert "A: a tile and 4 + 4 x 4 + 4 elements around it; its values matter from launch to launch" in text
    assert "runs its time steps in shared memory" in text


def test_the_picture_has_one_kernel() -> None:
    graph = pipeline_graph(stencil("fdtd-2d"), TimeTiles(2))
    assert [[computed.array for computed in kernel.arrays] for kernel in graph.kernels] == [["ey", "ex", "hz"]]
    assert graph.inputs == ("_fict_", "ex", "ey", "hz")


def test_the_model_counts_the_overlap() -> None:
    """Points of the rim are computed by several blocks: more with more steps per launch."""
    program = stencil("jacobi-2d")
    work = [
        sum(
            f.operations.adds * f.launches * f.grid[0] * f.grid[1]
            for f in kernel_facts(program, plan_of(program, n, (8, 8), (8, 8)), TARGET)
        )
        for n in (1, 2, 5)
    ]
    assert work == sorted(work)
    assert work[-1] > 1.5 * work[0]


def test_spaces_offer_steps_to_stencils_alone() -> None:
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o2")

    def schedules(program: Program, options: RunOptions) -> set[type]:
        space = PARTS.make_space(program, TARGET, options)
        return {type(walk.plan.schedule) for walk in make_explorer("random", space, 1).ask(12)}

    assert TimeTiles in schedules(stencil("jacobi-2d"), options)
    assert TimeTiles not in schedules(stencil("jacobi-2d"), replace(options, space="paper"))
    assert TimeTiles not in schedules(polybench_program("gemm", ODD_SIZES["gemm"]), options)


@pytest.mark.parametrize("count", range(1, 40))
def test_steps_on_offer_differ(count: int) -> None:
    """Other numbers of launches, so that no code is on offer twice; two launches are, if they fit."""
    program = stencil("jacobi-1d")
    loop = time_loop(program)
    assert loop is not None
    offered = offered_steps(lambda schedule: kernel_shapes(program, schedule), TARGET, count)
    launches = [time_tiling(replace(loop, count=count), steps).chunks for steps in offered]
    assert len(set(launches)) == len(launches)
    assert 2 in launches or offered == STEPS


def test_plans_of_a_search_lead_back_to_themselves() -> None:
    program = stencil("jacobi-2d")
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o2")
    space = make_reachable_space(program, TARGET, options)
    walks = [walk for walk in make_explorer("random", space, 3).ask(20) if isinstance(walk.plan.schedule, TimeTiles)]
    assert walks
    for walk in walks:
        assert walk_to(space, walk.plan).plan == walk.plan


def test_starts_have_few_steps_and_many() -> None:
    program = stencil("jacobi-2d")
    starts = PARTS.starts(program, TARGET, RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o2"))
    steps = [start.plan.schedule.steps if isinstance(start.plan.schedule, TimeTiles) else 0 for start in starts]
    assert steps[0] == 0 and 2 in steps


@pytest.mark.slow
def test_these_tests_would_see_a_fault() -> None:
    """Each kernel with one fault: a barrier less, another bound, another subscript.

    A bound of a loop is found out unless it only makes a block compute more of what nobody reads.
    """
    program = stencil("jacobi-1d")
    plan = plan_of(program, 3, (8,), (4,))
    expected = run_original(program)
    (kernel,) = lowered_kernels(program, plan)
    seen: Counter[tuple[str, bool]] = Counter()
    for fault in faults(kernel):
        seen[fault.kind, not is_right(program, plan, fault.kernel, expected)] += 1
    assert seen["barrier dropped", True] == 3
    assert sum(count for (_, found), count in seen.items() if found) > 3 * sum(
        count for (_, found), count in seen.items() if not found
    ), seen


def is_right(program: Program, plan: Plan, kernel: LoweredKernel, expected: Memory) -> bool:
    try:
        found = run_plan(program, plan, np.random.default_rng(1), [kernel])
    except AssertionError:
        return False
    return not differences(program, found, expected)
