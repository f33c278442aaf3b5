"""Results of other runs (`tune --reuse DIR`): which runs qualify, and which of their outcomes hold here.

A time is reused only if measuring again would give the same: the same program (its digest: statements, sizes, types),
device (model, limits, driver), compiler, code generator and state of the caches, and at least the requested precision.
If something differs, the error names it and nothing is reused. Reused results are copied into the new run's store, so
the other directory may be deleted.

A reused outcome replaces a measurement in the search: it counts as an evaluation in the budget but costs no time. The
default plan and the finals are always measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path
from typing import assert_never

from experiments.store import Store, read_store
from experiments.store.reused_table import Known
from experiments.values.environment import Environment, current_environment
from experiments.values.options import Timing
from experiments.values.records import Result, RunInfo
from experiments.values.rooms import MEASURE
from experiments.values.versions import changed_rooms, changed_settings
from generator.errors import InputError
from generator.problem import Subject
from metrics.outcome import CompileFailed, Crashed, Illegal, LaunchFailed, Outcome, Timed, TimedOut, WrongResult
from runners.backends import backend_named
from runners.base import Bounds, DeviceInfo, Limits
from runners.limits import adapted
from runners.many import model_key


def check_runs(directories: Sequence[str]) -> None:
    """Raise InputError unless all `directories` are readable runs. It does not check whether their results hold."""
    for directory in directories:
        read_store(Path(directory)).close()


def known_results(
    directories: Sequence[str], subject: Subject, device: DeviceInfo, timing: Timing
) -> tuple[Known, ...]:
    """Return the outcomes of the runs in `directories` that hold for `subject` on `device`. If several runs have a
    plan, the first directory's outcome is returned.

    Raises:
        InputError: a directory is not a run, cannot be read, or has another program, device or toolchain.
    """
    known: dict[str, Known] = {}
    for directory in directories:
        with read_store(Path(directory)) as store:
            if differs := difference(store, subject, device, timing):
                raise InputError(f"--reuse {directory}: its results do not hold for this run: {differs}; leave it out")
            for entry in _lent(store.results(), directory):
                known.setdefault(entry.plan, entry)
    return tuple(known.values())


def _lent(results: Iterable[Result], directory: str) -> list[Known]:
    return [Known(r.evaluation.plan.digest, r.outcome, r.reused_from or directory)
            for r in results if not isinstance(r.outcome, Crashed)]


def difference(store: Store, subject: Subject, device: DeviceInfo, timing: Timing) -> str | None:
    """Return why results of `store` do not hold for `subject` on `device`; None if they do."""
    info, now = store.info(), current_environment()
    if info.subject.digest != subject.digest:
        return f"another program ({info.subject.name} of {info.options.file}, or other sizes)"
    tools = (_other_tools(info, before, now) for before in store.environments())
    return (
        _other_device(info.device, device)
        or next(filter(None, tools), None)
        or _other_timing(info.options.timing, timing)
    )


def _other_device(before: DeviceInfo, now: DeviceInfo) -> str | None:
    if (model_key(before.key), before.name, before.platform) != (model_key(now.key), now.name, now.platform):
        return f"another device ({before.name}, {before.platform}, instead of {now.name}, {now.platform})"
    if before.driver != now.driver:
        return f"another driver ({before.driver} instead of {now.driver})"
    return "other limits of the device" if before.target != now.target else None


def _other_tools(info: RunInfo, before: Environment, now: Environment) -> str | None:
    if rooms := changed_rooms(before, now, MEASURE):
        return f"another version of antune (its {' and '.join(rooms)} changed)"
    if not before.rooms:
        return "a version of antune that did not record what it consisted of"
    if settings := changed_settings(before, now):
        return (
            f"a driver that was told otherwise "
            f"({', '.join(f'{name} {old} instead of {new}' for name, old, new in settings)})"
        )
    backend = backend_named(info.device.target.dialect)
    old, new = dict(before.packages), dict(now.packages)
    changed = [
        f"{name} {old.get(name, 'none')} instead of {new.get(name, 'none')}"
        for name in (backend.tools if backend else ())
        if old.get(name) != new.get(name)
    ]
    return f"another compiler ({', '.join(changed)})" if changed else None


def _other_timing(before: Timing, now: Timing) -> str | None:
    if before.cache != now.cache:
        return f"times with {before.cache} caches (--cache {before.cache})"
    if now.realtime and not before.realtime:
        return "times at ordinary priority (without --realtime)"
    if before.precision > now.precision:
        return f"times that are less precise (--precision {before.precision:g} instead of {now.precision:g})"
    if before.max_repeats < now.max_repeats and before.max_repeats < Timing().max_repeats:
        return f"fewer repeats (--max-repeats {before.max_repeats} instead of {now.max_repeats})"
    return None


def usable(outcome: Outcome, limits: Limits, bounds: Bounds) -> bool:
    """Return True if measuring now would give the same outcome.

    A plan that timed out may succeed with a longer limit, and a crash may have had a cause other than the plan.
    """
    match outcome:
        case Timed(stopped_early=True):  # only a lower bound of its time is known
            return limits.give_up < inf
        case Timed() | Illegal() | CompileFailed() | LaunchFailed() | WrongResult():
            return True
        case TimedOut(phase, limit_s, _):
            now = adapted(limits, bounds)
            return limit_s >= (now.run_s if phase in ("check", "time") else now.compile_s)
        case Crashed():
            return False
        case _:
            assert_never(outcome)
