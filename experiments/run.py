"""A run from end to end: read the program, open the device, search, write the files; and continue a stored run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from experiments.goals import with_base
from experiments.search.changes import compare_compiler, compare_device, notes, source_hash
from experiments.search.checkpoints import Checkpoints, key_of
from experiments.search.code import write_best_code
from experiments.search.coming import Coming
from experiments.search.constants import check_device, check_used
from experiments.search.finals import FinalLimits, finalists, hold_final
from experiments.search.first_walks import check_guided, check_models
from experiments.search.interrupt import Interrupt
from experiments.search.loop import Diverged, Refused, Search
from experiments.search.other_explorers import name_note, repeats_of, resumable
from experiments.search.other_space import other_space
from experiments.search.parts import PARTS, Parts
from experiments.search.places import checked_place, limits_of, place_of
from experiments.search.profiles import profile, profiling, worth_profiling
from experiments.search.reuse import check_runs, known_results
from experiments.search.summary import Summary, best_result, write_summary
from experiments.search.trust import check_cluster, checked_problem, open_questions
from experiments.search.using_wisdom import keep_wisdom, taking_wisdom
from experiments.search.usual_models import check_beam, with_usual_models, without_usual
from experiments.search.worded import Worded
from experiments.store import Store, abandon, create_store, open_store, reserve, utc_now
from experiments.store.profiles_table import Counted
from experiments.values.objective import Objective
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Ending, Result, RunInfo
from experiments.values.sought import check_names, sought_for
from experiments.words import command
from explorer.base import EagerExplorer, Explorer, ExplorerFailed
from generator.errors import InputError
from generator.plan import Plan
from generator.problem import Problem
from generator.templates.template import Template
from runners.base import AnnouncedRunner, DeviceInfo, Limits, Runner, WarningRunner
from runners.locks import timing_lock
from runners.many import HERE, Place
from runners.waiting import waits_told

WORK_DIRECTORY = "work"
MANY = 500
"""From this number of stored results on, going through them takes a noticeable time."""
FINAL_SHARE, FINAL_S = 0.25, (8.0, 30.0)
"""A final may take this fraction of the search time, but at least and at most these numbers of seconds."""


class Reporter(Protocol):
    """Shows the progress of a run."""

    def note(self, text: str) -> None:
        """Show what the user should know: a step that takes a while, or a warning."""

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Handle the start of the search; `stored` holds the results of earlier sessions, measured in `elapsed_s`
        seconds.
        """

    def result(self, result: Result) -> None:
        """Handle an evaluation that was finished and stored."""


@dataclass(frozen=True, slots=True)
class More:
    """Further options of resuming, besides budget and place.

    `anyway`: continue although the driver changed, or although antune changed and would no longer ask for the stored
    plans; these are then told to the explorer as adopted walks. `trust`: run code from another user's files even if it
    is not proven harmless. `reuse`: see RunOptions.
    """

    anyway: bool = False
    trust: bool = False
    reuse: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of a session, and the results of the run; `best` is None if there is no valid plan."""

    directory: Path
    ending: Ending
    summary: Summary
    best: Result | None


def tune(options: RunOptions, directory: Path, reporter: Reporter, parts: Parts = PARTS,
         text: str | None = None, wisdom: bool = False) -> Finish:
    """Start a run in `directory` and search until its budget is used up or Ctrl-C.

    `text`: a description of what is tuned, if it is not the content of `options.file` (`RunOptions.from_python`).
    `wisdom`: start from the best known plans for similar sizes and devices.

    Raises:
        InputError: invalid options, a program that cannot be tuned, an unknown device, a directory that is in use, or a
            goal whose base time is unknown.
        Refused: the device runs no kernel; results so far are stored.
    """
    source = _read_source(Path(options.file)) if text is None else text.encode()
    parts.check_explorer(options.explorer)
    _check_models(options)
    place = checked_place(options, parts.check_place)
    check_runs(options.reuse)
    reserved = reserve(directory, source_hash(source))
    try:
        problem = _read(parts, options, reporter)
        if isinstance(problem.subject, Template):
            options = _of_template(options)
            problem = _answered(parts, problem, place, options, reporter)
        with opened(parts, problem, place, limits_of(options), directory) as runner:
            check_device(options.calibration, runner.device)
            if options.profile:
                profiling(runner)
            options = with_usual_models(options, problem.subject, runner.device.target, reporter.note)
            if wisdom:
                options = taking_wisdom(options, problem.subject, runner.device, reporter.note)
            parts.reasons(problem.subject, runner.device.target, options)  # raises before the run is created
            _tell_objective(options, problem, reporter)
            budget = with_base(options.budget, problem.subject, problem.reference.sequential_ms, runner.device)
            info = _new_info(replace(options, budget=budget), source, problem, runner.device)
            known = known_results(options.reuse, info.subject, runner.device, options.timing)
            with create_store(reserved, info, problem.reference, runner.device.driver, known) as store:
                _tell_known(reporter, len(known))
                return _session(store, info, budget, runner, reporter, parts)
    finally:
        abandon(reserved)


def resume(directory: Path, extension: Budget | None, reporter: Reporter, parts: Parts = PARTS,
           elsewhere: Place = HERE, more: More = More()) -> Finish:
    """Continue the run in `directory`, as if it had never stopped; `extension` replaces its budget.

    `elsewhere` names other devices of the same model, another cluster, or "none" for this machine.

    Only the directory is needed: the tuned file may have changed or been deleted. A finished run is not continued, but
    its files are written again.

    Raises:
        InputError: there is no run, it is in use, its device or driver is not that of this machine, the stored history
            does not fit this version, it is another user's run and not trusted (`experiments.search.trust`), or the
            goal is a time and the run's objective is not.
    """
    with open_store(directory) as store:
        info, ending = store.info(), store.ending()
        if extension is not None:
            _check_goal(info.options.objective, extension)
        if extension is None and ending in ("finished", "exhausted"):
            reporter.note(f"{directory} is complete; to search on: "
                          f"`{command('resume', directory)} --evaluations N`")
            return _finish(store, ending, parts)
        for note in (*notes(info, store.environment(), directory), compare_compiler(info)):
            _tell(reporter, note)
        check_cluster(directory, info, elsewhere, more.trust)
        problem = checked_problem(store, info, more.trust)
        with opened(parts, problem, place_of(info, elsewhere), limits_of(info.options), directory) as runner:
            _tell(reporter, compare_device(directory, info.device, store.driver(), runner.device, more.anyway))
            known = known_results(more.reuse, info.subject, runner.device, info.options.timing)
            budget = with_base(extension or store.budget(), info.subject, info.sequential_ms, info.device)
            store.begin_session(budget, runner.device.driver)
            store.reused.add(known)
            _tell_known(reporter, len(known))
            return _session(store, info, budget, runner, reporter, parts, more.anyway)


def _check_models(options: RunOptions) -> None:
    """Raise InputError if the options for cost models do not fit each other."""
    named = without_usual(options)
    check_models(named)
    check_guided(named)
    check_beam(options)
    check_used(named)


def _read(parts: Parts, options: RunOptions, reporter: Reporter) -> Problem:
    """Return the problem of a new run, and report what the user should know about it."""
    suffix = Path(options.file).suffix
    runs_it = "" if suffix in (".json", ".py") else ": compiling and running it once for real inputs and the reference"
    if options.from_python:
        reporter.note("computing the reference of what this program built")
    else:
        reporter.note(f"reading {options.file}{runs_it}")
    problem = parts.read_problem(options, reporter.note)
    for warning in problem.reference.warnings:
        reporter.note(f"warning: {warning}")
    for access in open_questions(problem)[:1]:
        reporter.note(f"warning: nothing proves that {access} stays inside its array: if it does not, that is the "
                      "program's fault, and plans may crash or differ")
    _tell(reporter, other_space(problem.subject, options))
    return problem


def _of_template(options: RunOptions) -> RunOptions:
    """Return the options of a template's run, whose space is its parameters. Raises InputError for another space."""
    if options.space not in ("template", "pipeline"):  # `pipeline` is the default for Python files
        raise InputError(f"--space {options.space} is for programs; the space of a kernel template is its parameters: "
                         "leave --space out")
    return replace(options, space="template")


def _answered(parts: Parts, problem: Problem, place: Place, options: RunOptions, reporter: Reporter) -> Problem:
    """Return the problem of a template with the expected results of all configurations."""
    if problem.reference.origin == "first":
        reporter.note("no answer is given: what the first configuration computes is what all others are compared with")
    return parts.answered(problem, place, limits_of(options), Path(tempfile.gettempdir()))


def _tell_objective(options: RunOptions, problem: Problem, reporter: Reporter) -> None:
    """Report an objective other than the time. Raises InputError if no plan has it, or if the goal is a time."""
    objective = options.objective
    check_names(objective, problem.subject)
    _check_goal(objective, options.budget)
    if not objective.is_time:
        reporter.note(f"the objective: {objective.words}")


def _check_goal(objective: Objective, budget: Budget) -> None:
    """Raise InputError if the goal is a time and the objective is not."""
    goal = budget.stop_at
    if goal is not None and goal.measure != "default" and not objective.is_time:
        raise InputError(f"--stop-at {goal.option} compares times, and the objective is {objective.text}; use a goal "
                         "like 8x, which compares with the default plan's")


def _tell(reporter: Reporter, note: str | None) -> None:
    if note is not None:
        reporter.note(note)


def _tell_known(reporter: Reporter, plans: int) -> None:
    if plans:
        reporter.note(f"{plans} plans are known from other runs")


def _new_info(options: RunOptions, source: bytes, problem: Problem, device: DeviceInfo) -> RunInfo:
    reference = problem.reference
    return RunInfo(utc_now(), options, source_hash(source), source.decode("utf-8", errors="replace"), problem.subject,
                   device, reference.compiler, reference.sequential_ms, reference.baselines)


def _session(store: Store, info: RunInfo, budget: Budget, runner: Runner, reporter: Reporter,
             parts: Parts, anyway: bool = False) -> Finish:
    reporter.begin(info, budget, store.results(), store.elapsed_s())
    notice = "stopping after what runs now; Ctrl-C again stops at once"
    lock = timing_lock(info.device.key, info.device.target)
    _tell(reporter, name_note(info.options.explorer))
    _tell(reporter, f"warning: {runner.device.warning}" if runner.device.warning else None)
    if isinstance(runner, WarningRunner):
        runner.warn_through(lambda text: reporter.note(f"warning: {text}"))
    with waits_told(lock, reporter.note), Interrupt(lambda: reporter.note(notice)) as interrupt:
        try:
            ending = _searched(store, info, budget, runner, reporter, parts, interrupt, anyway)
            _hold_final(store, runner, info, reporter, interrupt)
            _tell(reporter, repeats_of(store))
        except KeyboardInterrupt:
            ending = "interrupted"
        except (ExplorerFailed, Refused) as error:
            store.end_session("interrupted")
            _finish(store, "interrupted", parts)
            raise resumable(error, store.directory) from error.__cause__
        store.end_session(ending)
    finish = _finish(store, ending, parts)
    keep_wisdom(info, finish.summary, finish.best, reporter.note)
    return finish


def _searched(store: Store, info: RunInfo, budget: Budget, runner: Runner, reporter: Reporter, parts: Parts,
              interrupt: Interrupt, anyway: bool) -> Ending:
    """Search from the latest checkpoint or from the start; with `anyway`, also if the history cannot be repeated."""
    from threadpoolctl import threadpool_limits

    options, results = info.options, store.results()
    space = parts.make_space(info.subject, info.device.target, options)
    checkpoints = Checkpoints(store, space, key_of(info, store.reused.adopted()),
                              {r.evaluation.plan.digest: r.evaluation.plan for r in results})
    saved = checkpoints.load()
    if saved is None and len(results) > MANY:
        reporter.note(f"going through {len(results)} stored results again, as no checkpoint fits: that takes a while")
    starts = Coming(partial(parts.starts, info.subject, info.device.target, options))
    for reason in parts.reasons(info.subject, info.device.target, options):
        reporter.note(reason)
    explorer = saved.explorer if saved else parts.make_explorer(
        options.explorer, space, options.seed, tuple(starts) if store.reused.adopted() else starts)
    ahead = _ahead(options, explorer, runner, reporter)
    observer = Worded(reporter, parts.words(info.subject, info.device.target, options))
    search = Search(store, explorer, runner, options.ants, budget, observer, interrupt, profiled=options.profile,
                    checkpoints=checkpoints, saved=saved, limits=limits_of(options), ahead=ahead,
                    sought=sought_for(options.objective, info.subject), meanwhile=None if saved else starts.prepare)
    try:
        with threadpool_limits(
            1
        ):  # more threads would disturb the timing, and their results would depend on the machine
            return search.run(_first_plan(store, info, parts))
    except Diverged:
        if not anyway or store.reused.adopted() == store.iterations():
            raise
    reporter.note(
        "the search would now ask for other plans; it goes on from what was measured, as another search would"
    )
    store.reused.adopt(store.iterations())
    return _searched(store, info, budget, runner, reporter, parts, interrupt, anyway)


def _ahead(options: RunOptions, explorer: Explorer, runner: Runner, reporter: Reporter) -> int:
    """Return how many iterations are asked before the results of the current one are known; a note says why none."""
    eager = isinstance(explorer, EagerExplorer) and explorer.asks_ahead
    obstacles = ((not eager, f"the explorer {options.explorer} needs all results"),
                 (options.profile > 0, "profiles of an iteration guide the next one"),
                 (runner.device.target.shares_host_cores, "compiling disturbs measurements on a CPU"),
                 (not isinstance(runner, AnnouncedRunner), f"{runner.device.name} is measured elsewhere"))
    found = next((why for obstructs, why in obstacles if obstructs), None)
    if options.ahead and found is not None:
        reporter.note(f"--ahead has no effect: {found}")
    return int(options.ahead and found is None)


def _first_plan(store: Store, info: RunInfo, parts: Parts) -> Plan:
    """Return the plan of evaluation 0: the stored one, or the default plan for a new run."""
    if store.asked(0) is not None:
        return store.batch(0)[0].plan
    return parts.default_plan(info.subject, info.device.target, info.options)


def _hold_final(store: Store, runner: Runner, info: RunInfo, reporter: Reporter, interrupt: Interrupt) -> None:
    """Measure the best plans again. Ctrl-C ends the final after the current sitting, a second one ends it at once."""
    options, asked_before = info.options, interrupt.requested
    most, sought = options.timing.finalists, sought_for(options.objective, info.subject)
    if (why := sought.without_value(store.results())) is not None:
        reporter.note(f"warning: {why}")
    if chosen := finalists(store.results(), most, sought):
        reporter.note(
            "measuring " + (f"the best {len(chosen)} plans" if len(chosen) > 1 else "the best plan") + " again"
        )
        limit_s = min(max(FINAL_SHARE * store.elapsed_s(), FINAL_S[0]), FINAL_S[1])
        hold_final(store, runner, most, options.seed,
                   FinalLimits(limit_s, lambda: interrupt.requested and not asked_before), sought)


def _finish(store: Store, ending: Ending, parts: Parts) -> Finish:
    summary = write_summary(store, store.directory)
    write_best_code(store, store.directory)
    if parts.draws:
        from experiments.report.plots import write_convergence  # this imports all plots

        write_convergence(store, store.directory)
    return Finish(store.directory, ending, summary, best_result(store.results(), summary))


def profile_run(directory: Path, count: int, parts: Parts = PARTS, trust: bool = False) -> dict[int, Counted]:
    """Run the default plan and the `count` fastest plans of a run under a profiler; store and return the profiles.

    Raises:
        InputError: there is no run, it is in use, or its device is missing or has no counters.
    """
    with open_store(directory) as store:
        info = store.info()
        chosen = worth_profiling(store.results(), count)
        check_cluster(directory, info, HERE, trust)
        problem = checked_problem(store, info, trust)
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


@contextmanager
def opened(parts: Parts, problem: Problem, place: Place, limits: Limits, directory: Path) -> Iterator[Runner]:
    """Yield a runner with an empty working directory; leftovers of a killed session are removed."""
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
