"""The code of a compile worker: lowers a Plan, computes its metrics, compiles its kernels.

The static model rates what was lowered; its metrics go with the times to the explorer.

Compiling is complete: where a driver compiles a kernel at its first launch (PoCL, when it learns the block size), that
launch belongs to it, and the device worker compiles nothing. The code that comes back holds all that, or names a
driver's cache on disk that holds it for this machine.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import assert_never

from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.variant import Variant
from metrics.outcome import CompileFailed, Durations, Illegal, LaunchFailed, Phase
from runners.backends import open_compiler
from runners.driver import BuildError, LaunchError
from runners.locks import shared
from runners.messages import Answer, Report
from runners.tasks import Compile, Compiled, CompileTask, Generate, Generated, Warm, Warmed, WorkerSetup

RETIRE_AFTER = 1000
"""A worker retires after generating so many variants, because isl leaks about ten KiB per variant."""


class CompileWorker:
    """Handles Generate, Compile and Warm."""

    def __init__(self, setup: WorkerSetup) -> None:
        """Open the compiler, and the device if the driver needs it to compile."""
        self._setup = setup
        self._compiler = open_compiler(setup.device, setup.target, setup.problem, setup.kernels, setup.travels)
        self._generated = 0

    def __call__(self, task: CompileTask, report: Report) -> Answer:
        """Return Generated or Illegal for Generate; Compiled, CompileFailed or LaunchFailed for Compile; Warmed
        for Warm.
        """
        match task:
            case Generate(plan, limit_s, rated):
                with self._beside_no_timing("generate", limit_s, report):
                    self._generated += 1
                    made = self._generate(plan)
                    if rated and isinstance(made, Generated):
                        report("rate", self._setup.limits.rate_s)
                        made = self._rated(made)
                return Answer(made, retire=self._generated >= RETIRE_AFTER)
            case Compile(variant, limit_s, spent_s):
                answer = self._compile(variant, limit_s, spent_s, report)
                return Answer(answer, doubtful=not isinstance(answer, Compiled))
            case Warm(variant, limit_s):
                answer = self._compile(variant, limit_s, 0.0, report)
                if isinstance(answer, Compiled):
                    return Answer(Warmed(answer.seconds))
                return Answer(Warmed(answer.durations.compile_s, failed=True), retire=True)
            case _:
                assert_never(task)

    @contextmanager
    def _beside_no_timing(self, phase: Phase, limit_s: float, report: Report) -> Iterator[None]:
        """On the host's cores: wait, without a limit, until no antune process is timing."""
        if not self._setup.target.shares_host_cores:
            report(phase, limit_s)
            yield
            return
        report(phase, None)
        with shared(self._setup.lock):
            report(phase, limit_s)
            yield

    def _generate(self, plan: Plan) -> Generated | Illegal:
        start = time.perf_counter()
        try:
            variant = self._setup.lower(self._setup.program, plan, self._setup.target)
        except IllegalPlan as error:
            return Illegal(str(error), Durations(generate_s=time.perf_counter() - start))
        return Generated(variant, time.perf_counter() - start)

    def _rated(self, made: Generated) -> Generated:
        """Return `made` with its metrics; without them if the model fails, so that it is measured all the same."""
        start, setup, fault = time.perf_counter(), self._setup, ""
        try:
            ratings = setup.rate(setup.program, made.variant.plan, setup.target)
        except Exception as error:  # noqa: BLE001  whatever is wrong with the model; the user is told
            traceback.print_exc()
            ratings, fault = (), f"{type(error).__name__}: {error}"
        return replace(made, ratings=ratings, rating_s=time.perf_counter() - start, fault=fault)

    def _next_kernel(self, start: float, limit_s: float, report: Report) -> None:
        """Start the time limit of the next kernel: `limit_s`, but at most what is left of the plan's whole limit."""
        left_s = self._setup.limits.compile_s - (time.perf_counter() - start)
        report("compile", max(0.0, min(limit_s, left_s)))

    def _compile(self, variant: Variant, limit_s: float, spent_s: float, report: Report) -> (
            Compiled | CompileFailed | LaunchFailed):
        with self._beside_no_timing("compile", limit_s, report):
            start = time.perf_counter() - spent_s
            return self._built(variant, partial(self._next_kernel, start, limit_s, report))

    def _built(self, variant: Variant, begin: Callable[[], None]) -> Compiled | CompileFailed | LaunchFailed:
        start = time.perf_counter()
        try:
            built = self._compiler.compile(variant, begin)
        except BuildError as error:
            return CompileFailed(str(error), Durations(compile_s=time.perf_counter() - start))
        except LaunchError as error:
            return LaunchFailed(str(error), Durations(compile_s=time.perf_counter() - start))
        seconds = time.perf_counter() - start if built.compiled else 0.0
        return Compiled(variant, seconds, built.codes, built.spills)
