"""The devices of this machine, through all drivers, and the selection of one by the user. Loads no driver into this
process.

A driver may crash when it is loaded, prints to the terminal, starts threads and must see its environment before it is
imported, so it is only loaded in child processes, one per driver, in parallel. A device is only offered after it has
built and run a small kernel there, with the right result (`trial.py`); passed trials are cached (`trials.py`).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

from generator.errors import InputError
from generator.target import Dialect
from runners.backend import Backend, Found
from runners.backends import BACKENDS, backend_named
from runners.base import DeviceInfo
from runners.locks import shared, timing_lock
from runners.messages import Answer, Handler, Report, Startup
from runners.opencl.platforms import NOT_A_DEVICE, driver_environment
from runners.pools import wait_for
from runners.processes import Died, Event, Expired, Finished, Task, WorkerPool
from runners.trials import has_passed, note_passed

PROBE_S = 60.0
TRIAL_S = 30.0
INSTALL_INTEL = "`pip install -e \".[intel]\"`"


@dataclass(frozen=True, slots=True)
class Broken:
    """A device that fails its trial: `reason` is its driver's message, `remedy` what to do."""

    device: DeviceInfo
    reason: str
    remedy: str

    def __str__(self) -> str:
        """Return the text for an error message."""
        return f"{self.device.platform}, {self.device.name}: {'; '.join(self.reason.splitlines())}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Survey:
    """All devices that work, best first, and those that do not.

    `obstacles`: why not all devices of a backend can be used (absent: they can). `repairs`: by the key of a device, how
    its driver is repaired in every process that loads it.
    """

    devices: tuple[DeviceInfo, ...]
    obstacles: Mapping[Dialect, str]
    broken: tuple[Broken, ...] = ()
    repairs: Mapping[str, str] = field(default_factory=dict)

    @property
    def serves(self) -> bool:
        """Whether there is a device to measure on; an interpreter does not count."""
        return bool(real(self.devices))


def survey(anew: bool = False) -> Survey:
    """Query all drivers, and test every device that has not passed its trial yet, or every one if `anew`.

    Raises:
        InputError: an OpenCL driver crashed or hung during the query.
    """
    with tempfile.TemporaryDirectory(prefix="antune-devices-") as name:
        folder = Path(name)
        environment = driver_environment(folder)
        pools = {backend.dialect: WorkerPool(
                    f"probe-{backend.dialect}", 1,
                    Startup(make_probe, (backend.dialect,), (__name__, *backend.imports)), environment, folder)
                 for backend in BACKENDS if backend.present()}
        try:
            answers = _ask({kind: (pool, [None]) for kind, pool in pools.items()})
            found = {backend.dialect: _found(backend, answers.get(backend.dialect)) for backend in BACKENDS}
            entries = [entry for one in found.values() for entry in one.devices]
            listed = [entry.info for entry in entries]
            failures = _failures(pools, [info for info in listed if anew or not has_passed(info)])
        finally:
            for pool in pools.values():
                pool.close()
    working = tuple(info for info in listed if info.key not in failures)
    broken = tuple(Broken(info, failures[info.key], remedy(info, working)) for info in listed if info.key in failures)
    return Survey(working, {dialect: one.obstacle for dialect, one in found.items() if one.obstacle}, broken,
                  {entry.info.key: entry.repair for entry in entries if entry.repair})


def list_devices() -> tuple[DeviceInfo, ...]:
    """Return all devices that work, best first (`backends.BACKENDS`): the first one is the default.

    Raises:
        InputError: an OpenCL driver crashed or hung during the query.
    """
    return survey().devices


def real(devices: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """Return those of `devices` that are worth tuning for, without interpreters."""
    return [device for device in devices if NOT_A_DEVICE not in device.platform]


def remedy(device: DeviceInfo, working: Sequence[DeviceInfo]) -> str:
    """Return the remedy for a device that does not work, if those in `working` do."""
    if device.platform == "PoCL" and shutil.which("ld") is None:
        return "PoCL links every kernel with ld: install binutils, e.g. `apt install binutils`"
    if others := real(working):
        return f"leave out --device, or use another one of `antune devices`, such as {others[0].platform}"
    if device.platform == "PoCL":
        return f"use Intel's CPU runtime, for CPUs of other vendors, too: {INSTALL_INTEL}"
    return "reinstall its driver, or install another one (docs/devices.md)"


def find_device(selector: str | None) -> DeviceInfo:
    """Return the device that `selector` selects; see `choose`.

    Raises:
        InputError: there is no such device; the message lists those that exist.
    """
    seen = survey()
    return choose(seen.devices, selector, seen.broken)


def choose(devices: tuple[DeviceInfo, ...], selector: str | None, broken: Sequence[Broken] = ()) -> DeviceInfo:
    """Return the one of `devices` that `selector` selects; None: the first. Devices in `broken` cannot be chosen.

    A selector is a number in the list, `cuda`, `opencl` or `hip` (the dialect), or a part of a platform's or a device's
    name, upper or lower case; platform names have priority. `NAME:1` is the second device that NAME matches.

    Raises:
        InputError: there is no such device; the message lists those that exist, or says why the selected one does not
            work.
    """
    if selector is not None and (meant := _broken(devices, selector, broken)):
        raise InputError(f"this device does not work: {meant}")
    if selector is not None and (backend := missing_backend(selector, devices)):
        raise InputError(
            f"no {backend.title} device can be used: {survey().obstacles.get(backend.dialect, 'none was found')}"
        )
    if broken and (not devices or (selector is None and not real(devices))):
        raise InputError("no device works: " + "; and ".join(map(str, broken)))
    if not devices:
        raise InputError("no device was found; install one with `pip install pyopencl[pocl]`")
    if selector is None:
        return devices[0]
    if selector.isdecimal() and int(selector) < len(devices):
        return devices[int(selector)]
    name, _, number = selector.rpartition(":")
    if matches := _meant(devices, selector):
        return matches[0]
    if name and number.isdecimal() and int(number) < len(matches := _meant(devices, name)):
        return matches[int(number)]
    known = "; ".join(f"{n}: {device.platform}, {device.name}" for n, device in enumerate(devices))
    raise InputError(f"no device is called {selector!r}; use a number or a part of a name of: {known}")


def missing_backend(selector: str, devices: Sequence[DeviceInfo]) -> Backend | None:
    """Return the optional backend that `selector` names, if none of `devices` belongs to it."""
    backend = backend_named(re.split("[:/]", selector.lower())[0])
    return backend if backend and not backend.required and not _of(devices, backend.dialect) else None


def _of(devices: Sequence[DeviceInfo], dialect: str) -> list[DeviceInfo]:
    return [device for device in devices if device.target.dialect == dialect]


def _meant(devices: tuple[DeviceInfo, ...], name: str) -> list[DeviceInfo]:
    """Return all devices that a name matches, best first, each once."""
    wanted = name.lower()
    if backend_named(wanted):
        return _of(devices, wanted)
    exact = [device for device in devices if device.key == name]
    by_platform = [device for device in devices if wanted in device.platform.lower()]
    by_name = [device for device in devices if wanted in device.name.lower()]
    return list(dict.fromkeys(exact + by_platform + by_name)) if wanted else []


def _broken(devices: tuple[DeviceInfo, ...], selector: str, broken: Sequence[Broken]) -> Broken | None:
    """Return the broken device that `selector` matches, if it matches none that works."""
    name, _, number = selector.rpartition(":")
    plain = name if name and (number.isdecimal() or number == "all") else selector
    if _meant(devices, selector) or _meant(devices, plain):
        return None
    meant = _meant(tuple(entry.device for entry in broken), plain)
    return next((entry for entry in broken if entry.device in meant), None)


def make_probe(dialect: Dialect) -> Handler:
    """Factory that the worker of a backend calls: if a driver crashes, only the devices of its own backend are lost."""
    def handler(task: DeviceInfo | None, report: Report) -> Answer:
        backend = backend_named(dialect)
        assert backend is not None
        return Answer(backend.find()) if task is None else _tried(task, report)

    return handler


def _tried(device: DeviceInfo, report: Report) -> Answer:
    """Return why the device does not work, under the lock that compilers share."""
    from runners.trial import try_device

    report("compile", None)
    with shared(timing_lock(device.key, device.target)):
        report("compile", TRIAL_S)
        failure = try_device(device)
    return Answer(failure, doubtful=bool(failure))


def _failures(pools: Mapping[Dialect, WorkerPool], devices: Sequence[DeviceInfo]) -> dict[str, str]:
    """Return the errors of those `devices` that fail their trial, by key; passed trials are cached."""
    by_kind = {kind: _of(devices, kind) for kind in pools}
    answers = _ask({kind: (pools[kind], infos) for kind, infos in by_kind.items() if infos})
    failures = {}
    for kind, reasons in answers.items():
        for info, reason in zip(by_kind[kind], reasons, strict=True):
            if reason:
                failures[info.key] = str(reason)
            else:
                note_passed(info)
    return failures


def _found(backend: Backend, answers: Sequence[Any] | None) -> Found:
    """Return devices and obstacle; `answers` is the probe's Found, its failure, or None: there is no driver.

    Raises:
        InputError: the devices cannot be listed, but antune requires them.
    """
    if answers is None:
        return Found((), backend.absent)
    (answer,) = answers
    if not isinstance(answer, str):
        found: Found = answer
        return found
    if backend.required:
        raise InputError(
            f"listing the {backend.title} devices failed: {answer}; try other drivers by setting OCL_ICD_VENDORS"
        )
    return Found((), f"asking the {backend.vendor} driver failed: {answer}")


def _ask(questions: Mapping[Dialect, tuple[WorkerPool, Sequence[object]]]) -> dict[Dialect, list[Any]]:
    """Return the answers of the workers of each pool, in order; for failures, the error."""
    answers: dict[Dialect, dict[int, Any]] = {kind: {} for kind in questions}
    for pool, asked in questions.values():
        for number, question in enumerate(asked):
            pool.submit(Task(number, question, "generate", PROBE_S))
    while left := [kind for kind, (_, asked) in questions.items() if len(answers[kind]) < len(asked)]:
        wait_for([questions[kind][0] for kind in left])
        for kind in left:
            for event in questions[kind][0].poll():
                answers[kind][event.key] = _answer(event)
    return {kind: [answers[kind][number] for number in sorted(answers[kind])] for kind in questions}


def _answer(event: Event) -> Any:
    match event:
        case Finished(_, value):
            return value
        case Died(_, _, message, _):
            return message
        case Expired(_, _, limit_s, _):
            return f"it took longer than {limit_s:g} s"
        case _:
            assert_never(event)
