"""The tables of a suite: a section per device, size, type and budget, a line per program, geometric means at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, TypeAlias

from experiments.side_by_side.entries import Entry, entry_data
from experiments.side_by_side.wanted import BEST, Setting
from experiments.words import describe_ms, describe_ratio
from metrics.finals import Ratio
from metrics.statistics import geometric_mean

Cells: TypeAlias = tuple[str, ...]
Table: TypeAlias = tuple[Cells, Sequence[Cells]]
"""The names of the columns, and the lines."""
FEWEST = 3
"""Programs that make an interval."""
BRACKETS = "ratios have their 95 % interval in [brackets], or all that was seen where there are fewer than six sittings or seeds"
"""With one seed, the sittings are what the interval is over."""
WIDE = 7
"""With more columns of ratios, those between the ways make a table of their own."""


@dataclass(frozen=True, slots=True)
class Section:
    """Programs that were measured in the same way: their geometric means make sense."""

    entries: tuple[Entry, ...]

    @property
    def title(self) -> str:
        """`Device (Platform), driver 1.2: SMALL_DATASET, float, level o2, 20 evaluations per search`."""
        one = self.entries[0]
        minutes = "" if one.minutes is None else f", at most {one.minutes:g} minutes"
        seeds = f", {one.seeds} seeds" if one.seeds > 1 else ""
        return (f"{one.device} ({one.platform}), driver {one.driver}: {one.setting.title}, "
                f"{one.evaluations} evaluations per search{minutes}{seeds}")

    @property
    def setting(self) -> Setting:
        """That of all entries."""
        return self.entries[0].setting

    @property
    def explorers(self) -> tuple[str, ...]:
        """The explorers that any entry has."""
        return tuple(dict.fromkeys(name for entry in self.entries for name in entry.explorers))

    @property
    def ways(self) -> tuple[str, ...]:
        """All ways in the order of the tables: the rival, the best of all explorers where that is known, the explorers."""
        best = any(entry.way(BEST) for entry in self.entries)
        return (self.setting.rival, *([BEST] if best else []), *self.explorers)

    @property
    def leaders(self) -> tuple[str, ...]:
        """Who is compared with the rival and with sequential C, line by line: the best of all, else every explorer."""
        return (BEST,) if BEST in self.ways else self.explorers

    def words(self, way: str) -> str:
        """What a way is called."""
        return {self.setting.rival: self.setting.rival_words, BEST: "best of all"}.get(way, way)

    @property
    def duels(self) -> tuple[tuple[str, str], ...]:
        """The pairs of ways that any entry compares."""
        return tuple(dict.fromkeys((duel.one, duel.two) for entry in self.entries for duel in entry.duels))


@dataclass(frozen=True, slots=True)
class Mean:
    """A geometric mean over `programs`, with its 95 % interval if there are `FEWEST`; `lowest` is the least of the ratios."""

    name: str
    mean: float
    low: float | None
    high: float | None
    programs: int
    lowest: float


def sections_of(entries: Sequence[Entry]) -> tuple[Section, ...]:
    """The entries, by what they have in common."""
    ordered = sorted(entries, key=lambda entry: (_key(entry), entry.program))
    return tuple(Section(tuple(members)) for _, members in groupby(ordered, key=_key))


def _key(entry: Entry) -> tuple[str, ...]:
    return (entry.device, entry.platform, entry.driver, entry.setting.suite, entry.setting.title,
            f"{entry.evaluations:9d} {entry.minutes or 0:9.3f} {entry.seeds:4d}")


def times(section: Section) -> Table:
    """What everything takes, a line per program."""
    lines = [(entry.program, describe_ms(entry.sequential_ms), describe_ms(entry.default_ms),
              *(_time(entry, name) for name in section.ways)) for entry in section.entries]
    return ("time", "sequential C", section.setting.default_words, *map(section.words, section.ways)), lines


def speedups(section: Section) -> tuple[Table, ...]:
    """Over the default plan, over each other, over sequential C, a line per program; in two tables where one is too wide."""
    words, entries = section.words, section.entries
    over = [(words(name), [describe_interval(_over_default(entry, name)) for entry in entries]) for name in section.ways]
    pairs = [(f"{words(one)} : {words(two)}", [describe_interval(_duel(entry, one, two)) for entry in entries])
             for one, two in section.duels if two != section.setting.rival or one == BEST]
    serial = [(f"{words(name)} : C", [describe_ratio(entry.over_sequential(name)) for entry in entries]) for name in section.leaders]
    title = f"over the {section.setting.default_words}"
    if not pairs or len(over) + len(pairs) + len(serial) <= WIDE:
        return (_table(title, entries, over + pairs + serial),)
    return _table(title, entries, over), _table("over each other", entries, pairs + serial)


def _table(title: str, entries: Sequence[Entry], columns: Sequence[tuple[str, Sequence[str]]]) -> Table:
    """The table with these columns and a line per entry."""
    cells = zip(*(cells for _, cells in columns), strict=True)
    return (title, *(name for name, _ in columns)), [(entry.program, *line) for entry, line in zip(entries, cells, strict=True)]


def tables(section: Section) -> tuple[Table, ...]:
    """All tables of a section."""
    return (times(section), *speedups(section), mean_table(section))


def _time(entry: Entry, name: str) -> str:
    way = entry.way(name)
    if way is None:
        return "-"
    time = "nothing valid" if way.ms is None else describe_ms(way.ms)
    return time + (f" ({way.detail})" if way.detail else "")


def _over_default(entry: Entry, name: str) -> Ratio | None:
    way = entry.way(name)
    return way.over_default if way else None


def _duel(entry: Entry, one: str, two: str) -> Ratio | None:
    return next((duel.ratio for duel in entry.duels if (duel.one, duel.two) == (one, two)), None)


def describe_interval(ratio: Ratio | None) -> str:
    """`8.37x [8.1, 8.6]`, `-` when unknown."""
    return "-" if ratio is None else f"{describe_ratio(ratio.middle)} [{ratio.low:.3g}, {ratio.high:.3g}]"


def means(section: Section) -> tuple[Mean, ...]:
    """The geometric means of all ratios: over the default plan, over each other, over sequential C."""
    entries, words = section.entries, section.words
    wanted = [*((f"{words(name)} : {section.setting.default_words}", [_middle(_over_default(entry, name)) for entry in entries])
                for name in section.ways),
              *((f"{words(one)} : {words(two)}", [_middle(_duel(entry, one, two)) for entry in entries])
                for one, two in section.duels),
              *((f"{words(name)} : sequential C", [entry.over_sequential(name) for entry in entries]) for name in section.ways)]
    return tuple(mean for name, ratios in wanted if (mean := _mean(name, ratios)))


def _middle(ratio: Ratio | None) -> float | None:
    return ratio.middle if ratio else None


def _mean(name: str, ratios: Sequence[float | None]) -> Mean | None:
    """The mean of those that are known. Its interval is Student's for the logarithms: what other programs may come to."""
    known = [ratio for ratio in ratios if ratio]
    if not known:
        return None
    mean, count = geometric_mean(known), len(known)
    if count < FEWEST:
        return Mean(name, mean, None, None, count, min(known))
    from scipy.stats import t

    logs = [math.log(ratio / mean) for ratio in known]
    half = float(t.ppf(0.975, count - 1)) * math.sqrt(sum(x * x for x in logs) / (count - 1) / count)
    return Mean(name, mean, mean * math.exp(-half), mean * math.exp(half), count, min(known))


def mean_table(section: Section) -> Table:
    """The geometric means."""
    return ("geometric means", "mean", "95 % interval", "lowest", "programs"), [
        (mean.name, describe_ratio(mean.mean), "-" if mean.low is None else f"{mean.low:.3g} to {mean.high:.3g}",
         describe_ratio(mean.lowest), str(mean.programs)) for mean in means(section)]


def markdown(sections: Sequence[Section]) -> str:
    """All tables, for a file."""
    return "\n".join(text for section in sections for text in _markdown(section)) + "\n"


def _markdown(section: Section) -> Iterator[str]:
    entries = section.entries
    dates = sorted({entry.measured_at[:10] for entry in entries})
    loads = [entry.load for entry in entries]
    yield f"## {section.title}\n"
    yield (f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, load average {min(loads):.1f} to {max(loads):.1f}. Times "
           f"are medians; {BRACKETS}. The best plan of each way and the {section.setting.default_words} were "
           "measured again in turns; sequential C was timed apart.\n")
    for table in tables(section):
        yield from _rows(*table)
        yield ""


def _rows(head: Cells, lines: Sequence[Cells]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *lines):
        yield f"| {' | '.join(cells)} |"


def to_data(sections: Sequence[Section]) -> dict[str, Any]:
    """The tables for a JSON file: `rows` are the entries, `means` belong to the sections."""
    return {"rows": [entry_data(entry) for section in sections for entry in section.entries],
            "means": [asdict(mean) | {"section": section.title} for section in sections for mean in means(section)]}
