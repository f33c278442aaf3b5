"""Read a run's start plans from the wisdom database and store its best plan there. A broken database stops no run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from experiments.search.summary import Summary
from experiments.values.options import RunOptions
from experiments.values.records import Result, RunInfo
from experiments.wisdom.database import Wisdom
from experiments.wisdom.entry import Entry, known_by
from experiments.wisdom.place import wisdom_file
from experiments.wisdom.recall import MOST, origins, recalled
from generator.errors import InputError
from generator.problem import Subject
from runners.base import DeviceInfo
from runners.registry import is_deterministic


def taking_wisdom(options: RunOptions, subject: Subject, device: DeviceInfo,
                  tell: Callable[[str], None]) -> RunOptions:
    """Return `options` with the plans that wisdom has for `subject` on `device`, fitted to the space.

    `tell` receives a message about them.
    """
    path = wisdom_file()
    if path is None:
        tell("wisdom is off ($ANTUNE_WISDOM): the search begins as usual")
        return options
    known = known_by(subject)
    try:
        entries = recalled(Wisdom(path), known, device)
    except InputError as error:
        tell(f"warning: {error}; the search begins as usual")
        return options
    from experiments.search.taken import fitted

    plans = fitted([entry.plan for entry in entries], subject, device.target, options, MOST)
    if not plans:
        tell(f"wisdom has nothing for {subject.name} on {device.name}"
             + (" that fits this space" if entries else "") + ": the search begins as usual")
        return options
    taken = [entry for entry in entries if entry.plan in plans.values()]
    tell(f"wisdom: the search begins with {len(plans)} known plan{'s' * (len(plans) > 1)}, of {origins(taken, known)}")
    return replace(options, wisdom=tuple(plan.to_json() for plan in plans))


def keep_wisdom(info: RunInfo, summary: Summary, best: Result | None, tell: Callable[[str], None]) -> None:
    """Store the winner of a run's final in the wisdom database, if its results were checked on a device.

    Nothing is stored without a final (none was asked for, or Ctrl-C ended it): the lowest of many noisy times is too
    low to compare with other runs. Nor is a plan stored that is best by an objective other than the time, or that
    multiplies in a lower precision, because other runs may not allow that.
    """
    path = wisdom_file()
    if path is None or best is None or not summary.best_ms or is_deterministic(info.device.key):
        return
    if not info.options.objective.is_time or best.evaluation.plan.rounded_products:
        return
    if summary.final is None:
        tell("wisdom keeps nothing of this run: without a final, its best time is not comparable with others")
        return
    device = info.device
    entry = Entry(known_by(info.subject), device.name, device.platform, device.target.dialect,
                  device.target.shares_host_cores, device.driver, best.evaluation.plan, summary.best_ms,
                  summary.default_ms, info.created_at)
    try:
        Wisdom(path).keep([entry])
    except InputError as error:
        tell(f"warning: {error}; the best plan is in the run's own directory")
