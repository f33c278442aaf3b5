"""A run from end to end: read the program, open the device, search, write the files; and the same again on resume."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from experiments.code import write_best_code
from experiments.finals import FinalLimits, finalists, hold_final
from experiments.interrupt import Interrupt
from experiments.loop import Search
from experiments.options import Budget, RunOptions
from experiments.parts import PARTS, Parts, limits_of, place_of
from experiments.plots import write_convergence
from experiments.profiles import profile, profiling, worth_profiling
from experiments.profiles_table import Counted
from experiments.records import Ending, Result, RunInfo
from experiments.store import Store, abandon, create_store, open_store, reserve, utc_now
from experiments.summary import Summary, best_result, reproduce_command, write_summary
from experiments.words import command
from generator.errors import InputError
from generator.problem import Problem
from runners.base import DeviceInfo, Limits, Runner
from runners.many import HERE, Place, model_key

WORK_DIRECTORY = "work"
FINAL_SHARE, FINAL_S = 0.25, (8.0, 30.0)
"""A final may take this share of the time of the search, but at least and at most so many seconds."""


class Reporter(Protocol):
    """Shows a run while it goes on."""

    def note(self, text: str) -> None:
        """Something the user should know: a step that takes a while, or a warning."""

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """The search starts; `stored` holds what an earlier session measured, in `elapsed_s` seconds."""

    def result(self, result: Result) -> None:
        """An evaluation was finished and stored."""


@dataclass(frozen=True, slots=True)
class Finish:
    """How a session ended, and what the run came to; `best` is None when nothing valid was found."""

    directory: Path
    ending: Ending
    summary: Summary
    best: Result | None


def tune(options: RunOptions, directory: Path, reporter: Reporter, parts: Parts = PARTS) -> Finish:
    """Start a run in `directory` and search until its budget is used up or Ctrl-C.

    Raises:
        InputError: bad options, a program that cannot be tuned, an unknown device, a taken directory.
    """
    source = _read_source(Path(options.file))
    parts.check_explorer(options.explorer)
    if options.place != HERE:
        parts.check_place(options.place)
    reserved = reserve(directory, _hash(source))
    try:
        reporter.note(f"reading {options.file}: compiling and running it once for real inputs and the reference")
        problem = parts.read_problem(options)
        for warning in problem.reference.warnings:
            reporter.note(f"warning: {warning}")
        with opened(parts, problem, options.place, limits_of(options), directory) as runner:
            if options.profile:
                profiling(runner)
            info = _new_info(options, source, problem, runner.device)
            with create_store(reserved, info, problem.reference, runner.device.driver) as store:
                return _session(store, info, options.budget, runner, reporter, parts)
    finally:
        abandon(reserved)


def resume(directory: Path, extension: Budget | None, reporter: Reporter, parts: Parts = PARTS,
           elsewhere: Place = HERE) -> Finish:
    """Go on with the run in `directory`, as if it had never stopped; `extension` replaces its budget.

    `elsewhere` names other devices of the same model, another cluster, or "none" for this machine.

    Needs nothing but the directory: the tuned file may have changed or be gone. A run that is finished is left as
    it is, its files are written again.

    Raises:
        InputError: no run there, it is in use, its device is not the one of this machine, or the stored history
            does not fit this version.
    """
    with open_store(directory) as store:
        info, ending = store.info(), store.ending()
        if extension is None and ending in ("finished", "exhausted"):
            reporter.note(f"{directory} is complete; to search on: "
                          f"`{command('resume', directory)} --evaluations N`")
            return _finish(store, ending)
        _compare_source(info, directory, reporter)
        problem = Problem(info.program, store.reference())
        with opened(parts, problem, place_of(info, elsewhere), limits_of(info.options), directory) as runner:
            _compare_device(info.device, runner.device, reporter)
            budget = extension or store.budget()
            store.begin_session(budget, runner.device.driver)
            return _session(store, info, budget, runner, reporter, parts)


def _new_info(options: RunOptions, source: bytes, problem: Problem, device: DeviceInfo) -> RunInfo:
    reference = problem.reference
    return RunInfo(utc_now(), options, _hash(source), source.decode("utf-8", errors="replace"), problem.program,
                   device, reference.compiler, reference.sequential_ms)


def _hash(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()


def _session(store: Store, info: RunInfo, budget: Budget, runner: Runner, reporter: Reporter,
             parts: Parts) -> Finish:
    options = info.options
    space = parts.make_space(info.program, info.device.target, options)
    starts = parts.starts(info.program, info.device.target, options)
    explorer = parts.make_explorer(options.explorer, space, options.seed, starts)
    default = parts.default_plan(info.program, info.device.target)
    reporter.begin(info, budget, store.results(), store.elapsed_s())
    notice = "stopping after what runs now; Ctrl-C again stops at once"
    with Interrupt(lambda: reporter.note(notice)) as interrupt:
        search = Search(store, explorer, runner, options.ants, budget, reporter, interrupt, profiled=options.profile)
        try:
            ending = search.run(default)
            _hold_final(store, runner, options, reporter, interrupt)
        except KeyboardInterrupt:
            ending = "interrupted"
        store.end_session(ending)
    return _finish(store, ending)


def _hold_final(store: Store, runner: Runner, options: RunOptions, reporter: Reporter, interrupt: Interrupt) -> None:
    """Measure the best plans again; Ctrl-C during it ends it after the sitting, one more at once."""
    most, asked_before = options.timing.finalists, interrupt.requested
    if chosen := finalists(store.results(), most):
        reporter.note("measuring " + (f"the best {len(chosen)} plans" if len(chosen) > 1 else "the best plan") + " again")
        limit_s = min(max(FINAL_SHARE * store.elapsed_s(), FINAL_S[0]), FINAL_S[1])
        hold_final(store, runner, most, options.seed,
                   FinalLimits(limit_s, lambda: interrupt.requested and not asked_before))


def _finish(store: Store, ending: Ending) -> Finish:
    summary = write_summary(store, store.directory)
    write_best_code(store, store.directory)
    write_convergence(store, store.directory)
    return Finish(store.directory, ending, summary, best_result(store.results(), summary))


def profile_run(directory: Path, count: int, parts: Parts = PARTS) -> dict[int, Counted]:
    """Run the default plan and the `count` fastest of a run under a profiler; the answers by evaluation, stored as well.

    Raises:
        InputError: no run there, it is in use, or its device is not here or has nothing to count.
    """
    with open_store(directory) as store:
        info = store.info()
        chosen = worth_profiling(store.results(), count)
        problem = Problem(info.program, store.reference())
        with opened(parts, problem, place_of(info, HERE), limits_of(info.options), directory) as runner:
            found = {}
            for number, counted in profile(profiling(runner), chosen):
                store.profiles.add(number, counted)
                found[number] = counted
    return found


def _read_source(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; give a C file with `#pragma scop`") from None


def _compare_source(info: RunInfo, directory: Path, reporter: Reporter) -> None:
    file = Path(info.options.file)
    if not file.is_file():
        return
    if _hash(file.read_bytes()) != info.source_hash:
        reporter.note(f"warning: {file} changed since this run began; {directory} goes on with the program as it "
                      f"was. To tune the new one: {reproduce_command(info)}")


def _compare_device(stored: DeviceInfo, found: DeviceInfo, reporter: Reporter) -> None:
    if (model_key(stored.key), stored.target) != (model_key(found.key), found.target):
        raise InputError(f"the run was made on {stored.name} ({stored.platform}), but here is {found.name} "
                         f"({found.platform}) or its limits changed; resume where it was made, or start a new run")
    if stored.driver != found.driver:
        reporter.note(f"warning: the driver changed from {stored.driver} to {found.driver}; "
                      "old and new times may not be comparable")


@contextmanager
def opened(parts: Parts, problem: Problem, place: Place, limits: Limits, directory: Path) -> Iterator[Runner]:
    """A runner with an empty folder to work in; what a killed session left there is removed."""
    work = directory / WORK_DIRECTORY
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        runner = parts.open_runner(problem, place, limits, work)
        try:
            yield runner
        finally:
            runner.close()
    finally:
        shutil.rmtree(work, ignore_errors=True)
