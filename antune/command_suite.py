"""`antune suite`: comparisons that print a table and can write JSON and a plot."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.command_calibrate import calibrate
from antune.command_everyday import everyday
from antune.command_first_contact import first_contact
from antune.command_pipelines import pipelines
from antune.command_polybench import polybench
from antune.command_timing import timing
from antune.help import GroupedCommand
from antune.options import Json

if TYPE_CHECKING:
    from experiments.studies.recorded.results import Results, SpaceFacts

INTERRUPTED = 130

suite = typer.Typer(name="suite", no_args_is_help=True, rich_markup_mode=None, add_completion=False,
                    help="Run comparisons: programs tuned in several ways, explorers on recorded measurements, "
                         "repeated timing on one machine, runs against the ceilings of their device.")
suite.command(cls=GroupedCommand)(everyday)
suite.command(cls=GroupedCommand)(polybench)
suite.command(cls=GroupedCommand)(pipelines)
suite.command(cls=GroupedCommand)(timing)
suite.command(cls=GroupedCommand)(calibrate)
suite.command("first-contact", cls=GroupedCommand)(first_contact)

Files = Annotated[list[Path] | None, typer.Argument(
    metavar="[FILE]...", show_default=False,
    help="Kernel Tuner cache files, T4 files or recordings of antune, plain or .gz. Default: antune's own recordings.")]
Explorers = Annotated[str, typer.Option(
    "--explorers", metavar="A,B", show_default=False,
    help="Explorers to run, also those of installed packages. Default: all of antune's own.")]
Budgets = Annotated[str, typer.Option("--budgets", metavar="N,M", help="Numbers of evaluations after which to "
                                                                       "compare.")]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", help="Searches per explorer, with the seeds 0 to N - 1.")]
Ants = Annotated[int, typer.Option("--ants", metavar="N", help="Evaluations per iteration.")]
T1s = Annotated[list[Path] | None, typer.Option(
    "--t1", metavar="FILE", show_default=False, help="T1 file with the restrictions for all recordings with its "
                                                     "parameters. Repeatable. Default: the recorded configurations "
                                                     "are the legal ones.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", show_default=False,
                                           help="Draw the best time so far over the evaluations.")]
Peers = Annotated[str, typer.Option("--peers", metavar="A,B|all", show_default=False,
                                    help="Also run these strategies of Kernel Tuner, if it is installed.")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", show_default=False,
                                             help="Number of processes. Default: one per core.")]


@suite.command(cls=GroupedCommand)
def recorded(files: Files = None, explorers: Explorers = "", budgets: Budgets = "50,100,200,400", seeds: Seeds = 30,
             ants: Ants = 10, t1: T1s = None, json_file: Json = None, plot: Plot = None, peers: Peers = "",
             workers: Workers = None) -> None:
    """Run explorers on recorded spaces, and compare their results.

    The table shows optimum / best (1: the optimum was found) at each budget, mean and standard deviation over the
    seeds. Invalid configurations cost budget. P is the score of the standard methodology for auto-tuners over a
    window of tuning time: 0 is random search, 1 is the optimum at once. The last column is the explorer's own
    processor time per evaluation.

    \b
    Examples:
      antune suite recorded A100.json.gz --explorers colony,random --seeds 10
      antune suite recorded A100.json.gz --t1 convolution.json --json out.json --plot out.png
    """
    from antune.files import check_place
    from antune.suite_progress import reporting
    from experiments.studies.recorded.peers import all_peers
    from experiments.studies.recorded.recordings import own_recordings
    from experiments.studies.recorded.suite import SuiteOptions, run_suite
    from explorer.registry import SEARCHES

    wanted = all_peers() if peers.strip() == "all" else _words(peers)
    options = SuiteOptions(tuple(files or own_recordings()), _words(explorers) or SEARCHES, _numbers(budgets), seeds,
                           ants, tuple(t1 or ()), wanted, len(os.sched_getaffinity(0)) if workers is None else workers)
    for path in (json_file, plot):
        check_place(path)
    try:
        with reporting() as progress:
            results, notes = run_suite(options, progress)
    except KeyboardInterrupt:
        print("antune: interrupted; nothing was written", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    _print_results(results)
    _write(results, json_file, plot)


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _numbers(text: str) -> tuple[int, ...]:
    """Return the budgets in order. Raises InputError."""
    from generator.errors import InputError

    try:
        return tuple(sorted({int(word) for word in _words(text)}))
    except ValueError:
        raise InputError(f"--budgets {text!r} is not a list of numbers; write them as in --budgets 50,100") from None


def _print_results(results: Results) -> None:
    from antune.tables import print_table

    budgets = list(dict.fromkeys(row.budget for row in results.rows))
    cells = {(row.space, row.explorer, row.budget): f"{row.mean:.3f} ± {row.sd:.3f}" for row in results.rows}
    for space in results.spaces:
        print(f"\n{_headline(space)}")
        lines = []
        for standing in (standing for standing in results.standings if standing.space == space.name):
            score, own_ms = standing.score, standing.own_ms
            lines.append((standing.explorer, *(cells[space.name, standing.explorer, budget] for budget in budgets),
                          f"{score.mean:.3f}" if score else "-", f"{own_ms:.2f}" if own_ms is not None else "-"))
        print_table(("explorer", *map(str, budgets), "P", "own ms"), lines)


def _headline(space: SpaceFacts) -> str:
    from experiments.words import describe_ms, describe_percent

    window = "nothing to score by P" if space.window_s is None or space.window_covered is None else (
        f"P over {space.window_s:,.0f} s of tuning ({describe_percent(space.window_covered)} of its window)")
    return (f"{space.name} ({space.device}): {space.configurations:,} configurations, {space.invalid:,} of them "
            f"invalid; optimum {describe_ms(space.optimum_ms)}; {window}")


def _write(results: Results, json_file: Path | None, plot: Path | None) -> None:
    from antune.files import write_json

    if json_file:
        write_json(json_file, results.to_data())
    if plot:
        from experiments.studies.recorded.plot import write_plot

        write_plot(results, plot)
