"""The figures of a comparison: the best times of each group after the same number of evaluations, with tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

from experiments.studies.comparison.groups import Group, Section, repeated_seeds
from experiments.studies.comparison.trials import Trial
from experiments.words import describe_count
from generator.errors import InputError
from metrics.significance import holm, least_p, rank_sum_p, superiority
from metrics.statistics import median, median_interval

NEAR = 1.05
"""A time within 5 % of the best that was found counts as good enough."""
LEVEL = 0.05
Verdict: TypeAlias = Literal["faster", "slower", "no difference shown", "too few runs to tell"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A group at the number of evaluations of the comparison. Times are in milliseconds, over its runs.

    `low_ms`..`high_ms`: the 95 % interval of the median, or the whole range for fewer than six runs. `over_default`:
    the median speedup of each run's best plan over its default plan. `near`: the median number of evaluations until a
    time within 5 % of the section's best, None if fewer than half of the runs got there; `arrived` is their number.
    `final_ms`: the median time of the best plans in the finals of their runs. None: no valid value.
    """

    label: str
    runs: int
    best_ms: float | None
    low_ms: float | None
    high_ms: float | None
    over_default: float | None
    near: float | None
    arrived: int
    final_ms: float | None


@dataclass(frozen=True, slots=True)
class Contest:
    """Two groups: `ratio` is the median time of `two` over that of `one` (above 1: `one` is faster).

    `superiority`: the probability that a run of `one` finds a faster plan than a run of `two`. `p` is that of the
    Mann-Whitney test; `corrected` is Holm's correction for all contests of the section.
    """

    one: str
    two: str
    ratio: float | None
    superiority: float
    p: float
    corrected: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """The figures of a section after `evaluations` evaluations; `target_ms` is the best time by then."""

    section: Section
    evaluations: int
    target_ms: float | None
    sequential_ms: float | None
    default_ms: float | None
    standings: tuple[Standing, ...]
    contests: tuple[Contest, ...]
    notes: tuple[str, ...]

    def to_data(self) -> Mapping[str, Any]:
        """Return the figures for a JSON file."""
        section = self.section
        runs = [{"group": group.label, "directory": str(trial.directory), "seed": trial.info.options.seed,
                 "status": trial.status, "evaluations": trial.evaluations,
                 "best_ms": _finite(trial.best_at(self.evaluations)), "final_ms": trial.final_ms}
                for group in section.groups for trial in group.trials]
        return {"program": section.program, "device": section.device, "driver": section.driver, "cache": section.cache,
                "evaluations": self.evaluations, "target_ms": self.target_ms, "sequential_ms": self.sequential_ms,
                "default_ms": self.default_ms, "groups": [asdict(one) for one in self.standings],
                "tests": [asdict(one) for one in self.contests], "notes": list(self.notes), "runs": runs}


def compare_all(sections: Sequence[Section], at: int | None) -> tuple[tuple[Comparison, ...], tuple[str, ...]]:
    """Return the figures of all sections (see `compare`), and the reasons why some have none.

    Raises:
        InputError: no section has figures.
    """
    found, missing = [], []
    for section in sections:
        try:
            found.append(compare(section, at))
        except InputError as error:
            missing.append(error)
    if missing and not found:
        raise missing[0]
    return tuple(found), tuple(map(str, missing))


def compare(section: Section, at: int | None) -> Comparison:
    """Return the figures of a section after `at` evaluations (None: as many as all of its runs have).

    Raises:
        InputError: no run has made that many evaluations.
    """
    section, evaluations, notes = _level(section, at)
    trials = [trial for group in section.groups for trial in group.trials]
    target_ms = _finite(min(trial.best_at(evaluations) for trial in trials))
    standings = tuple(_standing(group, evaluations, target_ms) for group in section.groups)
    notes += [
        f"{group.label}: several runs with seed {', '.join(map(str, seeds))}; the same seed means the same walks, so "
        f"that "
        "these are not independent"
        for group in section.groups
        if (seeds := repeated_seeds(group))
    ]
    return Comparison(section, evaluations, target_ms, _median([t.sequential_ms for t in trials]),
                      _median([t.default_ms for t in trials]), standings, _contests(section, evaluations), tuple(notes))


def _level(section: Section, at: int | None) -> tuple[Section, int, list[str]]:
    """Return the section without runs that are too short, the number of evaluations to compare at, and notes."""
    notes: list[str] = []
    trials = [trial for group in section.groups for trial in group.trials]
    if unfinished := [t for t in trials if t.status in ("running", "interrupted", "killed")]:
        notes.append(f"not finished: {', '.join(f'{t.directory} ({t.status})' for t in unfinished)}")
    begun = [t for t in trials if t.evaluations]
    lengths = [t.evaluations for t in begun if not t.exhausted] or [max((t.evaluations for t in begun), default=0)]
    count = min(lengths) if at is None else at
    usable = [t for t in begun if t.exhausted or t.evaluations >= count]
    if not usable:
        raise InputError(f"no run of {section.title} has {f'made {at} evaluations' if at else 'got any result yet'}"
                         f"; {'use a smaller --at' if at else 'wait until one has'}")
    if out := [t for t in trials if t not in usable]:
        notes.append(f"left out, for they have fewer evaluations: {', '.join(str(t.directory) for t in out)}")
    longest = max(t.evaluations for t in usable)
    if at is None and longest > count:
        shortest = next(t for t in begun if t.evaluations == count)
        notes.append(
            f"compared after {describe_count(count, 'evaluation')}, as many as {shortest.directory} has; some have "
            f"{longest}: "
            f"`--at {longest}` compares those only"
        )
    groups = tuple(Group(group.label, kept) for group in section.groups
                   if (kept := tuple(t for t in group.trials if t in usable)))
    return Section(section.program, section.device, section.driver, section.cache, groups), count, notes


def _standing(group: Group, evaluations: int, target_ms: float | None) -> Standing:
    best = [trial.best_at(evaluations) for trial in group.trials]
    interval = median_interval(best)
    ratios = [trial.default_ms / ms for trial, ms in zip(group.trials, best, strict=True)
              if trial.default_ms is not None and math.isfinite(ms)]
    needed = [math.inf if target_ms is None or (n := trial.reached(NEAR * target_ms, evaluations)) is None else float(n)
              for trial in group.trials]
    return Standing(group.label, len(best), _finite(_middle(best)), _finite(interval.low), _finite(interval.high),
                    median(ratios) if ratios else None, _finite(_middle(needed)), sum(map(math.isfinite, needed)),
                    _median([trial.final_ms for trial in group.trials]))


def _contests(section: Section, evaluations: int) -> tuple[Contest, ...]:
    pairs = list(combinations(section.groups, 2))
    samples = {group.label: _bests(group.trials, evaluations) for group in section.groups}
    p_values = [rank_sum_p(samples[one.label], samples[two.label]) for one, two in pairs]
    found = []
    for (one, two), p, corrected in zip(pairs, p_values, holm(p_values), strict=True):
        first, second = samples[one.label], samples[two.label]
        chance = superiority(first, second)
        middles = _middle(first), _middle(second)
        ratio = middles[1] / middles[0] if all(map(math.isfinite, middles)) else None
        able = least_p(len(first), len(second)) * len(pairs) < LEVEL
        found.append(Contest(one.label, two.label, ratio, chance, p, corrected, _verdict(chance, corrected, able)))
    return tuple(found)


def _verdict(chance: float, corrected: float, able: bool) -> Verdict:
    if corrected < LEVEL:
        return "faster" if chance > 0.5 else "slower"
    return "no difference shown" if able else "too few runs to tell"


def enough_runs(contests: int) -> int:
    """Return the fewest runs per group with which each of this number of contests can be significant."""
    return next(n for n in range(1, 100) if least_p(n, n) * contests < LEVEL)


def _bests(trials: Sequence[Trial], evaluations: int) -> list[float]:
    return [trial.best_at(evaluations) for trial in trials]


def _middle(values: Sequence[float]) -> float:
    """Return the median; infinite if half of the values are."""
    ordered = sorted(values)
    upper = ordered[len(ordered) // 2]
    return median(ordered) if math.isfinite(upper) else math.inf


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
