"""The tables of a suite: a section per device, size, type and budget, a line per program, geometric means at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, TypeAlias

from experiments.side_by_side.entries import Entry
from experiments.side_by_side.wanted import TILES
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
_WORDS = {TILES: "best tile size"}


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
        sizes = " ".join([f"{one.size}_DATASET", *(f"-D {define}" for define in one.defines)])
        return (f"{one.device} ({one.platform}), driver {one.driver}: {sizes}, {one.type}, level {one.level}, "
                f"{one.evaluations} evaluations per search{minutes}{seeds}")

    @property
    def explorers(self) -> tuple[str, ...]:
        """The ways that any entry has, beside the tile sizes."""
        return tuple(dict.fromkeys(way.name for entry in self.entries for way in entry.ways if way.name != TILES))

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
    return (entry.device, entry.platform, entry.driver, entry.size, *entry.defines, entry.type, entry.level,
            f"{entry.evaluations:9d} {entry.minutes or 0:9.3f} {entry.seeds:4d}")


def times(section: Section) -> Table:
    """What everything takes, a line per program."""
    ways = (TILES, *section.explorers)
    lines = [(entry.program, describe_ms(entry.sequential_ms), describe_ms(entry.default_ms),
              *(_time(entry, name) for name in ways)) for entry in section.entries]
    return ("time", "sequential C", "default plan", *map(_words, ways)), lines


def speedups(section: Section) -> Table:
    """Over the default plan, over each other, over sequential C, a line per program."""
    ways, pairs = (TILES, *section.explorers), [pair for pair in section.duels if pair[1] != TILES]
    lines = [(entry.program, *(describe_interval(_over_default(entry, name)) for name in ways),
              *(describe_interval(_duel(entry, *pair)) for pair in pairs),
              *(describe_ratio(entry.over_sequential(name)) for name in section.explorers)) for entry in section.entries]
    return ("over the default plan", *map(_words, ways), *(f"{one} : {two}" for one, two in pairs),
            *(f"{name} : C" for name in section.explorers)), lines


def _time(entry: Entry, name: str) -> str:
    way = entry.way(name)
    if way is None or way.ms is None:
        return "-" if way is None else "nothing valid"
    return describe_ms(way.ms) + (f" ({way.detail})" if way.detail else "")


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
    ways = (*([TILES] if any(entry.way(TILES) for entry in section.entries) else []), *section.explorers)

    wanted = [*((f"{_words(name)} : default plan", [_middle(_over_default(entry, name)) for entry in section.entries])
                for name in ways),
              *((f"{one} : {_words(two)}", [_middle(_duel(entry, one, two)) for entry in section.entries])
                for one, two in section.duels),
              *((f"{_words(name)} : sequential C", [entry.over_sequential(name) for entry in section.entries])
                for name in ways)]
    return tuple(mean for name, ratios in wanted if (mean := _mean(name, ratios)))


def _middle(ratio: Ratio | None) -> float | None:
    return ratio.middle if ratio else None


def _words(name: str) -> str:
    return _WORDS.get(name, name)


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
           f"are medians; {BRACKETS}. The best plan of each way and the default plan were "
           "measured again in turns; sequential C was timed apart.\n")
    for table in (times(section), speedups(section), mean_table(section)):
        yield from _rows(*table)
        yield ""


def _rows(head: Cells, lines: Sequence[Cells]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *lines):
        yield f"| {' | '.join(cells)} |"


def to_data(sections: Sequence[Section]) -> dict[str, Any]:
    """The tables for a JSON file: `rows` are the entries, `means` belong to the sections."""
    return {"rows": [asdict(entry) for section in sections for entry in section.entries],
            "means": [asdict(mean) | {"section": section.title} for section in sections for mean in means(section)]}
