"""Tasks and answers of the compile and device workers, as values that do not depend on a driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from generator.plan import Plan
from generator.problem import Problem, Subject, load_reference, program_of
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import Ratings, Timed
from runners.base import Limits, Sitting
from runners.messages import Handler
from runners.rating import static_ratings

Lower: TypeAlias = Callable[[Program, Plan, Target], Variant]
Rate: TypeAlias = Callable[[Program, Plan, Target], Ratings]
Make: TypeAlias = Callable[[Plan], Variant]
"""Makes the variant of a template's plan in this process, which takes microseconds. Raises IllegalPlan."""
DEVICE_IMPORTS = ("runners.pool_runner", "runners.device_worker")
"""The modules that device workers need (`Startup.imports`)."""
COMPILE_IMPORTS = (*DEVICE_IMPORTS, "runners.compile_worker", "generator.lowering")
"""The modules that compile workers need."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """The data that a worker needs. `lower` and `rate` must be importable by name in another process.

    `lock` is taken exclusively for timing, and shared for compiling if the device uses the host's cores. `length` is
    the longest chain of updates of one element, for the tolerance (None: estimated). `kernels` is the folder of
    compiled kernels, which the workers of a run on a machine share (None: nothing is kept). `travels`: code compiled
    here may be measured on another machine. `results`: a folder in which the device worker stores the results of a
    variant's first run, as CODE_HASH.npz (None: nowhere).
    """

    subject: Subject
    reference: Path
    device: str
    target: Target
    limits: Limits
    lock: Path
    lower: Lower
    length: int | None = None
    rate: Rate = static_ratings
    kernels: Path | None = None
    travels: bool = False
    results: Path | None = None

    @property
    def program(self) -> Program:
        """The program to lower. Raises InputError for a template."""
        return program_of(self.subject)

    def problem(self) -> Problem:
        """Return the subject with the reference, read from its file."""
        return Problem(self.subject, load_reference(self.reference))


@dataclass(frozen=True, slots=True)
class Generate:
    """Task: lower `plan` within `limit_s` seconds, then rate its kernels if `rated`. The answer is Generated or
    Illegal.
    """

    plan: Plan
    limit_s: float
    rated: bool = True


@dataclass(frozen=True, slots=True)
class Compile:
    """Task: compile `variant` within `limit_s` seconds per kernel. The answer is Compiled, CompileFailed or
    LaunchFailed.

    `spent_s`: seconds in which workers have already compiled its kernels; they count for the limit of all kernels
    together.
    """

    variant: Variant
    limit_s: float
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Warm:
    """Task: compile `variant`, a share of another one's kernels, only to fill the cache of kernels. The answer is
    Warmed.

    `limit_s` is as for Compile.
    """

    variant: Variant
    limit_s: float


@dataclass(frozen=True, slots=True)
class Measure:
    """Task: check and time compiled code, within `limits`. The answer is an Outcome; `best_ms` is for the early stop.

    `ratings` become the metrics of the kernels' times.
    """

    compiled: Compiled
    best_ms: float | None
    limits: Limits
    ratings: Ratings = ()


@dataclass(frozen=True, slots=True)
class Interleave:
    """Task: check several compiled codes, and time them in turns. The answer is Interleaved, or the first failure."""

    compiled: tuple[Compiled, ...]
    sitting: Sitting


@dataclass(frozen=True, slots=True)
class Interleaved:
    """One outcome per variant, in the order of the task, each with one sample per round."""

    outcomes: tuple[Timed, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """Task: run compiled code under a profiler. The answer is Profile or NoProfile."""

    compiled: Compiled


@dataclass(frozen=True, slots=True)
class Generated:
    """A lowered Plan, and the seconds for it.

    `ratings` are the metrics of its kernels, empty if they were not requested or cannot be computed; `fault` says why
    not.
    """

    variant: Variant
    seconds: float
    ratings: Ratings = ()
    rating_s: float = 0.0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A Variant whose kernels were built and launched once, the seconds for it (0 if all were cached), the device code
    of each kernel, and `driver.Built.spills`.
    """

    variant: Variant
    seconds: float
    codes: tuple[bytes, ...] = field(repr=False)
    spills: int | None = None


@dataclass(frozen=True, slots=True)
class Warmed:
    """The seconds of a Warm task (0 if all kernels were cached), and whether a kernel failed: Compile shows how."""

    seconds: float
    failed: bool = False


CompileTask: TypeAlias = Generate | Compile | Warm
DeviceTask: TypeAlias = Measure | Interleave | Count


def make_compile_worker(setup: WorkerSetup) -> Handler:
    """Factory that a compile worker calls."""
    from runners.compile_worker import CompileWorker  # here, because it loads pyopencl

    return CompileWorker(setup)


def make_device_worker(setup: WorkerSetup) -> Handler:
    """Factory that a device worker calls."""
    from runners.device_worker import DeviceWorker  # here, because it loads pyopencl

    return DeviceWorker(setup)
