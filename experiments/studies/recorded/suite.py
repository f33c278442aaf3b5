"""Run all explorers on all spaces with all seeds, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from experiments.studies.recorded.arena import Source, find_sources, open_arena
from experiments.studies.recorded.peers import PEER, PeerFailed, check_peers, peer_best_ms
from experiments.studies.recorded.race import Trace, race
from experiments.studies.recorded.results import Results, Row, SpaceFacts, Standing, budget_rows, describe_space, judge
from experiments.studies.recorded.workers import WorkerKilled, spread
from explorer.checked import repeats_note
from explorer.registry import SEARCHES, check_search, make_explorer, overshadowed
from generator.errors import InputError

DEFAULT_BUDGETS = (50, 100, 200, 400)
MOST_SEEDS_PER_JOB = 5
Progress: TypeAlias = Callable[[int, int], None]
"""A callback with the number of finished searches and the total."""


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """A comparison: `explorers` and Kernel Tuner's strategies `peers`, on `files`.

    A search has `ants` evaluations per iteration and is read at each of `budgets` (sorted). Seeds are 0..seeds-1. `t1s`
    are files with the restrictions of recordings with the same parameters. `workers`: processes (1: only this one).
    """

    files: tuple[Path, ...]
    explorers: tuple[str, ...] = SEARCHES
    budgets: tuple[int, ...] = DEFAULT_BUDGETS
    seeds: int = 30
    ants: int = 10
    t1s: tuple[Path, ...] = ()
    peers: tuple[str, ...] = ()
    workers: int = 1

    def __post_init__(self) -> None:
        """Raise InputError for invalid options."""
        for name in self.explorers:
            check_search(name)
        for what, numbers in (("--budgets", self.budgets), ("--seeds", (self.seeds,)), ("--ants", (self.ants,)),
                              ("--workers", (self.workers,))):
            if not numbers or min(numbers) < 1:
                raise InputError(f"{what} is {', '.join(map(str, numbers)) or 'empty'}; use numbers from 1")
        if not self.files:
            raise InputError("there is no recorded file; name some Kernel Tuner caches, T4 files or recordings")


@dataclass(frozen=True, slots=True)
class _Job:
    """Searches of one explorer on one space. A job of a peer (whose name begins with PEER) has one budget."""

    source: Source
    explorer: str
    seeds: tuple[int, ...]
    budget: int
    ants: int
    scratch: Path


_Searches: TypeAlias = "list[Trace] | list[float | None]"
_Found: TypeAlias = "_Searches | PeerFailed"


def run_suite(options: SuiteOptions, progress: Progress) -> tuple[Results, Sequence[str]]:
    """Run everything; return the results, and notes on the files.

    Raises:
        InputError: a file is invalid, or peers are requested and not installed.
        KeyboardInterrupt: the user asked to stop; no process is left.
    """
    check_peers(options.peers)
    sources, notes = find_sources(options.files, options.t1s)
    with TemporaryDirectory(prefix="antune-suite-") as scratch:
        jobs = list(_jobs(options, sources, notes, Path(scratch)))
        found = _all_found(jobs, min(options.workers, len(jobs)), progress)
    notes += dict.fromkeys(str(one) for one in found.values() if isinstance(one, PeerFailed))
    notes += [note for name in options.explorers for note in (overshadowed(name), _repeats(name, found)) if note]
    return _results(options, sources, _without_failed(jobs, found)), notes


def _repeats(name: str, found: Mapping[_Job, _Found]) -> str | None:
    """Return a note if the explorer `name` asked for walks again."""
    traces = [one for job, result in found.items() if job.explorer == name and not isinstance(result, PeerFailed)
              for one in result if isinstance(one, Trace)]
    return repeats_note(name, sum(one.repeats for one in traces), sum(len(one.ms) for one in traces))


def _without_failed(jobs: Sequence[_Job], found: Mapping[_Job, _Found]) -> list[tuple[_Job, _Searches]]:
    """Return the results in order, without peers on spaces where one of their searches failed."""
    failed = {(job.source, job.explorer) for job, result in found.items() if isinstance(result, PeerFailed)}
    return [(job, result) for job in jobs
            if not isinstance(result := found[job], PeerFailed) and (job.source, job.explorer) not in failed]


def _all_found(jobs: Sequence[_Job], workers: int, progress: Progress) -> dict[_Job, _Found]:
    total, done = sum(len(job.seeds) for job in jobs), 0
    found: dict[_Job, _Found] = {}
    progress(0, total)
    with _evaluated(jobs, workers) as results:
        for job, result in results:
            found[job] = result
            done += len(job.seeds)
            progress(done, total)
    return found


def _jobs(options: SuiteOptions, sources: Sequence[Source], notes: list[str], scratch: Path) -> Iterator[_Job]:
    size = max(1, min(MOST_SEEDS_PER_JOB, -(-options.seeds // options.workers)))
    chunks = [tuple(range(first, min(first + size, options.seeds))) for first in range(0, options.seeds, size)]
    for source in sources:
        for name in options.explorers:
            yield from (_Job(source, name, chunk, max(options.budgets), options.ants, scratch) for chunk in chunks)
        if options.peers and not open_arena(source).recording.fixed:
            notes.append(f"{source.file}: Kernel Tuner cannot search walks whose decisions depend on each other; it is "
                         "left out there")
            continue
        for name in options.peers:
            for budget in options.budgets:
                yield from (_Job(source, PEER + name, chunk, budget, options.ants, scratch) for chunk in chunks)


def _search(job: _Job) -> _Found:
    """Run a job, in any process."""
    from threadpoolctl import threadpool_limits

    arena = open_arena(job.source)
    with threadpool_limits(1):  # there is a process per core already
        if job.explorer.startswith(PEER):
            try:
                return peer_best_ms(arena, job.explorer.removeprefix(PEER), job.seeds, job.budget, job.scratch)
            except PeerFailed as failed:
                return failed
        return [race(arena, make_explorer(job.explorer, arena.space, seed), job.budget, job.ants) for seed in job.seeds]


@contextmanager
def _evaluated(jobs: Sequence[_Job], workers: int) -> Iterator[Iterator[tuple[_Job, _Found]]]:
    """Yield the results of `jobs` as they arrive; no process is left at the end, even after an error or Ctrl-C."""
    with closing(spread(_search, jobs, workers)) as results:
        try:
            yield results
        except WorkerKilled:
            raise InputError(
                "a process that searched was killed, perhaps for want of memory; use fewer --workers"
            ) from None


def _results(options: SuiteOptions, sources: Sequence[Source], found: Sequence[tuple[_Job, _Searches]]) -> Results:
    spaces: list[SpaceFacts] = []
    rows: list[Row] = []
    standings: list[Standing] = []
    for source in sources:
        facts, yardstick = describe_space(open_arena(source), max(options.budgets))
        spaces.append(facts)
        here = [(job, result) for job, result in found if job.source == source]
        for name in options.explorers:
            traces = [one for job, result in here if job.explorer == name for one in result if isinstance(one, Trace)]
            more, standing = judge(facts, yardstick, name, traces, options.budgets)
            rows += more
            standings.append(standing)
        for name in [PEER + peer for peer in options.peers if any(job.explorer == PEER + peer for job, _ in here)]:
            best = {budget: [one for job, result in here if (job.explorer, job.budget) == (name, budget)
                             for one in result if not isinstance(one, Trace)] for budget in options.budgets}
            rows += budget_rows(facts, name, best)
            standings.append(Standing(facts.name, name, None, None, None))
    return Results(tuple(spaces), tuple(rows), tuple(standings))
