"""The tables of a suite: a section per device, size, type and budget, a row per program, geometric means below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from typing import Any, TypeAlias

from experiments.search.result_table import C_TIME, PLAN_TIME
from experiments.studies.side_by_side.entries import Entry, entry_data
from experiments.studies.side_by_side.paper import PAPER, PAPER_LEVELS, PAPER_WORDS, RANDOM, RANDOM_LEVEL
from experiments.studies.side_by_side.peer_rounds import SECONDS, over_peers
from experiments.studies.side_by_side.wanted import BEST, GPU_DEFAULT, Setting
from experiments.words import describe_ms, describe_percent, describe_ratio
from metrics.finals import Ratio
from metrics.statistics import geometric_mean

Cells: TypeAlias = tuple[str, ...]
Table: TypeAlias = tuple[Cells, Sequence[Cells]]
"""The names of the columns, and the rows."""
Column: TypeAlias = tuple[str, Sequence[str]]
"""The name of a column, and its cells from top to bottom."""
FEWEST = 3
"""The fewest programs for an interval."""
BRACKETS = ("ratios have their 95 % interval in [brackets], or all that was seen where there are fewer than six "
            "sittings or seeds")
"""With one seed, the interval is over the sittings."""
WIDEST = 120
"""The most characters of a row; further columns go into another table."""
GPU_WORDS = (f"{GPU_DEFAULT} is what the default plan is on GPUs (PPCG's choice: tiles of 32, blocks of hundreds of "
             "threads, shared memory), generated for this CPU")
TILE_WORDS = f"the best tile size is that of all loops of {GPU_DEFAULT}"
PEER_WORDS = (f"wall-clock times are medians of rounds that run our plan and Halide's code for {SECONDS:g} s each, "
              "in turns, in new processes (Halide's is kept if it compiles for long); ratios are those of a round")
PARTS = 5
"""The number of points at which the progress of searches is reported."""
ROOFLINE = "of the roofline"
ROOFLINE_WORDS = (f"percent {ROOFLINE}: the least time over the time; the least time is that of the program's "
                  "operations or of moving its data once, whichever is longer, at the rates that `antune suite "
                  "roofline` measured on the device")


@dataclass(frozen=True, slots=True)
class Section:
    """Programs that were measured in the same way, so that their geometric means are meaningful."""

    entries: tuple[Entry, ...]

    @property
    def title(self) -> str:
        """The section in words, such as `Device (Platform), driver 1.2: SMALL_DATASET, float, level o2, 20 evaluations
        per search`.
        """
        one = self.entries[0]
        minutes = "" if one.minutes is None else f", at most {one.minutes:g} minutes"
        seeds = f", {one.seeds} seeds" if one.seeds > 1 else ""
        others = [level for level in self.levels if level != one.setting.level_of("")]
        beside = f" (and ways at {', '.join(others)})" if others else ""
        return (f"{one.device} ({one.platform}), driver {one.driver}: {one.setting.title}{beside}, "
                f"{one.evaluations} evaluations per search{minutes}{seeds}")

    @property
    def setting(self) -> Setting:
        """The setting of all entries."""
        return self.entries[0].setting

    @property
    def explorers(self) -> tuple[str, ...]:
        """The explorers of all entries."""
        return tuple(dict.fromkeys(name for entry in self.entries for name in entry.explorers))

    @property
    def ways(self) -> tuple[str, ...]:
        """All ways in the order of the tables: the rival, further plans of any entry, the explorers."""
        others = [name for name in (GPU_DEFAULT, BEST) if any(entry.way(name) for entry in self.entries)]
        return (self.setting.rival, *others, *self.explorers)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The ways compared with the rival and with sequential C, row by row: the best of all, else every explorer."""
        return (BEST,) if BEST in self.ways else self.explorers

    def words(self, way: str) -> str:
        """Return the label of a way."""
        known = {self.setting.rival: self.setting.rival_words, BEST: "best of all"}.get(way)
        if known or not self.levels:
            return known or way
        return f"{self.setting.explorer_of(way)} {self.setting.level_of(way)}"

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of the explorers, in order; empty if all search at the setting's level."""
        found = sorted({self.setting.level_of(way) for way in self.explorers})
        return () if found == [self.setting.level_of("")] else tuple(found)

    @property
    def duels(self) -> tuple[tuple[str, str], ...]:
        """The pairs of ways that any entry compares."""
        return tuple(dict.fromkeys((duel.one, duel.two) for entry in self.entries for duel in entry.duels))


@dataclass(frozen=True, slots=True)
class Mean:
    """A geometric mean over `programs`, with its 95 % interval from `FEWEST` on; `lowest` is the least ratio."""

    name: str
    mean: float
    low: float | None
    high: float | None
    programs: int
    lowest: float


def sections_of(entries: Sequence[Entry]) -> tuple[Section, ...]:
    """Return the entries grouped into sections."""
    ordered = sorted(entries, key=lambda entry: (_key(entry), entry.program))
    return tuple(Section(tuple(members)) for _, members in groupby(ordered, key=_key))


def _key(entry: Entry) -> tuple[str, ...]:
    return (entry.device, entry.platform, entry.driver, entry.setting.suite, entry.setting.title,
            f"{entry.evaluations:9d} {entry.minutes or 0:9.3f} {entry.seeds:4d}")


def times(section: Section) -> tuple[Table, ...]:
    """Return the times of all ways, a row per program."""
    entries = section.entries
    return _fitting("time", entries, [
        ("sequential C", [describe_ms(entry.sequential_ms) for entry in entries]),
        *((name, [describe_ms(ms) for ms in column]) for name, column in _other_builds(entries) if any(column)),
        (section.setting.default_words, [describe_ms(entry.default_ms) for entry in entries]),
        *((section.words(name), [_time(entry, name) for entry in entries]) for name in section.ways)])


def _other_builds(entries: Sequence[Entry]) -> Iterator[tuple[str, Sequence[float | None]]]:
    """Yield the times of the C programs in their other builds."""
    yield "C, plain -O3", [entry.sequential_o3_ms for entry in entries]
    threads = sorted({entry.openmp_threads for entry in entries if entry.openmp_threads})
    yield f"C, its OpenMP ({' or '.join(map(str, threads))} threads)", [entry.openmp_ms for entry in entries]


def shares(section: Section) -> tuple[Table, ...]:
    """Return, for all ways, the fraction of the speed allowed by the device's ceilings, if ceilings are known."""
    entries = section.entries
    if not any(entry.roof for entry in entries):
        return ()
    return _fitting(ROOFLINE, entries, [
        ("least time", [describe_ms(entry.roof.ms if entry.roof else None) for entry in entries]),
        ("limited by", [entry.roof.limit if entry.roof else "-" for entry in entries]),
        (section.setting.default_words, [describe_percent(entry.default_share) for entry in entries]),
        *((section.words(name), [describe_percent(entry.share_of_roof(name)) for entry in entries])
          for name in section.ways)])


def speedups(section: Section) -> tuple[Table, ...]:
    """Return the speedups over the default plan, each other and sequential C; several tables if one is too wide."""
    words, entries = section.words, section.entries
    over = [(words(name), [describe_interval(_over_default(entry, name)) for entry in entries])
            for name in section.ways]
    pairs = [(f"{words(one)} : {words(two)}", [describe_interval(_duel(entry, one, two)) for entry in entries])
             for one, two in section.duels if two not in (section.setting.rival, GPU_DEFAULT) or one == BEST
             or (two == GPU_DEFAULT and one in section.leaders)]
    serial = [(f"{words(name)} : C", [describe_ratio(entry.over_sequential(name)) for entry in entries])
              for name in section.leaders]
    title = f"over the {section.setting.default_words}"
    whole = _fitting(title, entries, over + pairs + serial)
    if not pairs or len(whole) == 1:
        return whole
    return *_fitting(title, entries, over), *_fitting("over each other", entries, pairs + serial)


def _fitting(title: str, entries: Sequence[Entry], columns: Sequence[Column]) -> tuple[Table, ...]:
    """Return the columns in as few tables of similar width as possible without rows longer than WIDEST."""
    for count in range(1, len(columns) + 1):
        cuts = [place * len(columns) // count for place in range(count + 1)]
        found = tuple(_table(title, entries, columns[low:high]) for low, high in pairwise(cuts))
        if count == len(columns) or max(map(_width, found)) <= WIDEST:
            return found
    return ()


def _width(table: Table) -> int:
    """Return the characters of a row, both in Markdown and on a terminal."""
    head, lines = table
    return 1 + sum(3 + max(map(len, column)) for column in zip(head, *lines, strict=True))


def _table(title: str, entries: Sequence[Entry], columns: Sequence[Column]) -> Table:
    """Return the table with these columns and a row per entry."""
    cells = zip(*(cells for _, cells in columns), strict=True)
    return (title, *(name for name, _ in columns)), [
        (entry.program, *line) for entry, line in zip(entries, cells, strict=True)]


def line_tables(section: Section) -> tuple[Table, ...]:
    """Return the tables with a row per program."""
    return *times(section), *speedups(section), *shares(section)


def tables(section: Section) -> tuple[Table, ...]:
    """Return all tables of a section."""
    return *line_tables(section), *peers(section), mean_table(section), *courses(section), *published(section)


def peers(section: Section) -> tuple[Table, ...]:
    """Return the best plan compared with other systems by the wall clock; no table if none was measured."""
    entries = [entry for entry in section.entries if entry.peers]
    names = tuple(dict.fromkeys(peer.name for entry in entries for peer in entry.peers))
    ratios = [over_peers(entry.peers) for entry in entries]
    mean = _mean("", [_middle(ratio) for ratio in ratios])
    if mean is None:
        return ()
    rows = [(entry.program, *(_peer(entry, name) for name in names), _in_rounds(entry, ratio))
            for entry, ratio in zip(entries, ratios, strict=True)]
    last = ("geometric mean", *("" for _ in names), describe_ratio(mean.mean))
    return ((("wall-clock time", *names, "ours : better of them"), [*rows, last]),)


def _peer(entry: Entry, name: str) -> str:
    found = next((peer for peer in entry.peers if peer.name == name), None)
    return "-" if found is None else describe_ms(found.ms) if found.ms else f"- ({found.detail[:40]})"


def _in_rounds(entry: Entry, ratio: Ratio | None) -> str:
    """Return the ratio to the peers; older versions measured only once, without an interval."""
    return describe_interval(ratio) if ratio and entry.peers[0].rounds else describe_ratio(_middle(ratio))


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
    """Return a ratio with its interval: `8.37x [8.1, 8.6]`; `-` if unknown."""
    return "-" if ratio is None else f"{describe_ratio(ratio.middle)} [{ratio.low:.3g}, {ratio.high:.3g}]"


def means(section: Section) -> tuple[Mean, ...]:
    """Return the geometric means of all ratios: over the default plan, each other, sequential C and the roofline."""
    entries, words = section.entries, section.words
    wanted = [*((f"{words(name)} : {section.setting.default_words}",
                 [_middle(_over_default(entry, name)) for entry in entries])
                for name in section.ways),
              *((f"{words(one)} : {words(two)}", [_middle(_duel(entry, one, two)) for entry in entries])
                for one, two in section.duels),
              *((f"{words(name)} : sequential C", [entry.over_sequential(name) for entry in entries])
                for name in section.ways),
              *((f"{words(name)} : C, plain -O3", [entry.over_o3(name) for entry in entries]) for name in section.ways),
              *((f"{words(name)} : roofline", [entry.share_of_roof(name) for entry in entries])
                for name in section.ways)]
    return tuple(mean for name, ratios in wanted if (mean := _mean(name, ratios)))


def _middle(ratio: Ratio | None) -> float | None:
    return ratio.middle if ratio else None


def _mean(name: str, ratios: Sequence[float | None]) -> Mean | None:
    """Return the mean of the known ratios; Student's interval of the logarithms treats the programs as a sample."""
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
    """Return the table of geometric means."""
    return ("geometric means", "mean", "95 % interval", "lowest", "programs"), [
        (mean.name, describe_ratio(mean.mean), "-" if mean.low is None else f"{mean.low:.3g} to {mean.high:.3g}",
         describe_ratio(mean.lowest), str(mean.programs)) for mean in means(section)]


def mean_after(section: Section, way: str, evaluations: int) -> Mean | None:
    """Return the mean speedup of a way's best plan over the default plan after `evaluations` evaluations."""
    return _mean(section.words(way), [entry.after(way, evaluations) for entry in section.entries])


def courses(section: Section) -> tuple[Table, ...]:
    """Return the progress of the searches after each fifth of their evaluations; no table if it is unknown."""
    budget = section.entries[0].evaluations
    marks = sorted({round(budget * part / PARTS) for part in range(1, PARTS + 1)} - {0})
    lines = [(section.words(way), *(describe_ratio(mean.mean) for mean in found if mean), str(found[-1].programs))
             for way in section.explorers if (found := [mean_after(section, way, mark) for mark in marks])
             and found[-1]]
    head = (f"means over the {section.setting.default_words} after so many evaluations", *map(str, marks), "programs")
    return ((head, lines),) if lines else ()


def published(section: Section) -> tuple[Table, ...]:
    """Return the means reported in the paper next to those of a suite at several levels; no table for other suites."""
    if not section.levels:
        return ()
    found = {mean.name.partition(" : ")[0]: mean.mean for mean in means(section)
             if mean.name.endswith(f" : {section.setting.default_words}")}
    random = describe_ratio(found.get(f"{RANDOM} {RANDOM_LEVEL}"))
    explorers = dict.fromkeys(section.setting.explorer_of(way) for way in section.explorers)
    ours = [(f"{explorer}, here", *(describe_ratio(found.get(f"{explorer} {level}")) for level in PAPER_LEVELS), random)
            for explorer in explorers if explorer != RANDOM]
    theirs = [(f"Coding Ants, {device}", *map(describe_ratio, ratios)) for device, ratios in PAPER.items()]
    return ((f"means over the {section.setting.default_words}", *PAPER_LEVELS, f"{RANDOM} {RANDOM_LEVEL}"),
            [*ours, *theirs]),


def markdown(sections: Sequence[Section]) -> str:
    """Return all tables as Markdown text."""
    return "\n".join(text for section in sections for text in _markdown(section)) + "\n"


def _markdown(section: Section) -> Iterator[str]:
    entries = section.entries
    dates = sorted({entry.measured_at[:10] for entry in entries})
    loads = [entry.load for entry in entries]
    yield f"## {section.title}\n"
    yield (f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, load average {min(loads):.1f} to "
           f"{max(loads):.1f}. Times "
           f"are medians; {BRACKETS}. The best plan of each way and the {section.setting.default_words} were "
           f"measured again in turns; sequential C was timed apart.{_notes(section)}\n")
    for table in tables(section):
        yield from _rows(*table)
        yield ""


def _notes(section: Section) -> str:
    return "".join(f" {note[0].upper()}{note[1:]}." for note in notes(section))


def notes(section: Section) -> tuple[str, ...]:
    """Return what the times are, and what the words in some tables mean."""
    compilers = ", ".join(dict.fromkeys(entry.compiler for entry in section.entries if entry.compiler))
    clock = f"plans: {PLAN_TIME}; C: {C_TIME}, 1 thread" + (f", {compilers}" if compilers else "")
    gpu = any(entry.way(GPU_DEFAULT) for entry in section.entries)
    defaults = f"on this CPU, {GPU_WORDS}" + (f"; {TILE_WORDS}" if section.setting.rival_is_searched else "")
    rounds = any(peer.rounds for entry in section.entries for peer in entry.peers)
    mentioned = ((defaults, gpu), (PEER_WORDS, rounds), (ROOFLINE_WORDS, shares(section)),
                 (PAPER_WORDS, section.levels))
    return (clock, *(words for words, wanted in mentioned if wanted))


def _rows(head: Cells, lines: Sequence[Cells]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *lines):
        yield f"| {' | '.join(cells)} |"


def to_data(sections: Sequence[Section]) -> dict[str, Any]:
    """Return data for a JSON file: `rows` are the entries with roofs and courses, `means` belong to the sections."""
    return {"rows": [entry_data(entry) | {"roof": _roof_data(entry),
                                          "courses": {course.way: course.shares for course in entry.courses},
                                          "peers": [asdict(peer) for peer in entry.peers]}
                     for section in sections for entry in section.entries],
            "means": [asdict(mean) | {"section": section.title} for section in sections for mean in means(section)]}


def _roof_data(entry: Entry) -> dict[str, Any] | None:
    """Return the least time of a program and the fractions of the possible speed; None if unknown."""
    if entry.roof is None:
        return None
    return asdict(entry.roof) | {"default_share": entry.default_share,
                                 "shares": {way.name: entry.share_of_roof(way.name) for way in entry.ways}}
