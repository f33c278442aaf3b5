"""The runs of an entry, one per way to search and seed: started, resumed, or already complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.run import Reporter, resume, tune
from experiments.search.changes import source_hash
from experiments.search.parts import Parts
from experiments.store import Store, is_run, read_store
from experiments.studies.side_by_side.wanted import SuiteOptions
from experiments.values.options import RunOptions
from experiments.values.records import RunInfo
from generator.errors import InputError
from graph.tiles import TILE_SIZES


@dataclass(frozen=True, slots=True)
class Lane:
    """One search of an entry: `way` is an explorer or the rival, `planned` the most evaluations that it will make."""

    way: str
    seed: int
    directory: Path
    options: RunOptions
    planned: int


def lanes_of(wanted: SuiteOptions, program: str, entry: Path) -> tuple[Lane, ...]:
    """Return the lanes of a program: the rival if it is searched, then each explorer with each seed."""
    rival = wanted.setting.rival
    ways = [*([(rival, 0)] if wanted.setting.rival_is_searched else []),
            *((name, seed) for seed in range(wanted.seeds) for name in wanted.explorers)]
    return tuple(
        Lane(
            way,
            seed,
            entry / way if way == rival else run_directory(entry, way, seed),
            wanted.run_options(program, way, seed),
            len(TILE_SIZES) if way == rival else wanted.evaluations,
        )
        for way, seed in ways
    )


def run_directory(entry: Path, way: str, seed: int) -> Path:
    """Return the directory of an explorer's search in the folder of its entry."""
    return entry / f"{way}-{seed}"


def is_complete(lane: Lane) -> bool:
    """Return True if the lane has ended with a budget at least as large as the requested one.

    Raises:
        InputError: the directory contains another run than the requested one.
    """
    if not is_run(lane.directory):
        return False
    with read_store(lane.directory) as store:
        info, ending, budget, done = store.info(), store.ending(), store.budget(), _made(store)
    _compare(lane, info)
    if ending == "exhausted":
        return True
    return ending == "finished" and (done >= lane.planned or budget == lane.options.budget)


def advance(lane: Lane, reporter: Reporter, parts: Parts) -> bool:
    """Search until the lane is complete; return False if interrupted. Raises InputError as `tune` and `resume`."""
    if is_complete(lane):
        return True
    if not is_run(lane.directory):
        return tune(lane.options, lane.directory, reporter, parts).ending != "interrupted"
    return resume(lane.directory, lane.options.budget, reporter, parts).ending != "interrupted"


def done_in(lanes: Sequence[Lane]) -> int:
    """Return the number of evaluations that the lanes have made."""
    done = 0
    for lane in lanes:
        if is_run(lane.directory):
            with read_store(lane.directory) as store:
                done += min(_made(store), lane.planned)
    return done


def _made(store: Store) -> int:
    return sum(result.evaluation.number > 0 for result in store.results())


def _compare(lane: Lane, info: RunInfo) -> None:
    """Raise InputError if the stored run differs from the requested one in more than its budget. Which models it begins
    with was decided when it began.
    """
    stored, file = info.options, Path(lane.options.file)
    same = replace(lane.options, budget=stored.budget, device=stored.device, file=stored.file,
                   models=stored.models) == stored  # fmt: skip
    if not same or source_hash(file.read_bytes()) != info.source_hash:
        what = "with other options" if not same else f"of another {file.name}"
        raise InputError(f"{lane.directory} holds a run {what}; choose another directory with --out, or remove it")
