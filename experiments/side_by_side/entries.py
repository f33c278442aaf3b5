"""What is kept of a program once it is measured: `entry.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from experiments.files import write_atomically
from experiments.side_by_side.lanes import Lane
from experiments.side_by_side.measured import DEFAULT, Measured, time_ms
from experiments.side_by_side.wanted import TILES, SuiteOptions
from experiments.store import utc_now
from generator.errors import InputError
from metrics.finals import Ratio, ratio_of
from metrics.statistics import median_interval
from runners.base import DeviceInfo

ENTRY_FILE = "entry.json"


@dataclass(frozen=True, slots=True)
class Way:
    """What a way to search came to: the median over its seeds. None: nothing valid was found.

    `over_default`: how many times faster than the default plan, with an interval over the sittings, or over the seeds where
    there are several. `detail` says more about the best plan (of the first seed): `tile 64`, or that it is the default plan.
    """

    name: str
    detail: str
    ms: float | None
    over_default: Ratio | None


@dataclass(frozen=True, slots=True)
class Duel:
    """How many times faster the best of way `one` is than the best of way `two`."""

    one: str
    two: str
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Entry:
    """A program of a suite, measured. Times in milliseconds; `load` is the machine's load average when it was measured.

    `sequential_ms` is the median of the C program, timed on its own before the searches; `sittings` is how often the others
    were measured in turns.
    """

    program: str
    size: str
    type: str
    defines: tuple[str, ...]
    device: str
    platform: str
    driver: str
    level: str
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

    def way(self, name: str) -> Way | None:
        """The way called `name`, None when it was not searched."""
        return next((way for way in self.ways if way.name == name), None)

    def over_sequential(self, name: str) -> float | None:
        """How many times faster than the sequential program the best of a way is."""
        way = self.way(name)
        return self.sequential_ms / way.ms if way and way.ms and self.sequential_ms else None


def make_entry(wanted: SuiteOptions, program: str, device: DeviceInfo, lanes: Sequence[Lane],
               sequential_ms: Sequence[float], measured: Measured) -> Entry:
    """The entry of a program whose lanes' best were `measured`. `sequential_ms`: all samples of the C program."""
    best: dict[str, list[int | None]] = {}
    for lane, number in zip(lanes, measured.best, strict=True):
        best.setdefault(lane.way, []).append(number)
    ways = tuple(_way(name, numbers, measured) for name, numbers in best.items())
    duels = tuple(Duel(one, two, ratio) for two, one in combinations(best, 2)
                  if (ratio := _pooled([_faster(measured, a, b) for a, b in zip(*_paired(best[one], best[two]), strict=True)])))
    return Entry(program, wanted.size, wanted.type, wanted.defines, device.name, device.platform, device.driver, wanted.level,
                 wanted.evaluations, wanted.minutes, wanted.seeds, utc_now(), round(os.getloadavg()[0], 2),
                 median(sequential_ms) if sequential_ms else None, time_ms(measured.sittings, DEFAULT), ways, duels,
                 len(measured.sittings))


def _paired(one: list[int | None], two: list[int | None]) -> tuple[list[int | None], list[int | None]]:
    """Seed beside seed; a way that has one run only is beside each of the other's."""
    count = max(len(one), len(two))
    return (one * count)[:count] if len(one) == 1 else one, (two * count)[:count] if len(two) == 1 else two


def _way(name: str, numbers: Sequence[int | None], measured: Measured) -> Way:
    times = [ms for n in numbers if n is not None and (ms := time_ms(measured.sittings, n)) is not None]
    over = _pooled([_faster(measured, n, DEFAULT) for n in numbers])
    first = next((n for n in numbers if n is not None), None)
    return Way(name, "" if first is None else _detail(name, first, measured), median(times) if times else None, over)


def _detail(name: str, number: int, measured: Measured) -> str:
    tiles = [kernel.tile[0] for kernel in measured.plans[number].kernels if kernel.tile]
    if name == TILES:
        return f"tile {tiles[0]}" if tiles else "no loop to tile"
    return "the default plan" if number == DEFAULT else ""


def _faster(measured: Measured, one: int | None, two: int | None) -> Ratio | None:
    return None if one is None or two is None else ratio_of(measured.sittings, two, one)


def _pooled(ratios: Sequence[Ratio | None]) -> Ratio | None:
    """The median over the seeds with its interval; of one seed, its own."""
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < 2:
        return known[0] if known else None
    middles = [ratio.middle for ratio in known]
    interval = median_interval(middles)
    return Ratio(median(middles), interval.low, interval.high)


def write_entry(entry: Entry, folder: Path) -> None:
    """Keep `entry`: from now on the program is done."""
    write_atomically(folder / ENTRY_FILE, json.dumps(asdict(entry), indent=2) + "\n")


def read_entry(folder: Path) -> Entry | None:
    """The entry kept in `folder`, None when there is none. Raises InputError when it is damaged."""
    path = folder / ENTRY_FILE
    try:
        return _entry(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} cannot be read: {error}; remove it, and it will be measured again") from None


def _entry(data: dict[str, Any]) -> Entry:
    ways = tuple(Way(**(way | {"over_default": _ratio(way["over_default"])})) for way in data["ways"])
    duels = tuple(Duel(duel["one"], duel["two"], Ratio(**duel["ratio"])) for duel in data["duels"])
    return Entry(**(data | {"defines": tuple(data["defines"]), "ways": ways, "duels": duels}))


def _ratio(data: dict[str, float] | None) -> Ratio | None:
    return None if data is None else Ratio(**data)
