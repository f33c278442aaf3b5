"""The stored results of a measured program: `entry.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from experiments.files import write_atomically
from experiments.store import utc_now
from experiments.studies.side_by_side.lanes import Lane
from experiments.studies.side_by_side.measured import DEFAULT, Measured, time_ms
from experiments.studies.side_by_side.peer_rounds import PeerTime
from experiments.studies.side_by_side.polybench import TILES
from experiments.studies.side_by_side.sequential import SequentialTimes
from experiments.studies.side_by_side.wanted import BEST, GPU_DEFAULT, Setting, SuiteOptions, setting_data, take_setting
from experiments.values.outcome_rows import kind_of
from generator.errors import InputError
from metrics.finals import Ratio, ratio_of
from metrics.roofline import Roof
from metrics.statistics import median_interval
from runners.base import DeviceInfo

ENTRY_FILE = "entry.json"


@dataclass(frozen=True, slots=True)
class Way:
    """The result of a way to search: the median over its seeds. None: no valid plan was found.

    `over_default`: the speedup over the default plan, with an interval over the sittings, or over the seeds if there
    are several. `detail` describes the best plan (of the first seed): `tile 64`, the explorer that found it, that it is
    the default plan, or how it failed.
    """

    name: str
    detail: str
    ms: float | None
    over_default: Ratio | None


@dataclass(frozen=True, slots=True)
class Duel:
    """The speedup of the best plan of way `one` over that of way `two`."""

    one: str
    two: str
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Course:
    """The progress of a way: `shares[n]` is the speed of the best of the first n evaluations relative to the best of
    all.

    Evaluation 0 is the default plan. With several seeds these are medians.
    """

    way: str
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A measured program of a suite. Times are in milliseconds; `load` is the machine's load average during the
    measurements.

    `sequential_ms` is the median wall-clock time of the C program, built by `compiler` and timed before the searches;
    `sequential_o3_ms` and `openmp_ms` are other builds (`sequential.py`). All other times are device times; `sittings`
    is how often they were measured in turns. `roof` is the least time that the device's ceilings allow. It is not
    stored with the entry, because the ceilings may be measured later (`placing.py`). Neither are `courses`, which are
    in the runs (`course.py`), and `peers`, which have their own file (`halide_peer.py`).
    """

    program: str
    setting: Setting
    device: str
    platform: str
    driver: str
    evaluations: int
    minutes: float | None
    seeds: int
    measured_at: str
    load: float
    sequential_ms: float | None
    default_ms: float | None
    ways: tuple[Way, ...]
    duels: tuple[Duel, ...]
    sittings: int
    compiler: str = ""
    sequential_o3_ms: float | None = None
    openmp_ms: float | None = None
    openmp_threads: int | None = None
    roof: Roof | None = None
    courses: tuple[Course, ...] = ()
    peers: tuple[PeerTime, ...] = ()

    @property
    def explorers(self) -> tuple[str, ...]:
        """The ways that are explorers."""
        return tuple(way.name for way in self.ways if way.name not in (self.setting.rival, BEST, GPU_DEFAULT))

    def way(self, name: str) -> Way | None:
        """Return the way called `name`; None if it was not searched."""
        return next((way for way in self.ways if way.name == name), None)

    def over_sequential(self, name: str) -> float | None:
        """Return the speedup of a way's best plan over the sequential program."""
        way = self.way(name)
        return self.sequential_ms / way.ms if way and way.ms and self.sequential_ms else None

    def over_o3(self, name: str) -> float | None:
        """Return the speedup of a way's best plan over the sequential program with plain -O3."""
        way = self.way(name)
        return self.sequential_o3_ms / way.ms if way and way.ms and self.sequential_o3_ms else None

    def after(self, name: str, evaluations: int) -> float | None:
        """Return the speedup of a way's best plan over the default plan after `evaluations` evaluations.

        The speedup of the whole search is that of the tables, measured in turns; earlier ones are scaled by the times
        within the search.
        """
        way, course = self.way(name), next((course for course in self.courses if course.way == name), None)
        if way is None or way.over_default is None or course is None:
            return None
        return way.over_default.middle * course.shares[min(evaluations, len(course.shares) - 1)]

    def share_of_roof(self, name: str) -> float | None:
        """Return the fraction of the speed allowed by the device's ceilings that a way's best plan reaches."""
        way = self.way(name)
        return self.roof.share(way.ms) if self.roof and way and way.ms else None

    @property
    def default_share(self) -> float | None:
        """Return the fraction of that speed that the default plan reaches."""
        return self.roof.share(self.default_ms) if self.roof and self.default_ms else None


def make_entry(wanted: SuiteOptions, program: str, device: DeviceInfo, lanes: Sequence[Lane],
               sequential: SequentialTimes, measured: Measured) -> Entry:
    """Return the entry of a program from the measurements of its lanes' best plans."""
    best: dict[str, list[int | None]] = {wanted.setting.rival: [] if wanted.setting.rival_is_searched else [None]}
    best |= {name: [number] for name, number in measured.guests.items()}
    if measured.teams:
        best[BEST] = list(measured.teams)
    for lane, number in zip(lanes, measured.best, strict=True):
        best.setdefault(lane.way, []).append(number)
    ways = tuple(Way(name, _detail(name, best, measured, wanted.setting.default_words), *_figures(numbers, measured))
                 for name, numbers in best.items())
    duels = tuple(
        Duel(one, two, ratio)
        for one, two in _pairs(best, wanted.setting)
        if (ratio := _pooled([_faster(measured, a, b) for a, b in zip(*_paired(best[one], best[two]), strict=True)]))
    )
    return Entry(
        program,
        wanted.setting,
        device.name,
        device.platform,
        device.driver,
        wanted.evaluations,
        wanted.minutes,
        wanted.seeds,
        utc_now(),
        round(os.getloadavg()[0], 2),
        sequential.ms,
        time_ms(measured.sittings, DEFAULT),
        ways,
        duels,
        len(measured.sittings),
        sequential.compiler,
        sequential.o3_ms,
        sequential.openmp_ms,
        sequential.openmp_threads,
    )


def _pairs(names: Iterable[str], setting: Setting) -> Iterator[tuple[str, str]]:
    """Yield the pairs of ways to compare: all with the rival and with the default plan of GPUs, and explorers with
    those that follow them in the list of all explorers.

    An explorer at several levels is compared with itself, the higher level first, and with others at the same level
    only.
    """
    from explorer.registry import EXPLORERS

    rival, rank = setting.rival, {name: place for place, name in enumerate(EXPLORERS)}
    by_level = sorted(names, key=setting.level_of, reverse=True)
    ordered = sorted(
        by_level, key=lambda name: (name == GPU_DEFAULT, name == rival, rank.get(setting.explorer_of(name), -1))
    )
    for one, two in combinations(ordered, 2):
        alike = setting.explorer_of(one) == setting.explorer_of(two) or setting.level_of(one) == setting.level_of(two)
        if two in (rival, GPU_DEFAULT) or (one != BEST and alike):
            yield one, two


def _paired(one: list[int | None], two: list[int | None]) -> tuple[list[int | None], list[int | None]]:
    """Return the plans of both ways paired by seed; a way with one run only is paired with each of the other's."""
    count = max(len(one), len(two))
    return (one * count)[:count] if len(one) == 1 else one, (two * count)[:count] if len(two) == 1 else two


def _figures(numbers: Sequence[int | None], measured: Measured) -> tuple[float | None, Ratio | None]:
    """Return the time of a way in milliseconds and its speedup over the default plan."""
    times = [ms for n in numbers if n is not None and (ms := time_ms(measured.sittings, n)) is not None]
    return median(times) if times else None, _pooled([_faster(measured, n, DEFAULT) for n in numbers])


def _detail(name: str, best: Mapping[str, Sequence[int | None]], measured: Measured, default_words: str) -> str:
    number = next((n for n in best[name] if n is not None), None)
    if number is None:
        return kind_of(measured.failures[name]).replace("_", " ") if name in measured.failures else ""
    if name == TILES:
        tiles = [kernel.tile[0] for kernel in measured.plans[number].kernels if kernel.tile]
        return f"tile {tiles[0]}" if tiles else "no loop to tile"
    if name == BEST:
        return ", ".join(
            other
            for other, numbers in best.items()
            if other != BEST and other not in measured.guests and number in numbers
        )
    return f"the {default_words}" if number == DEFAULT else ""


def _faster(measured: Measured, one: int | None, two: int | None) -> Ratio | None:
    return None if one is None or two is None else ratio_of(measured.sittings, two, one)


def _pooled(ratios: Sequence[Ratio | None]) -> Ratio | None:
    """Return the median over the seeds with its interval; for one seed, its own ratio."""
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < 2:
        return known[0] if known else None
    middles = [ratio.middle for ratio in known]
    interval = median_interval(middles)
    return Ratio(median(middles), interval.low, interval.high)


def entry_data(entry: Entry) -> dict[str, Any]:
    """Return an entry for a JSON file, without roof, courses and peers; the fields of its setting are at the same
    level.
    """
    data = asdict(entry)
    del data["setting"], data["roof"], data["courses"], data["peers"]
    return setting_data(entry.setting) | data


def write_entry(entry: Entry, folder: Path) -> None:
    """Store `entry`, which marks the program as done."""
    write_atomically(folder / ENTRY_FILE, json.dumps(entry_data(entry), indent=2) + "\n")


def read_entry(folder: Path) -> Entry | None:
    """Return the entry stored in `folder`; None if there is none. Raises InputError if it is damaged."""
    path = folder / ENTRY_FILE
    try:
        return _entry(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError) as error:
        raise InputError(f"{path} cannot be read: {error}; remove it, and it will be measured again") from None


def _entry(data: dict[str, Any]) -> Entry:
    ways = tuple(Way(**(way | {"over_default": _ratio(way["over_default"])})) for way in data["ways"])
    duels = tuple(Duel(duel["one"], duel["two"], Ratio(**duel["ratio"])) for duel in data["duels"])
    return Entry(**({"setting": take_setting(data)} | data | {"ways": ways, "duels": duels}))


def _ratio(data: dict[str, float] | None) -> Ratio | None:
    return None if data is None else Ratio(**data)
