"""Plans that spill registers are passed over: real kernels of a double of CUDA's driver, which NVRTC compiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import pytest

from experiments.learning import autotune as tuning
from experiments.learning import spilling
from experiments.learning.autotune import Wanted, given, top, tuned
from experiments.learning.collect import problem_of
from experiments.learning.database import Database
from experiments.learning.samples import Sample
from experiments.learning.series import Origin
from experiments.learning.spilling import MOST, Compiling, likely_fastest
from experiments.search import places
from experiments.suites.image_pipelines import pipeline
from generator.errors import InputError
from generator.lowering import lower
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.problem import Problem, program_of
from generator.schedules.stages import Stages
from metrics.costs.learned.model import shipped_model
from metrics.outcome import Compilation, CompileFailed, Durations, Failed, Outcome, Timed
from runners.base import DeviceInfo, Job, Limits
from runners.cuda.compiler import Nvrtc, cuda_compiler
from runners.deterministic import DEVICE
from runners.devices import find_device
from runners.pool_runner import DeviceRunner
from tests.support.cli import antune_command
from tests.support.cuda_compiler import translator
from tests.support.cuda_double import UNUSABLE, pretended
from tests.support.slow import in_turn

BLUR = Origin(str(pipeline("blur").file), (("height", 512), ("width", 512)))
INLINE = Stages((("blur_x", "inline"),))


def plan(tile: tuple[int, int], block: tuple[int, int], unroll: int) -> Plan:
    """A kernel that computes all of blur; its threads keep the sums of their points in registers."""
    return Plan(INLINE, (KernelPlan(("S0", "S1"), tile, block, registers=True, unroll=unroll),))


PLAIN, OTHER = plan((32, 32), (8, 32), 1), plan((16, 32), (8, 32), 1)
WIDE, WIDER = plan((256, 224), (32, 32), 8), plan((256, 256), (32, 32), 8)
ILLEGAL = plan((64, 64), (64, 64), 1)
"""Its blocks have more threads than any device."""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> DeviceInfo:
    """The double. It is gone afterwards, so that compile workers, which need no device, load NVRTC itself."""
    if UNUSABLE is not None:
        pytest.skip(UNUSABLE)
    translator(Nvrtc)
    with pretended(tmp_path_factory.mktemp("driver")):
        return find_device("cuda")


@pytest.fixture
def opened(device: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> list[DeviceRunner]:
    """The runners of the double that were opened."""
    found = list[DeviceRunner]()

    def open_runner(problem: Problem, key: str, limits: Limits, folder: Path) -> DeviceRunner:
        assert key == device.key
        found.append(DeviceRunner(problem, device, limits, folder, 1))
        return found[-1]

    monkeypatch.setattr(spilling, "open_runner", open_runner)
    return found


@lru_cache(maxsize=1)
def problem() -> Problem:
    return problem_of(BLUR)


def spills(device: DeviceInfo, of: Plan) -> int:
    """Compiled in this process."""
    built = cuda_compiler(device.target).compile(lower(program_of(problem().subject), of, device.target))
    assert built.spills is not None
    return built.spills


def samples(*plans: Plan) -> list[Sample]:
    """The first plan has the lowest predicted time."""
    return [Sample(one, 1.0 + k) for k, one in enumerate(plans)][::-1]


def chosen(device: DeviceInfo, plans: Sequence[Plan], count: int) -> tuple[list[Plan], list[str]]:
    said = list[str]()
    found = likely_fastest(samples(*plans), count, Compiling(problem, "blur.py", device, Limits(), said.append))
    return [sample.plan for sample in found], said


@in_turn
def test_the_plans_spill_as_assumed(device: DeviceInfo) -> None:
    assert spills(device, PLAIN) == spills(device, OTHER) == 0
    assert 0 < spills(device, WIDE) * MOST < spills(device, WIDER)


@pytest.mark.slow
def test_plans_that_spill_are_passed_over(device: DeviceInfo, opened: list[DeviceRunner]) -> None:
    found, said = chosen(device, (WIDE, PLAIN, WIDER, OTHER), 1)
    assert (found, len(opened)) == ([PLAIN], 1)
    why = f"because the kernels spill registers ({spills(device, WIDE)} bytes per thread)"
    assert said == [f"blur.py: passes over one plan of those with the lowest predicted times, {why}"]
    found, [line] = chosen(device, (WIDE, PLAIN, WIDER, OTHER), 5)
    assert found == [PLAIN, OTHER]
    assert "over 2 plans" in line and f"({spills(device, WIDE)} to {spills(device, WIDER)} bytes" in line


def test_plans_that_cannot_be_compiled_are_passed_over(device: DeviceInfo, opened: list[DeviceRunner]) -> None:
    found, [line] = chosen(device, (ILLEGAL, PLAIN), 1)
    assert (found, len(opened)) == ([PLAIN], 1)
    assert line.startswith("blur.py: passes over one plan that cannot be compiled: ") and "4096" in line
    with pytest.raises(InputError, match=r"none of the plans of blur.py can be compiled"):
        chosen(device, (ILLEGAL,), 1)


@pytest.mark.slow
def test_if_all_spill_those_that_spill_little_more_than_the_least_are_taken(device: DeviceInfo,
                                                                            opened: list[DeviceRunner]) -> None:
    found, [line] = chosen(device, (WIDER, WIDE), 5)
    assert (found, len(opened)) == ([WIDE], 1)
    assert "every plan spill" in line and f"of the one plan that spills least ({spills(device, WIDE)} bytes" in line


@dataclass
class Answering:
    """A runner with an answer for each plan, in their order."""

    answers: Sequence[Compilation | Failed]

    def compiled(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Compilation | Failed]]:
        yield from zip((job.number for job in jobs), self.answers, strict=True)

    def close(self) -> None:
        pass


def answered(monkeypatch: pytest.MonkeyPatch, answers: Mapping[Plan, Compilation | Failed],
             count: int) -> tuple[list[Plan], list[str]]:
    """What is chosen if a compiler of spills gives these answers."""
    monkeypatch.setattr(spilling, "open_runner", lambda *words: Answering([*answers.values()]))
    return chosen(replace(DEVICE, key="cuda/0"), [*answers], count)


def test_a_failure_without_a_message_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[Plan, Compilation | Failed] = {WIDE: CompileFailed("", Durations()), PLAIN: Compilation(0)}
    assert answered(monkeypatch, answers, 1) == ([PLAIN], ["blur.py: passes over one plan that cannot be compiled: "])
    answers[WIDE] = CompileFailed("too large\nin line 3", Durations())
    _, [line] = answered(monkeypatch, answers, 1)
    assert line.endswith(": too large")


def test_several_plans_may_spill_least(monkeypatch: pytest.MonkeyPatch) -> None:
    found, [line] = answered(monkeypatch, {PLAIN: Compilation(8), WIDER: Compilation(13), WIDE: Compilation(12)}, 5)
    assert found == [PLAIN, WIDE] and "of 2 plans that spill least (8 to 12 bytes per thread)" in line


def test_nothing_is_compiled_where_the_compiler_reports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilling, "open_runner", partial(pytest.fail, "a runner"))
    for key in (DEVICE.key, "opencl/0/0", "hip/0"):
        assert chosen(replace(DEVICE, key=key), (WIDE, PLAIN), 1) == ([WIDE], [])


@dataclass
class Running(Answering):
    """It also runs plans, and keeps what it has compiled."""

    kept: set[str]
    compiles: list[str]

    def compiled(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Compilation | Failed]]:
        for job, answer in zip(jobs, self.answers, strict=True):
            self._compile(job)
            yield job.number, answer

    def evaluate(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        for job in jobs:
            self._compile(job)
            yield job.number, Timed(1.0, 1.0, 1.0, (1.0,), 1.0, (), "code", False, Durations())

    def _compile(self, job: Job) -> None:
        if job.plan.digest not in self.kept:
            self.kept.add(job.plan.digest)
            self.compiles.append(job.plan.digest)


def test_plans_that_are_measured_are_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiles, answers = list[str](), (Compilation(8), Compilation(0), Compilation(0))
    monkeypatch.setattr(spilling, "open_runner", lambda *words: Running(answers, set(), compiles))
    monkeypatch.setattr(tuning, "batch", lambda *_, **__: samples(WIDE, PLAIN, OTHER))
    device = replace(DEVICE, key="cuda/0")
    one = tuned(given(BLUR, device), device, shipped_model())
    with closing(Database(tmp_path / "plans.db", device.key, device.name)) as base:
        best, _ = top(base, one, Wanted((BLUR,), tmp_path), device, lambda line: None)
        measured = {plan.plan for plan in base.plans(one.given.series)}
    assert best in measured and measured == {PLAIN, OTHER}
    assert sorted(compiles) == sorted(plan.digest for plan in (WIDE, PLAIN, OTHER))


@in_turn
def test_the_command_says_why_it_takes_another_plan(device: DeviceInfo, opened: list[DeviceRunner], tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    """The batch is given; the rest is the command's own."""
    monkeypatch.setattr(tuning, "batch", lambda *_, **__: tuple(samples(WIDE, PLAIN)))
    monkeypatch.setattr(places, "find_device", lambda selector: device)
    out = tmp_path / "out"
    assert antune_command(monkeypatch)("autotune", BLUR.source, "--size", "512x512", "--mode", "one-shot", "--out", out,
                                       "--device", "cuda") == 0
    said = capsys.readouterr().out
    assert "blur.py: passes over one plan" in said and "2 ms predicted" in said and len(opened) == 1
    assert plan_from_json((out / "blur.one-shot.plan.json").read_text()) == PLAIN
