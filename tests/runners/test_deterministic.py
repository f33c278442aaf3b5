"""The deterministic runner: a function of the Plan that a search can climb, with typed failures."""

from __future__ import annotations

import itertools
import time
from functools import lru_cache
from pathlib import Path

import pytest

from generator.errors import InputError
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from metrics.outcome import Failed, Outcome, Timed
from metrics.static_model import NAMES
from runners.base import Bounds, Job, Limits
from runners.deterministic import DeterministicRunner
from runners.registry import open_runner
from tests.support.runners import scale_problem

TILES = [(tile, block) for tile, block in itertools.product([(32, 32), (64, 32), (16, 64), (64, 64), (8, 128)],
                                                            [(8, 32), (16, 16), (4, 64), (1, 32), (8, 8)])]
PLANS = [
    Plan(
        ScheduleChoice(serialize_sccs=fuse),
        (
            KernelPlan(("S0", "S1"), tile, block, shared=shared, inner_tile=inner, unroll=unroll),
            KernelPlan(("S2",), tile, block),
        ),
    )
    for (tile, block), fuse, shared, inner, unroll in itertools.product(
        TILES, [False, True], [False, True], [1, 16, 32], [1, 4]
    )
]


def outcomes_of(plans: list[Plan], best_ms: float | None = None) -> list[Outcome]:
    jobs = [Job(number, plan) for number, plan in enumerate(plans)]
    return [outcome for _, outcome in DeterministicRunner(scale_problem()).evaluate(jobs, Bounds(best_ms))]


@lru_cache
def known() -> list[Outcome]:
    return outcomes_of(PLANS)


def test_two_runners_agree_whatever_the_order() -> None:
    assert outcomes_of(PLANS[::-1])[::-1] == known()


def test_a_few_plans_fail_in_several_ways() -> None:
    failures = [outcome for outcome in known() if isinstance(outcome, Failed)]
    assert 0.01 < len(failures) / len(known()) < 0.15
    assert len({type(outcome) for outcome in failures}) >= 4
    assert all(outcome.message for outcome in failures)


def test_there_is_something_to_find() -> None:
    times = sorted(outcome.median_ms for outcome in known() if isinstance(outcome, Timed))
    assert times[len(times) // 2] > 1.3 * times[0] and times[-1] > 3 * times[0]


def test_neighbours_are_alike() -> None:
    """A change of one decision changes the time less than a random change does: local search can climb."""
    def spread(pairs: list[tuple[Outcome, Outcome]]) -> float:
        ratios = [max(a.median_ms, b.median_ms) / min(a.median_ms, b.median_ms)
                  for a, b in pairs if isinstance(a, Timed) and isinstance(b, Timed)]
        return sum(ratios) / len(ratios)

    near = list(zip(known()[::2], known()[1::2], strict=True))
    far = list(zip(known(), known()[::-1], strict=True))
    assert spread(near) < spread(far)


def test_kernel_times_belong_to_the_kernel_alone() -> None:
    """The second kernel's plan is the same in plans that differ in the first kernel only."""
    times: dict[tuple[KernelPlan, Schedule], set[float]] = {}
    for plan, outcome in zip(PLANS, known(), strict=True):
        if isinstance(outcome, Timed):
            assert [kernel.statements for kernel in outcome.kernels] == [("S0", "S1"), ("S2",)]
            times.setdefault((plan.kernels[1], plan.scheduled), set()).add(outcome.kernels[1].median_ms)
    assert all(len(found) == 1 for found in times.values())


def test_metrics_are_shares_that_go_with_the_time_of_their_kernel() -> None:
    from scipy.stats import spearmanr

    kernels = [kernel for outcome in known() if isinstance(outcome, Timed) for kernel in outcome.kernels]
    assert all(0 <= value <= 1 for kernel in kernels for _, value in kernel.metrics)
    assert {name for kernel in kernels for name, _ in kernel.metrics} < set(NAMES)
    second = [kernel for kernel in kernels if kernel.statements == ("S2",)]
    times = [kernel.median_ms for kernel in second]
    for name in ("occupancy", "load_efficiency"):
        assert spearmanr([dict(kernel.metrics)[name] for kernel in second], times).statistic < -0.2


def test_slow_plans_stop_early() -> None:
    outcomes = [outcome for outcome in outcomes_of(PLANS, best_ms=1e-3) if isinstance(outcome, Timed)]
    assert all(outcome.stopped_early for outcome in outcomes)
    assert not any(outcome.stopped_early for outcome in known() if isinstance(outcome, Timed))


def test_the_pause_is_per_evaluation(tmp_path: Path) -> None:
    runner = open_runner(scale_problem(), "deterministic:0.05", Limits(), tmp_path)
    start = time.monotonic()
    assert len(list(runner.evaluate([Job(0, PLANS[0]), Job(1, PLANS[1])]))) == 2
    assert time.monotonic() - start >= 0.1


@pytest.mark.parametrize("text", ["deterministic:x", "deterministic:-1", "deterministic:nan"])
def test_a_bad_pause_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"deterministic:0\.1"):
        open_runner(scale_problem(), text, Limits(), tmp_path)
