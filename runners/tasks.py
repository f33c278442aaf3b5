"""Tasks and answers of the compile and device workers, as values without any driver behind them."""

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
"""Makes the variant of a template's plan in this process: that is a matter of microseconds. Raises IllegalPlan."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """What a worker must know. `lower` and `rate` must be importable by name in another process.

    `lock` is taken exclusively for timing, and shared for compiling when the device uses the host's cores.
    `length` is the longest chain of updates of one element, for the tolerance (None: estimated). `kernels` is
    the folder of compiled kernels, which the workers of a run on a machine share (None: nothing is kept). `travels`:
    what is compiled here may be measured on another machine. `results`: a folder where the device worker leaves what a
    variant computed in its first run, as CODE_HASH.npz (None: nowhere).
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
        """The subject with the reference, read from its file."""
        return Problem(self.subject, load_reference(self.reference))


@dataclass(frozen=True, slots=True)
class Generate:
    """Task: lower `plan` within `limit_s` seconds, then rate its kernels if `rated`. Answered by Generated or
    Illegal.
    """

    plan: Plan
    limit_s: float
    rated: bool = True


@dataclass(frozen=True, slots=True)
class Compile:
    """Task: compile `variant` within `limit_s` seconds per kernel. Answered by Compiled, CompileFailed or LaunchFailed.

    `spent_s`: seconds that workers have compiled its kernels before, which count for the limit of all kernels together.
    """

    variant: Variant
    limit_s: float
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Warm:
    """Task: compile `variant`, a share of the kernels of another, only to have them in the cache of kernels. `limit_s`
    is as for Compile. Answered by Warmed.
    """

    variant: Variant
    limit_s: float


@dataclass(frozen=True, slots=True)
class Measure:
    """Task: check and time what was compiled, within `limits`. Answered by an Outcome; `best_ms` is for the early stop.

    `ratings` become the metrics of the kernels' times.
    """

    compiled: Compiled
    best_ms: float | None
    limits: Limits
    ratings: Ratings = ()


@dataclass(frozen=True, slots=True)
class Interleave:
    """Task: check what was compiled, and time it in turns. Answered by Interleaved, or by the first failure."""

    compiled: tuple[Compiled, ...]
    sitting: Sitting


@dataclass(frozen=True, slots=True)
class Interleaved:
    """One outcome per variant, in the order of the task, each with one sample per round."""

    outcomes: tuple[Timed, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """Task: run what was compiled under a profiler. Answered by Profile or NoProfile."""

    compiled: Compiled


@dataclass(frozen=True, slots=True)
class Generated:
    """A lowered Plan, and the seconds that took.

    `ratings` are the metrics of its kernels, empty if they were not asked for or cannot be computed; `fault` says why
    not.
    """

    variant: Variant
    seconds: float
    ratings: Ratings = ()
    rating_s: float = 0.0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A Variant whose kernels were built and launched once, the seconds that took (0 if all of them were known), and
    the device code of each kernel.
    """

    variant: Variant
    seconds: float
    codes: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Warmed:
    """The seconds of a Warm task (0 if all kernels were known), and whether a kernel failed: Compile tells how."""

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
