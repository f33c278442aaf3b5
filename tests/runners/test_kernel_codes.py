"""What was compiled is kept: plans that share kernels find their code, at whichever place these stand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.problem import Problem
from generator.variant import Variant
from metrics.outcome import CompileFailed, LaunchFailed, Outcome, Timed
from runners import compile_worker
from runners.base import Job, Limits
from runners.driver import Built
from runners.kernel_codes import KernelCodes, _shrink, alone, together
from runners.pool_runner import DeviceRunner
from runners.registry import open_runner
from runners.tasks import Compile, WorkerSetup
from tests.support import runners as support
from tests.support.bench import LIMITS
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.spoiled import broken
from tests.support.suite import TARGET, polybench_program, problem

TABLE = """#include <stdio.h>
#define N 1000
static int at[N]; static float x[N], y[N];
int main(void)
{
  for (int i = 0; i < N; i++) { at[i] = 123456789; x[i] = i % 17; }
#pragma scop
  for (int i = 0; i < N; i++) at[i] = 999 - i;
  for (int i = 0; i < N; i++) y[i] = x[at[i]] + x[at[N - 1 - i]];
#pragma endscop
  printf("%f", y[7]);
  return 0;
}
"""


@pytest.fixture
def two_products(tmp_path: Path) -> Iterator[tuple[Problem, DeviceRunner]]:
    """2mm, whose default plan has two kernels."""
    found = problem("2mm")
    runner = open_runner(found, "pocl", LIMITS, tmp_path)
    assert isinstance(runner, DeviceRunner)
    yield found, runner
    runner.close()


def tiled(kernel: KernelPlan, size: int) -> KernelPlan:
    return replace(kernel, tile=(size, size), block=(size, size))


def evaluated(runner: DeviceRunner, *plans: Plan) -> list[Timed]:
    """The outcomes, one plan after the other."""
    found: list[Timed] = []
    for number, plan in enumerate(plans):
        outcome: Outcome = dict(runner.evaluate([Job(number, plan)]))[number]
        assert isinstance(outcome, Timed), outcome.message
        found.append(outcome)
    return found


def test_a_plan_of_known_kernels_takes_no_compiling(two_products: tuple[Problem, DeviceRunner]) -> None:
    found, runner = two_products
    plan = default_plan(found.program, runner.device.target)
    first, second = plan.kernels
    small, large, mixed = (
        replace(plan, kernels=(tiled(first, a), tiled(second, b))) for a, b in ((4, 4), (8, 8), (8, 4))
    )
    once, twice, known = evaluated(runner, small, large, mixed)
    assert once.durations.compile_s > 0 and twice.durations.compile_s > 0
    assert known.durations.compile_s == 0
    assert known.code_hash not in (once.code_hash, twice.code_hash)


def test_what_a_known_kernel_computes_is_there_when_a_later_one_is_compiled(tmp_path: Path) -> None:
    """Before it ran, the table holds subscripts far outside of the array."""
    found = read_untimed(write_c(TABLE, tmp_path), Compilation(), None, None, {}, 0)
    runner = open_runner(found, "pocl", LIMITS, tmp_path / "work")
    assert isinstance(runner, DeviceRunner)
    try:
        plan = default_plan(found.program, runner.device.target)
        first, second = plan.kernels
        evaluated(runner, plan, replace(plan, kernels=(first, replace(second, tile=(7,), block=(7,)))))
    finally:
        runner.close()


def test_errors_name_the_kernel_as_the_variant_does(tmp_path: Path) -> None:
    with support.opened(support.needed_device("PoCL"), tmp_path) as runner:
        outcome = dict(runner.evaluate([Job(0, support.plan(support.LOCAL))]))[0]
    assert isinstance(outcome, LaunchFailed) and outcome.message.startswith("k needs 16777216 bytes")


def test_a_kernel_that_does_not_compile_fails_though_others_are_in_its_text(tmp_path: Path) -> None:
    found = problem("2mm")
    with closing(
        DeviceRunner(found, support.needed_device("PoCL"), LIMITS, tmp_path, workers=1, lower=broken)
    ) as runner:
        outcome = dict(runner.evaluate([Job(0, default_plan(found.program, runner.device.target))]))[0]
    assert isinstance(outcome, CompileFailed) and "no_such_thing" in outcome.message


def test_kernels_stand_together_where_their_preambles_are_the_same() -> None:
    program = polybench_program("2mm")
    variant = lower(program, default_plan(program, TARGET), TARGET)
    first, second = (alone(kernel, variant) for kernel in variant.kernels)
    other = replace(first, preamble="#define OTHER")
    one, two = together([first, second, other, first])
    assert one.source.count("__kernel") == 2 and one.source.startswith(first.preamble)
    assert two.source == other.source
    assert [len(some.kernels) for some in together([first, second], most=1)] == [1, 1]


def test_equal_kernels_are_equal_wherever_they_stand() -> None:
    program = polybench_program("2mm")
    variant = lower(program, default_plan(program, TARGET), TARGET)
    first, second = variant.kernels
    elsewhere = replace(first, name="kernel7")
    assert alone(elsewhere, variant) == alone(first, variant) != alone(second, variant)
    (unit,) = alone(first, variant).kernels
    assert unit.source == first.source.replace(f"{first.name}(", f"{unit.name}(")
    assert alone(unit, variant) == alone(first, variant)


def test_codes_are_kept_for_the_next_process_and_nowhere_without_a_folder(tmp_path: Path) -> None:
    program = polybench_program("2mm")
    variant = lower(program, default_plan(program, TARGET), TARGET)
    first, second = (alone(kernel, variant) for kernel in variant.kernels)
    KernelCodes(tmp_path / "codes").put(first, None, b"x" * 100_000)
    again = KernelCodes(tmp_path / "codes")
    assert again.get(first) == b"x" * 100_000 and again.get(second) is None
    nowhere = KernelCodes(None)
    nowhere.put(first, None, b"x")
    assert nowhere.get(first) is None
    assert [len(file.name) for file in (tmp_path / "codes").iterdir()] == [64], "nothing half written is left"


def test_each_kernel_may_take_as_long_as_plans_do_and_all_as_long_as_is_allowed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of 5 s comes from plans of known kernels but one; this plan has three new ones."""
    class ThreeKernels:
        def compile(self, variant: Variant, begin: Callable[[], None]) -> Built:
            for _ in range(3):
                begin()
                time.sleep(0.1)
            return Built((b"",) * 3, True)

    monkeypatch.setattr(compile_worker, "open_compiler", lambda *_: ThreeKernels())
    found, variant = (
        support.scale_problem(),
        support.lower_by_hand(support.scale_program(), support.plan(support.GOOD), TARGET),
    )
    setup = WorkerSetup(found.program, tmp_path, "opencl/0", TARGET, Limits(compile_s=5.15), tmp_path / "lock", lower)
    said: list[tuple[str, float | None]] = []
    compile_worker.CompileWorker(setup)(Compile(variant, 5.0), lambda phase, limit_s: said.append((phase, limit_s)))
    limits = [limit_s for _, limit_s in said if limit_s is not None][-3:]
    assert limits[:2] == [5.0, 5.0] and 4.5 < limits[2] < 5.0, "0.2 of 5.15 seconds are over"


def test_the_oldest_codes_go_when_there_are_too_many(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"code{number}").write_bytes(bytes(100))
        os.utime(tmp_path / f"code{number}", (number, number))
    _shrink(tmp_path, 1000)
    assert len(list(tmp_path.iterdir())) == 10
    _shrink(tmp_path, 999)
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"code{number}" for number in range(6, 10)]


def test_a_disk_that_takes_nothing_costs_only_the_memory(tmp_path: Path) -> None:
    program = polybench_program("2mm")
    variant = lower(program, default_plan(program, TARGET), TARGET)
    unit, folder = alone(variant.kernels[0], variant), tmp_path / "codes"
    codes = KernelCodes(folder)
    folder.rmdir()
    codes.put(unit, None, b"x")
    assert codes.get(unit) is None


def test_a_kernel_alone_has_the_preamble_that_it_needs_itself() -> None:
    """Else a plan whose other kernel adds atomically would share nothing with one whose other kernel does not."""
    program = polybench_program("2mm")
    plan = default_plan(program, TARGET)
    first, second = plan.kernels
    usual = lower(program, plan, TARGET)
    other = lower(program, replace(plan, kernels=(first, replace(second, exchange=True))), TARGET)
    assert usual.preamble != other.preamble
    assert alone(usual.kernels[0], usual) == replace(alone(other.kernels[0], other), plan=plan)
