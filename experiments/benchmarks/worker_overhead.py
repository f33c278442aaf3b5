"""The cost of worker processes: `python -m experiments.benchmarks.worker_overhead [--plans N] [--device D]`.

Different plans of a small matrix multiplication go through real workers in sequence: one process compiles, one
measures, both already started. The wall-clock time that remains after the reported times of the workers (generating,
compiling, checking, timing) is spent on pickling, pipes, locks and the parent's own work. On a busy machine it also
contains waiting for a core, five times per plan. Therefore the same path is also measured many times with workers that
do nothing; the best of several runs is the cost of the path itself. The restart time of a lost device worker is also
measured.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from experiments.script import run
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from explorer.random_walk import RandomWalk
from generator.frontend_c.source import Compilation
from generator.problem import Problem, save_reference
from generator.variant import KernelText, Variant
from metrics.outcome import Durations, Outcome, Phase, Timed, cost_ms
from runners.base import DeviceInfo, Job, Limits
from runners.devices import find_device
from runners.locks import exclusive, shared
from runners.messages import Answer, Handler, Report, Startup
from runners.opencl.platforms import measuring_environment
from runners.pool_runner import DeviceRunner, PoolRunner, default_lower
from runners.pools import LocalDevices, wait_for
from runners.processes import Task, WorkerPool
from runners.tasks import Compile, Compiled, Generate, Generated, Measure, WorkerSetup, make_device_worker

FILE = Path(__file__).parents[1] / "suites" / "polybench" / "gemm.c"
MS = 1e3
RESTARTS = 3
BATCHES, BATCH = 11, 20
BINARY_BYTES = 100_000  # the size of PoCL's code for the largest plan
PHASES: tuple[Phase, ...] = ("compile", "check", "time")


def main(plans: Annotated[int, typer.Option(min=2)] = 30, device: Annotated[str | None, typer.Option()] = None,
         seed: Annotated[int, typer.Option(min=0)] = 0) -> None:
    """Measure what processes cost."""
    options = RunOptions(str(FILE), Compilation(defines=("MINI_DATASET",)), Budget(plans), device=device, seed=seed)
    problem, info = PARTS.read_problem(options, print), find_device(options.device)
    with tempfile.TemporaryDirectory(prefix="antune-overhead-") as name:
        folder = Path(name)
        tempfile.tempdir = name  # use separate locks, so as not to wait for other measurements
        road = whole_road(problem, info, options, folder)
        print(f"{road.plans} plans in {road.total_s:.1f} s; beyond generate, compile, check and time: "
              f"{MS * (road.total_s - road.reported_s) / road.plans:.2f} ms per evaluation, "
              f"{MS * road.own_s / road.plans:.2f} ms of processor time in this process")
        variant = default_lower(problem.program, PARTS.default_plan(problem.program, info.target, options), info.target)
        print(f"with workers that do nothing: {MS * idle_road(variant, info, folder):.2f} ms per evaluation")
        print(f"a lost device worker is back after {restart_s(problem, info, folder):.2f} s")


@dataclass(frozen=True, slots=True)
class Road:
    """Seconds of `plans` evaluations: wall-clock time, time reported by the workers, processor time of this process."""

    plans: int
    total_s: float
    reported_s: float
    own_s: float


def whole_road(problem: Problem, info: DeviceInfo, options: RunOptions, folder: Path) -> Road:
    """Return the time of the requested number of valid plans; failing plans are left out because they may restart a
    process.
    """
    space = PARTS.make_space(problem.program, info.target, options)
    plans = (options.budget.evaluations or 1) + 1
    found = [Job(number, walk.plan) for number, walk in enumerate(RandomWalk(space, options.seed).ask(2 * plans))]
    with closing(DeviceRunner(problem, info, Limits(max_repeats=10), folder)) as runner:
        sound = [number for number, outcome in runner.evaluate(found) if cost_ms(outcome) is not None]
    first, *jobs = [found[number] for number in sorted(sound)[:plans]]
    with closing(DeviceRunner(problem, info, Limits(max_repeats=10), folder, workers=1)) as runner:
        list(runner.evaluate([first]))  # starts the workers
        start, own = time.perf_counter(), time.process_time()
        outcomes = [outcome for _, outcome in runner.evaluate(jobs)]
        total_s, own_s = time.perf_counter() - start, time.process_time() - own
    return Road(len(outcomes), total_s, sum(map(_reported_s, outcomes)), own_s)


def _reported_s(outcome: Outcome) -> float:
    spent: Durations = outcome.durations
    return spent.generate_s + spent.compile_s + spent.check_s + spent.time_s


def make_idle_compiler(variant: Variant, lock: Path) -> Handler:
    """Return a compile worker that does nothing: each Plan gets the code of `variant`, with its number in it."""

    def answer(task: Generate | Compile, report: Report) -> Answer:
        report("generate", None)
        with shared(lock):
            report("generate", 60.0)
            if isinstance(task, Compile):
                return Answer(Compiled(task.variant, 0.0, (bytes(BINARY_BYTES),)))
            kernel, *others = variant.kernels
            numbered = replace(
                kernel, text=KernelText(kernel.text.before, f"{kernel.text.after}// {task.plan.parameters}")
            )
            return Answer(Generated(replace(variant, kernels=(numbered, *others)), 0.0))

    return answer


def make_idle_device(lock: Path) -> Handler:
    """Return a device worker that does nothing."""

    def answer(task: Measure, report: Report) -> Answer:
        report("check", None)
        with exclusive(lock):
            for phase in PHASES:
                report(phase, 60.0)
            code_hash = task.compiled.variant.code_hash
            return Answer(Timed(1.0, 1.0, 1.0, (1.0,) * 10, 1.0, (), code_hash, False, Durations()))

    return answer


def idle_road(variant: Variant, info: DeviceInfo, folder: Path) -> float:
    """Return the seconds per evaluation without any work: the best of several batches."""
    memory, lock = 1 << 30, folder / "lock"
    compilers = WorkerPool("compile", 1, Startup(make_idle_compiler, (variant, lock)), {}, folder, memory)
    devices = LocalDevices({info.key: WorkerPool("device", 1, Startup(make_idle_device, (lock,)), {}, folder, memory)})
    spent = []
    with closing(PoolRunner(info, Limits(), compilers, devices)) as runner:
        for batch in range(BATCHES):
            plans = [replace(variant.plan, parameters=(("number", BATCH * batch + n),)) for n in range(BATCH)]
            start = time.perf_counter()
            list(runner.evaluate([Job(number, plan) for number, plan in enumerate(plans)]))
            spent.append((time.perf_counter() - start) / BATCH)
    return min(spent[1:])


def restart_s(problem: Problem, info: DeviceInfo, folder: Path) -> float:
    """Return the longest of several restart times of a device worker after its predecessor was lost."""
    reference = folder / "reference.npz"
    save_reference(problem.reference, reference)
    setup = WorkerSetup(problem.program, reference, info.key, info.target, Limits(), folder / "lock", default_lower)
    pool = WorkerPool("device", 1, Startup(make_device_worker, (setup,)), measuring_environment(folder), folder)
    try:
        _serve(pool)
        return max(_serve(pool) for _ in range(RESTARTS))
    finally:
        pool.close()


def _serve(pool: WorkerPool) -> float:
    """Return the seconds until the pool has answered an invalid task: the worker fails and its process is replaced."""
    start = time.perf_counter()
    pool.submit(Task(0, None, "compile", 60.0))
    while not pool.poll():
        wait_for([pool])
    return time.perf_counter() - start


if __name__ == "__main__":
    # workers look for functions by the name of this module, which must not be "__main__"
    from experiments.benchmarks.worker_overhead import main as importable

    run(importable)
