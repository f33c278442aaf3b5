"""The OpenCL runner: worker processes around one device. This process never loads a driver."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from generator.plan import Plan
from generator.problem import Problem, save_reference
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import Outcome
from runners.base import DeviceInfo, Job, Limits
from runners.batch import Batch
from runners.locks import lock_path
from runners.messages import Startup
from runners.opencl_platforms import driver_environment
from runners.processes import WorkerPool
from runners.rating import static_ratings
from runners.tasks import Lower, Rate, WorkerSetup, make_compile_worker, make_device_worker

PREFIX = "runner-"


def default_lower(program: Program, plan: Plan, target: Target) -> Variant:
    """`generator.lowering.lower`, imported when first called: isl belongs in the workers only."""
    from generator.lowering import lower

    return lower(program, plan, target)


def _sweep(workdir: Path) -> None:
    """Remove what runners left whose process was killed before it could close them."""
    for folder in workdir.glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).split("-")[0]
        if owner.isdecimal() and not _exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's process
    return True


class OpenCLRunner:
    """Evaluates Plans on an OpenCL device: `workers` processes compile (default: one per core), one measures.

    Temporary files live in a folder of their own below `workdir`, which `close` removes.
    """

    def __init__(self, problem: Problem, device: DeviceInfo, limits: Limits, workdir: Path,
                 workers: int | None = None, lower: Lower = default_lower, length: int | None = None,
                 rate: Rate = static_ratings) -> None:
        """Workers start with the first evaluation. `length`: see `runners.check.compare`."""
        self._device, self._limits = device, limits
        workdir.mkdir(parents=True, exist_ok=True)
        _sweep(workdir)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=workdir)).resolve()
        reference = self._folder / "reference.npz"
        save_reference(problem.reference, reference)
        environment = driver_environment(self._folder)
        overlap = not device.target.shares_host_cores
        lock = lock_path(device.key.replace("/", "-") if overlap else "host-cores")
        setup = WorkerSetup(problem.program, reference, device.key, device.target, limits, lock, lower, length, rate)
        count = workers or len(os.sched_getaffinity(0))
        self._compilers = WorkerPool("compile", count, Startup(make_compile_worker, (setup,)), environment,
                                     self._folder)
        self._timer = WorkerPool("device", 1, Startup(make_device_worker, (setup,)), environment, self._folder)
        self._known: dict[str, Outcome] = {}
        self._overlap, self._running, self._closed = overlap, False, False

    @property
    def device(self) -> DeviceInfo:
        """The device and its limits."""
        return self._device

    def evaluate(self, jobs: Sequence[Job], best_ms: float | None) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) for every job; see `Runner.evaluate`.

        Raises:
            AntuneError: the worker processes cannot start.
            RuntimeError: the runner is closed, or another evaluation of it has not ended.
        """
        if self._closed or self._running:
            raise RuntimeError("this runner is closed" if self._closed else "this runner is evaluating already")
        self._running = True
        try:
            yield from Batch(self._compilers, self._timer, self._limits, self._overlap, self._known,
                             best_ms).run(jobs)
        finally:
            self._running = False

    def close(self) -> None:
        """End all worker processes and remove all temporary files; may be called again."""
        self._closed = True
        self._compilers.close()
        self._timer.close()
        shutil.rmtree(self._folder, ignore_errors=True)
