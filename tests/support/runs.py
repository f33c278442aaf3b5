"""A run in miniature: a one-statement program, a space of 140 plans, and a runner that computes their times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from experiments.search.parts import PARTS, Parts
from experiments.store import read_store, utc_now
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Result, RunInfo
from generator.expr import Binary, Int, Load, Name
from generator.frontend_c.source import Compilation
from generator.plan import KernelPlan, Plan
from generator.problem import Problem, Reference
from generator.program import Access, Array, Assignment, Box, Program, Statement
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from graph.space import Chooser, Decision, Space
from metrics.outcome import CompileFailed, Durations, KernelTime, Outcome, Timed, WrongResult
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits, Sitting
from runners.many import Place

TARGET = Target("toy", "opencl", 256, (256, 256, 64), 32768, 4, True, True)
DEVICE = DeviceInfo("toy", "Toy device", "Toy platform", "1.0", TARGET)
DEFAULT = Plan(ScheduleChoice(), (KernelPlan(("S0",), (48,), (16,)),))
"""Not in the space below, so that every evaluation is a measurement."""

_BODY = Assignment(Load("A", (Name("i"),), 1), "+", Binary("*", Load("x", (), 2), Int(2)))
_ACCESSES = (
    Access("A", "{ S0[i] -> A[i] : 0 <= i < 8 }", "read"),
    Access("A", "{ S0[i] -> A[i] : 0 <= i < 8 }", "write"),
    Access("x", "{ S0[i] -> x[] : 0 <= i < 8 }", "read"),
)
PROGRAM = Program("toy", "toy.c", (Array("A", "double", (8,), "inout"), Array("x", "double", (), "in")),
                  (Statement("S0", ("i",), "{ S0[i] : 0 <= i < 8 }", _BODY, _ACCESSES, "A[i] += x * 2;", 3),),
                  "{ domain: \"{ S0[i] : 0 <= i < 8 }\" }", (("n", 8),), (Box("A", (0,), (0,)),))
REFERENCE = Reference({"A": np.ones(8), "x": np.array(3.0)}, {"A": np.full(8, 7.0)}, (50.0, 51.0, 52.0), "capture",
                      "cc 1.0", ())


def toy_space(_program: object, _target: Target, _options: RunOptions) -> Space:
    """Return a space of tiles, blocks and unrolling of one kernel: 140 plans."""

    def space(chooser: Chooser) -> Plan:
        tile = chooser.choose(Decision("tile", ("S0",)), [32, 64, 128, 256, 512])
        block = chooser.choose(Decision("block", ("S0",)), [1, 2, 4, 8, 16, 32])
        unroll = chooser.choose(Decision("unroll", ("S0",)), [1, 2, 4, 8])
        assert isinstance(tile, int) and isinstance(block, int) and isinstance(unroll, int)
        return Plan(ScheduleChoice(), (KernelPlan(("S0",), (tile,), (block,), unroll=unroll),))

    return space


def toy_outcome(plan: Plan) -> Outcome:
    """Return an outcome that depends only on the plan: some fail, the best is tile 256, block 32, unroll 4."""
    kernel = plan.kernels[0]
    tile, block = kernel.tile[0], kernel.block[0]
    spent = Durations(0.01, 0.1, 0.02, 0.05)
    if (tile, block) == (512, 1):
        return CompileFailed("out of registers", spent)
    if (tile, kernel.unroll) == (128, 8):
        return WrongResult("A[3] is 1.5, expected 7", spent)
    ms = 1 + abs(tile - 256) / 64 + 32 / block / 8 + abs(kernel.unroll - 4) / 10
    times = (KernelTime(("S0",), ms),)
    return Timed(ms, ms * 0.99, ms * 1.01, (ms, ms * 0.99, ms * 1.01), ms + 0.1, times, plan.digest, False, spent)


@dataclass
class ToyRunner:
    """Answers in reverse order; `before` runs before each answer and may end the process, `before_again` in sittings.
    """

    before: Callable[[Job], None] = lambda _job: None
    answer: Callable[[Plan], Outcome] = toy_outcome
    device: DeviceInfo = DEVICE
    evaluated: list[int] = field(default_factory=list)
    bounds: list[Bounds] = field(default_factory=list)
    closed: bool = False
    before_again: Callable[[Job], None] = lambda _job: None
    answer_again: Callable[[Plan, Sitting], Outcome] = lambda plan, _sitting: toy_outcome(plan)
    sittings: list[tuple[Sitting, list[int]]] = field(default_factory=list)

    def evaluate(self, jobs: Sequence[Job], bounds: Bounds = NOTHING_KNOWN) -> Iterator[tuple[int, Outcome]]:
        """See `runners.base.Runner`."""
        self.bounds.append(bounds)
        for job in reversed(jobs):
            self.before(job)
            self.evaluated.append(job.number)
            yield job.number, self.answer(job.plan)

    def remeasure(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """See `runners.base.Runner`."""
        self.sittings.append((sitting, [job.number for job in jobs]))
        for job in jobs:
            self.before_again(job)
            yield job.number, self.answer_again(job.plan, sitting)

    def close(self) -> None:
        """See `runners.base.Runner`."""
        self.closed = True


@dataclass
class Log:
    """A reporter that keeps all messages."""

    notes: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def note(self, text: str) -> None:
        """See `experiments.run.Reporter`."""
        self.notes.append(text)

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """See `experiments.run.Reporter`."""

    def result(self, result: Result) -> None:
        """See `experiments.run.Reporter`."""
        self.results.append(result)


def toy_source(folder: Path) -> Path:
    """Write the C file of a toy run in `folder`: it is kept with the run, but not read."""
    path = folder / "toy.c"
    path.write_text("int main;\n")
    return path


def toy_options(file: Path, evaluations: int = 25, **changes: object) -> RunOptions:
    """Return options of a small run of the colony."""
    options = RunOptions(str(file), Compilation(), Budget(evaluations=evaluations), ants=6)
    return replace(options, **changes)  # type: ignore[arg-type]  # tests name real fields


def toy_info(file: Path = Path("toy.c")) -> RunInfo:
    """Return the facts of a toy run."""
    return RunInfo(utc_now(), toy_options(file), "abc", "int main;\n", PROGRAM, DEVICE, "cc 1.0",
                   REFERENCE.sequential_ms)


def toy_parts(runner: ToyRunner) -> Parts:
    """Return the real explorers and store with the toy program, space and runner; without a picture, which is slow."""

    def open_runner(_problem: Problem, _place: Place, _limits: Limits, _work: Path) -> ToyRunner:
        return runner

    return replace(PARTS, read_problem=lambda _options, _tell: Problem(PROGRAM, REFERENCE),
                   check_place=lambda place: place, make_space=toy_space,
                   default_plan=lambda _program, _target, _options: DEFAULT,
                   gpu_plan=lambda _program, _target, _options: None, open_runner=open_runner, picture=False)


def history(directory: Path) -> list[tuple[int, int, int, str, str, Outcome]]:
    """Return the reproducible part of a run: the requests, and their outcomes."""
    with read_store(directory) as store:
        results, walks = store.results(), store.walks()
    entries = [(r.evaluation, replace(r.outcome, durations=Durations())) for r in results]
    return [(e.number, e.iteration, e.ant, walks[e.number], e.plan.digest, outcome) for e, outcome in entries]
