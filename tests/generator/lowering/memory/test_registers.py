"""Random updates through random plans: registers, reductions, filled-up tiles, partitions, all sizes and orders.

In Python with every check of tests/support/machine.py, and a few on the installed OpenCL devices.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from generator.errors import IllegalPlan, InputError
from generator.frontend_c.source import Compilation
from generator.lowering.core.assemble import lower
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import Timed
from runners.base import Limits
from tests.support.bench import outcomes_of
from tests.support.cases import CASES
from tests.support.devices import device_named, has_intel
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import features, lowered_kernels, random_plan, run_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.updates import updates_text

REFUSALS = re.compile("no loop that they can share|share no loop|a barrier would stand|no atomic updates of|"
                      "isl finds no schedule|was given up|loops do not run what they should|isl fails|"
                      "would lose their parallel loops if they shared any")
LIMITS = Limits(compile_s=120, run_s=60, min_repeats=2, max_repeats=2, time_s=0.1)


def check_plan(program: Program, plan: Plan, seed: int) -> Counter[str]:
    """Run a plan in Python and compare; what its kernels are made of. Raises IllegalPlan."""
    found = run_plan(program, plan, np.random.default_rng(seed))
    wrong = differences(program, found, run_original(program))
    assert not wrong, (plan.to_json(), dict(list(wrong.items())[:3]))
    counts = Counter({"right": 1})
    for kernel in lowered_kernels(program, plan):
        counts.update(features(kernel, plan.kernel(kernel.statements)))
    return counts


def check_seed(seed: int, plans: int) -> Counter[str]:
    """A random program through random plans."""
    text, rng, counts = updates_text(seed), np.random.default_rng(seed), Counter[str]()
    try:
        program = program_of(text)
    except InputError as error:
        assert "no statement that is ever executed" in str(error), text
        return counts
    for _ in range(plans):
        try:
            plan = random_plan(program, rng)
            counts += check_plan(program, plan, seed)
        except IllegalPlan as error:
            assert REFUSALS.search(str(error)), text
            counts["refused"] += 1
    return counts


REACHED = ("atomic +", "atomic *", "atomic min", "atomic max", "atomic =", "register of 0 dimensions",
           "register of 1 dimensions", "register of 2 dimensions", "shuffle", "shared copies",
           "combined in shared memory", "full and partial tiles", "host loop", "order")


@in_turn
@pytest.mark.parametrize(("seeds", "right"), few([((0, 3, 4, 5, 6, 16, 18, 19), 14), (range(20), 30)], 1))
def test_random_updates(seeds: Sequence[int], right: int) -> None:
    counts = sum((check_seed(seed, 2) for seed in seeds), Counter[str]())
    assert counts["right"] >= right
    assert all(counts[feature] for feature in REACHED), counts


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 6000, 250))
def test_many_random_updates(first: int) -> None:
    counts = sum((check_seed(seed, 3) for seed in range(first, first + 250)), Counter[str]())
    assert counts["right"] >= 500


QUICK = ("two rows of sums", "triangle of sums", "columns", "partial results", "two minima of one type",
         "read under a condition", "guarded update", "divided by data", "time", "small types")


@in_turn
@pytest.mark.parametrize("name", few(CASES, QUICK))
def test_cases(name: str) -> None:
    check_case(name, 5, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_cases_many_times(name: str) -> None:
    check_case(name, 6, 80)


def check_case(name: str, seed: int, plans: int) -> None:
    """A hand-made program through random plans."""
    declarations, body = CASES[name]
    program, rng = program_of(scop(body, declarations)), np.random.default_rng(seed)
    right = 0
    for number in range(plans):
        try:
            check_plan(program, random_plan(program, rng), number)
            right += 1
        except IllegalPlan as error:
            assert REFUSALS.search(str(error)), error
    assert right > 0


def test_points_of_a_thread_that_update_one_element_share_no_registers() -> None:
    """One block; thread t has the points t, t + 2, ... and is the only one that updates x[t]."""
    program = program_of(scop("for (i = 0; i < 8; i++) for (j = 0; j < 5; j++) x[i % 2] += A[i][j];"))
    kernel = KernelPlan(("S0",), (8, 5), (2, 1), registers=True)
    counts = check_plan(program, Plan(ScheduleChoice(reductions=("S0",)), (kernel,)), 1)
    assert not any("register" in feature or "atomic" in feature for feature in counts)


def test_small_elements_have_no_atomic_updates() -> None:
    program = program_of(scop("for (i = 0; i < 8; i++) for (j = 0; j < 5; j++) c[i] += b[j];", "char c[8], b[5];"))
    schedule = ScheduleChoice(reductions=("S0",))
    alone = check_plan(program, Plan(schedule, (KernelPlan(("S0",), (4, 5), (4, 1), exchange=True),)), 1)
    assert not any("atomic" in feature for feature in alone)
    with pytest.raises(IllegalPlan, match="S0 would update elements of `c` from several threads, but devices have no "
                                          "atomic updates of char"):
        check_plan(program, Plan(schedule, (KernelPlan(("S0",), (4, 5), (4, 5)),)), 1)


def evaluated(text: str, plans: int, seed: int, device: str, folder: Path) -> Counter[str]:
    """A program with real data through random plans on a device; `right`, or why a plan is refused."""
    found = read_untimed(write_c(text, folder), Compilation(), None, None, {}, seed)
    rng, chosen, counts = np.random.default_rng(seed), list[Plan](), Counter[str]()
    target = device_named(device).target
    while len(chosen) < plans and counts["refused"] < 5 * plans:
        try:
            plan = random_plan(found.program, rng)
            lower(found.program, plan, target)
            chosen.append(plan)
        except IllegalPlan:
            counts["refused"] += 1
    for plan, outcome in zip(chosen, outcomes_of(device_named(device), found, chosen), strict=True):
        assert isinstance(outcome, Timed), (text, plan.to_json(), outcome)
        counts["right"] += 1
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 9])
def test_random_updates_on_pocl(seed: int, tmp_path: Path) -> None:
    assert evaluated(updates_text(seed, conversions=False), 3, seed, "pocl", tmp_path)["right"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_updates_on_pocl(seed: int, tmp_path: Path) -> None:
    evaluated(updates_text(seed, conversions=False), 4, seed, "pocl", tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
@pytest.mark.parametrize("seed", range(200, 240))
def test_many_random_updates_on_intel(seed: int, tmp_path: Path) -> None:
    evaluated(updates_text(seed, conversions=False), 4, seed, "intel", tmp_path)
