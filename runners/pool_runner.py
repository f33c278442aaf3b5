"""The runner of real devices: worker processes around one device or several. This process never loads a driver."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from generator.plan import Plan
from generator.problem import Problem, Subject, save_reference
from generator.program import Program
from generator.target import Target
from generator.templates.template import Template
from generator.templates.variants import VariantMaker
from generator.variant import Variant
from metrics.outcome import Compilation, Failed, NoProfile, Outcome, Profile
from runners.backends import imports_of
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits, Sitting
from runners.batch import Batch
from runners.locks import timing_lock
from runners.many import model_key
from runners.messages import Startup
from runners.opencl.platforms import driver_environment, measuring_environment
from runners.pools import Devices, LocalDevices, Pool
from runners.processes import WorkerPool
from runners.rating import static_ratings
from runners.realtime import check_realtime
from runners.rematch import Rematch
from runners.resident import share_bytes
from runners.shares import data_lead
from runners.tasks import (
    COMPILE_IMPORTS,
    DEVICE_IMPORTS,
    Compiled,
    Lower,
    Make,
    Rate,
    WorkerSetup,
    make_compile_worker,
    make_device_worker,
)
from runners.trial import trial_variant

PREFIX = "runner-"


def default_lower(program: Program, plan: Plan, target: Target) -> Variant:
    """Call `generator.lowering.lower`, which is imported here because only workers should load isl."""
    from generator.lowering import lower

    return lower(program, plan, target)


def maker_of(subject: Subject, target: Target) -> Make | None:
    """Return the maker of a template's variants for `target`; None for a program, whose plans workers lower.

    Raises:
        InputError: the device does not support the template's language.
    """
    return VariantMaker(subject, target.dialect) if isinstance(subject, Template) else None


def _own_folder(workdir: Path) -> Path:
    """Make a folder below `workdir`, and remove those of killed runners there. Intel's compiler puts its path between
    quotes, which a quote in it would end: then it is below the system's folder for temporary files.
    """
    place = Path(tempfile.gettempdir()) if '"' in str(workdir.resolve()) else workdir
    _sweep(place)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place)).resolve()


def _sweep(workdir: Path) -> None:
    """Remove files of runners whose process was killed before it could close them."""
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
        return True  # another user's process
    return True


class PoolRunner:
    """Evaluates Plans with two pools of any kind: one generates and compiles, one measures."""

    def __init__(self, device: DeviceInfo, limits: Limits, compilers: Pool, devices: Devices,
                 make: Make | None = None, share: int = 1) -> None:
        """`device` is the model of all `devices`. Workers start with the first evaluation. `make`, `share`: see
        `Batch`.
        """
        self._device, self._limits, self._compilers, self._devices = device, limits, compilers, devices
        self._overlap, self._make = not device.target.shares_host_cores, make
        self._share = share
        self._known: dict[str, Outcome] = {}
        self._ready: dict[str, Compiled] = {}
        self._running = self._closed = False
        self._upcoming: Sequence[Job] = ()
        self._begun: Batch | None = None  # has jobs of the next call
        self._warn: Callable[[str], None] | None = None

    @property
    def device(self) -> DeviceInfo:
        """The device and its limits."""
        return self._device

    def evaluate(self, jobs: Sequence[Job], bounds: Bounds = NOTHING_KNOWN) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) for every job; see `Runner.evaluate`.

        Raises:
            AntuneError: the worker processes cannot start.
            RuntimeError: the runner is closed, or another evaluation of it has not ended.
        """
        with self._alone():
            batch = self._continued(jobs) or Batch(
                self._compilers, self._devices, self._limits, self._overlap, self._known, self._rating_failed,
                self._make, self._share)  # fmt: skip
            numbers = {job.number for job in jobs}
            upcoming, self._upcoming = [job for job in self._upcoming if job.number not in numbers], ()
            yield from batch.run(jobs, bounds, upcoming)
            self._begun = batch if upcoming else None

    def _continued(self, jobs: Sequence[Job]) -> Batch | None:
        """Return the batch that has begun with these jobs, if there is one; give up other jobs that have begun."""
        begun, self._begun = self._begun, None
        if begun is None or begun.fits(jobs):
            return begun
        begun.cancel()
        return None

    def announce(self, jobs: Sequence[Job]) -> None:
        """See `runners.base.AnnouncedRunner`."""
        self._upcoming = jobs if self._overlap else ()

    def warn_through(self, tell: Callable[[str], None]) -> None:
        """Report the first failure of the static model; see `WarningRunner.warn_through`."""
        self._warn = tell

    def _rating_failed(self, why: str) -> None:
        tell, self._warn = self._warn, None
        if tell is not None:
            tell(why)

    def remeasure(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """Time `jobs` again, in turns, in a separate process; see `Runner.remeasure`.

        Raises:
            AntuneError: the worker processes cannot start.
            RuntimeError: the runner is closed, or another evaluation of it has not ended.
        """
        with self._rematch() as rematch:
            yield from rematch.run(jobs, sitting)

    def compiled(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Compilation | Failed]]:
        """Compile `jobs` without running them; see `CompilingRunner.compiled`.

        Raises:
            AntuneError: the worker processes cannot start.
            RuntimeError: the runner is closed, or another evaluation of it has not ended.
        """
        with self._rematch() as rematch:
            yield from rematch.compiled(jobs)

    def profile(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Profile | NoProfile]]:
        """Run `jobs` under a profiler; see `ProfilingRunner.profile`.

        Raises:
            AntuneError: the worker processes cannot start.
            RuntimeError: the runner is closed, or another evaluation of it has not ended.
        """
        with self._rematch() as rematch:
            yield from rematch.profile(jobs)

    def refusal(self) -> str | None:
        """Return why nothing runs on the device; see `DiagnosingRunner.refusal`.

        Raises:
            AntuneError: the worker processes cannot start.
            RuntimeError: the runner is closed, or another evaluation of it has not ended.
        """
        with self._rematch() as rematch:
            return rematch.refusal(trial_variant(self._device.target.dialect))

    @contextmanager
    def _rematch(self) -> Iterator[Rematch]:
        with self._alone():
            self._give_up()
            yield Rematch(self._compilers, self._devices, self._limits, self._ready, self._make)

    def _give_up(self) -> None:
        """Cancel the jobs that were begun for a call that has not come."""
        begun, self._begun, self._upcoming = self._begun, None, ()
        if begun is not None:
            begun.cancel()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._closed or self._running:
            raise RuntimeError("this runner is closed" if self._closed else "this runner is evaluating already")
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def close(self) -> None:
        """End all worker processes; may be called again."""
        self._closed = True
        self._compilers.close()
        self._devices.close()


class DeviceRunner(PoolRunner):
    """Evaluates Plans on devices of this machine, with any driver.

    `workers` processes compile (default: one per core), one per device measures. Temporary files are in a separate
    folder below `workdir`, which `close` removes.
    """

    def __init__(self, problem: Problem, device: DeviceInfo, limits: Limits, workdir: Path,
                 workers: int | None = None, lower: Lower = default_lower, length: int | None = None,
                 rate: Rate = static_ratings, others: Sequence[DeviceInfo] = (), make: Make | None = None,
                 results: Path | None = None, lock: Path | None = None) -> None:
        """`others` are further devices of the same model (`many.check_one_model`). `length`: see
        `runners.check.compare`. `make`: makes the variants of a template in place of its own maker. `results`: see
        `WorkerSetup`. `lock`: the file that timings lock, if their times do not count (None: that of the device, so
        that nothing else runs meanwhile).

        Raises:
            InputError: the device does not support a template's language, or real-time priority is not permitted.
        """
        if limits.realtime:
            check_realtime()
        make = make or maker_of(problem.subject, device.target)
        workdir.mkdir(parents=True, exist_ok=True)
        self._folder = _own_folder(workdir)
        reference = self._folder / "reference.npz"
        save_reference(problem.reference, reference)
        all_devices = (device, *others)
        kernels = self._folder / "kernels"
        setups = {one.key: WorkerSetup(problem.subject, reference, one.key, device.target, limits,
                                       lock or timing_lock(one.key, device.target), lower, length, rate, kernels,
                                       results=results)
                  for one in all_devices}
        count = workers or len(os.sched_getaffinity(0))
        memory = limits.memory_bytes or share_bytes(count + len(all_devices))
        shared = imports_of(device.key)
        compilers = WorkerPool("compile", count,
                               Startup(make_compile_worker, (setups[device.key],), (*COMPILE_IMPORTS, *shared)),
                               driver_environment(self._folder), self._folder, memory)
        measuring = measuring_environment(self._folder)
        devices = {key: WorkerPool(f"device-{number}", 1,
                                   Startup(make_device_worker, (setup,), (*DEVICE_IMPORTS, *shared)),
                                   measuring, self._folder, memory)
                   for number, (key, setup) in enumerate(setups.items())}
        model = replace(device, key=model_key(device.key)) if others else device
        super().__init__(model, limits, compilers, LocalDevices(devices), make,
                         1 if data_lead(problem.subject) else count)

    def close(self) -> None:
        """End all worker processes and remove all temporary files; may be called again."""
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)
