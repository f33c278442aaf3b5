"""Run the programs of a suite in sequence, and write the tables after each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from experiments.ceilings.files import kept_ceilings
from experiments.ceilings.placed import unknown_ceilings
from experiments.files import make_folder, write_atomically
from experiments.run import opened
from experiments.search.parts import PARTS, Parts, ReadProblem
from experiments.search.places import find_device, limits_of, place_of
from experiments.store import read_store
from experiments.studies.side_by_side.course import COURSE_FILE, draw_course, draw_means, with_courses
from experiments.studies.side_by_side.entries import ENTRY_FILE, Entry, make_entry, read_entry, write_entry
from experiments.studies.side_by_side.halide_peer import OURS, halide_turns, read_peers, write_peers
from experiments.studies.side_by_side.lanes import Lane, advance, done_in, is_complete, lanes_of
from experiments.studies.side_by_side.measured import Measured, measure
from experiments.studies.side_by_side.peer_rounds import PeerTime, hold_rounds, turn_of
from experiments.studies.side_by_side.placing import placed
from experiments.studies.side_by_side.polybench import TILES
from experiments.studies.side_by_side.sequential import sequential_times
from experiments.studies.side_by_side.table import Section, markdown, sections_of, to_data
from experiments.studies.side_by_side.wanted import GPU_DEFAULT, SuiteOptions, guest_words
from experiments.values.options import Budget, RunOptions
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result, RunInfo
from generator.errors import AntuneError
from generator.plan import Plan
from generator.problem import Problem
from metrics.outcome import Failed
from runners.base import DeviceInfo, Job, Runner
from runners.locks import timing_lock
from runners.registry import is_deterministic

TABLE_FILES = ("table.md", "table.json")


class Show(Protocol):
    """Shows the progress of a suite."""

    def note(self, text: str) -> None:
        """Show what the user should know."""

    def progress(self, done: int, total: int) -> None:
        """Show that `done` of `total` evaluations are finished."""

    def entry(self, entry: Entry) -> None:
        """Show a finished program."""


class Interrupted(Exception):
    """The user asked to stop; results so far are stored."""


@dataclass(slots=True)
class _Reporter:
    """Observes one search; see `experiments.run.Reporter`."""

    show: Show
    name: str
    done: Callable[[], None]

    def note(self, text: str) -> None:
        """Pass on warnings only, because a suite has many searches."""
        if text.startswith(("warning", "stopping")):
            self.show.note(f"{self.name}: {text}")

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Do nothing: the suite has counted the stored results."""

    def result(self, result: Result) -> None:
        """Count an evaluation."""
        if result.evaluation.number > 0:
            self.done()


@dataclass(slots=True)
class _Suite:
    """A running suite: `planned` evaluations per program, of which `done` are finished."""

    wanted: SuiteOptions
    folder: Path
    device: DeviceInfo
    show: Show
    parts: Parts
    planned: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Run all programs; programs that cannot be tuned are skipped."""
        tasks = {program: self._task(program) for program in self.wanted.programs}
        for program, (_, _, lanes) in tasks.items():
            self.planned[program], self.done[program] = sum(lane.planned for lane in lanes), done_in(lanes)
        self._progress()
        for program, (known, wanted, lanes) in tasks.items():
            try:
                entry = known if known and all(map(is_complete, lanes)) else self._measured(program, wanted, lanes)
                self.show.entry(_beside_peers(entry, self._folder(program)))
            except AntuneError as error:
                self.show.note(f"{program}: left out: {error}")
            self.done[program] = self.planned[program]  # a search may have ended early
            self._progress()

    def _task(self, program: str) -> tuple[Entry | None, SuiteOptions, tuple[Lane, ...]]:
        """Return the work for a program: the stored entry if it suffices, the options it needs, and its searches.

        An entry never loses results: it is measured again with everything it has and everything requested.
        """
        folder = self._folder(program)
        known, wanted = read_entry(folder), self.wanted
        if known is not None:
            explorers = tuple(dict.fromkeys([*known.explorers, *wanted.explorers]))
            wanted = replace(wanted, explorers=explorers, seeds=max(known.seeds, wanted.seeds),
                             evaluations=max(known.evaluations, wanted.evaluations))
            same = (explorers, wanted.seeds, wanted.evaluations) == (known.explorers, known.seeds, known.evaluations)
            known = known if same and (not wanted.peers or read_peers(folder)) else None
        return known, wanted, lanes_of(wanted, program, folder)

    def _folder(self, program: str) -> Path:
        return self.folder / self.wanted.setting.entry_name(program)

    def _progress(self) -> None:
        self.show.progress(sum(self.done.values()), sum(self.planned.values()))

    def _measured(self, program: str, wanted: SuiteOptions, lanes: Sequence[Lane]) -> Entry:
        """Run the missing searches and measure the best plans. All searches share one problem, which is compiled and
        run once.
        """
        def count() -> None:
            self.done[program] = min(self.done[program] + 1, self.planned[program])
            self._progress()

        parts = replace(self.parts, read_problem=_once(self.parts.read_problem))
        for lane in lanes:
            if not advance(lane, _Reporter(self.show, f"{program}, {lane.way}", count), parts):
                raise Interrupted
        self.show.note(f"{program}: measuring the best of each way again, in turns")
        entry = self._measure(program, wanted, lanes)
        write_entry(entry, self._folder(program))
        draw_course(lanes, wanted.setting.rival, self._folder(program))
        return entry

    def _measure(self, program: str, wanted: SuiteOptions, lanes: Sequence[Lane]) -> Entry:
        results: list[tuple[Result, ...]] = []
        runs: list[RunInfo] = []
        for lane in lanes:
            with read_store(lane.directory) as store:
                info, found, reference = store.info(), store.results(), store.reference()
            # on CPUs, tile sizes belong to another plan than the default one, and evaluation 0 is only its start
            results.append(tuple(r for r in found if r.evaluation.number) if lane.way == TILES else found)
            runs.append(info)
        problem = Problem(info.program, reference)
        guests, teams = self._guests(info), self._teams(lanes)
        with opened(self.parts, problem, place_of(info), limits_of(info.options), self._folder(program)) as runner:
            measured = measure(runner, results, guests, teams)
            for name, failure in measured.failures.items():
                self.show.note(f"{program}: {guest_words(wanted.setting, name)}: {_words(failure)}")
            if wanted.peers:
                write_peers(self._peers(program, problem, info, runner, measured), self._folder(program))
            return make_entry(wanted, program, runner.device, lanes, sequential_times(runs), measured)

    def _peers(self, program: str, problem: Problem, info: RunInfo, runner: Runner,
               measured: Measured) -> tuple[PeerTime, ...]:
        """Return the times of the best plan and of the peers by the wall clock, measured in turns."""
        self.show.note(f"{program}: measuring the best plan and Halide's autoschedulers in turns")
        number = next((n for n in measured.teams if n is not None), None)
        ours = _no_plan if number is None else turn_of(runner, Job(number, measured.plans[number]))
        device = runner.device
        with halide_turns(self.wanted.setting.file(program), info.options.parameters, problem, device.target,
                          timing_lock(device.key, device.target)) as theirs:
            return hold_rounds({OURS: ours, **theirs})

    def _guests(self, info: RunInfo) -> Mapping[str, Plan]:
        """Return the guests by name: the rival if it is not a search, and on CPUs the default plan of GPUs."""
        setting, target = self.wanted.setting, info.device.target
        rival = None if setting.rival_is_searched else self.parts.inlined_plan(info.program, target)
        found = {setting.rival: rival, GPU_DEFAULT: self.parts.gpu_plan(info.program, target, info.options)}
        return {name: plan for name, plan in found.items() if plan is not None}

    def _teams(self, lanes: Sequence[Lane]) -> Sequence[Sequence[int]]:
        """Return, for each seed, the indices of the searches of which the best plan is chosen."""
        if self.wanted.setting.rival_is_searched:
            return ()
        seeds = dict.fromkeys(lane.seed for lane in lanes)
        return [[number for number, lane in enumerate(lanes) if lane.seed == seed] for seed in seeds]


def _no_plan(number: int) -> str:
    """Return why there is no time."""
    del number
    return "nothing valid"


def _words(failure: Failed) -> str:
    """Return a failure in one line."""
    return f"{kind_of(failure).replace('_', ' ')}: {next(iter(failure.message.splitlines()), '')}"


def _once(read: ReadProblem) -> ReadProblem:
    """Return `read` with its first result cached for all later calls."""
    answers: list[Problem] = []

    def answer(options: RunOptions, tell: Callable[[str], None]) -> Problem:
        if not answers:
            answers.append(read(options, tell))
        return answers[0]

    return answer


def run_suite(wanted: SuiteOptions, directory: Path, show: Show, parts: Parts = PARTS,
              find: Callable[[str | None], DeviceInfo] = find_device) -> tuple[Section, ...]:
    """Run what is missing of a suite; write and return the tables of everything stored for the device.

    Its searches have no pictures of their own: the suite draws all searches of a program in one picture.

    Raises:
        InputError: there is no such device or explorer, or the directory cannot be written.
        Interrupted: the user asked to stop; the same call continues.
    """
    for way in wanted.explorers:
        parts.check_explorer(wanted.setting.explorer_of(way))
    device = find(wanted.device)
    folder = directory / re.sub(r"[^\w.-]+", "-", device.key)
    make_folder(folder)
    if kept_ceilings(device) is None and not is_deterministic(device.key):
        show.note(f"{unknown_ceilings(device)}, and the same command then says how near the best plans are to them")
    try:
        _Suite(wanted, folder, device, show, replace(parts, picture=False)).run()
    finally:
        sections = write_tables(directory)
    return sections


def write_tables(directory: Path) -> tuple[Section, ...]:
    """Write the tables and the picture of everything stored in a suite's directory, if there is anything."""
    entries = [
        with_courses(_beside_peers(entry, path.parent), path.parent)
        for path in sorted(directory.glob(f"*/*/{ENTRY_FILE}"))
        if (entry := read_entry(path.parent))
    ]
    sections = sections_of(entries)
    if sections:
        write_atomically(directory / TABLE_FILES[0], markdown(sections))
        write_atomically(directory / TABLE_FILES[1], json.dumps(to_data(sections), indent=2) + "\n")
        draw_means(sections, directory / COURSE_FILE)
    return sections


def _beside_peers(entry: Entry, folder: Path) -> Entry:
    """Return `entry`, stored in `folder`, with its roof and the peers' times, as far as they are known."""
    return replace(placed(entry, folder), peers=read_peers(folder))
