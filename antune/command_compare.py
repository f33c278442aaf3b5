"""`antune compare`: compare runs, with statistical tests of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.options import Json

if TYPE_CHECKING:
    from experiments.studies.comparison.figures import Comparison, Contest, Standing

Runs = Annotated[list[Path], typer.Argument(metavar="DIR...", show_default=False, help="Runs, or directories of runs.")]
At = Annotated[
    int | None,
    typer.Option(
        "--at",
        metavar="N",
        min=1,
        show_default=False,
        help="Compare after N evaluations, without runs that have fewer. Default: the length of the shortest run.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE.png",
        show_default=False,
        help="Draw the best time so far over evaluations and time, to a .png, .svg or .pdf file.",
    ),
]


def compare(runs: Runs, at: At = None, json_file: Json = None, plot: Plot = None) -> None:
    """Compare runs: explorers, options, devices.

    Runs of the same program on the same kind of device form a table; runs that differ only in their seeds form a line.
    All runs are compared after the same number of evaluations. Differences are tested (Mann-Whitney, corrected after
    Holm for the number of questions), but never between programs or devices. Runs may be unfinished.

    \b
    Examples:
      antune compare antune-runs/
      antune compare colony-*/ random-*/ --plot compare.png
      antune compare pocl/ intel/ --at 50 --json compare.json
    """
    from antune.files import check_place, write_json
    from experiments.search.run_dirs import find_runs
    from experiments.studies.comparison.figures import compare_all
    from experiments.studies.comparison.groups import sections_of
    from experiments.studies.comparison.plot import check_plot, write_comparison
    from experiments.studies.comparison.trials import read_trials
    from generator.errors import InputError

    for path in (json_file, plot):
        check_place(path)
    if plot is not None:
        check_plot(plot)
    trials, unreadable = read_trials(find_runs(runs))
    if len(trials) < 2:
        raise InputError(
            f"there {'is one run' if trials else 'are no runs'} in {' '.join(map(str, runs))}; a comparison needs "
            "two (`antune tune FILE.c --explorer NAME --seed N` makes more)"
            + "".join(f"; {reason}" for reason in unreadable)
        )
    comparisons, missing = compare_all(sections_of(trials), at)
    missing = (*missing, *unreadable)
    _print_all(comparisons, missing)
    if json_file is not None:
        write_json(json_file, {"sections": [comparison.to_data() for comparison in comparisons], "left_out": missing})
    if plot is not None:
        write_comparison(comparisons, plot)
        print(f"{plot} is written")


def _print_all(comparisons: Sequence[Comparison], missing: Sequence[str]) -> None:
    for comparison in comparisons:
        _print(comparison)
    for reason in missing:
        print(f"\nleft out: {reason}")
    if len(comparisons) > 1:
        print("\nTimes of different programs, sizes, devices or drivers are not tested against each other.")


def _print(comparison: Comparison) -> None:
    from antune.tables import print_table
    from experiments.words import describe_count, describe_ms

    print(f"\n{comparison.section.title}: after {describe_count(comparison.evaluations, 'evaluation')}")
    print(
        f"sequential C {describe_ms(comparison.sequential_ms)} (wall-clock time), default plan "
        f"{describe_ms(comparison.default_ms)}, "
        f"best of all {describe_ms(comparison.target_ms)} (device time, as all below)"
    )
    interval = "95 % interval" if all(one.runs >= 6 for one in comparison.standings) else "interval or range"
    print_table(("", "runs", "best (median)", interval, "vs default", "evaluations to 5 %", "measured again"),
                [_row(one) for one in comparison.standings])
    _print_contests(comparison.contests)
    for note in comparison.notes:
        print(f"note: {note}")


def _row(one: Standing) -> tuple[str, ...]:
    from experiments.words import describe_ms, describe_ratio

    spread = "-" if one.runs < 2 or one.low_ms is None else (
        f"{describe_ms(one.low_ms)} to {describe_ms(one.high_ms) if one.high_ms else 'nothing valid'}")
    near = (f"{one.near:g}" if one.near is not None else "not reached") + f" ({one.arrived} of {one.runs})"
    return (one.label, str(one.runs), describe_ms(one.best_ms), spread, describe_ratio(one.over_default), near,
            describe_ms(one.final_ms))


def _print_contests(contests: Sequence[Contest]) -> None:
    from antune.tables import print_table
    from experiments.studies.comparison.figures import enough_runs

    if not contests:
        return
    print_table(("", "speed of the first", "its wins", "p", "p (Holm)", ""), [_contest(one) for one in contests])
    if any(one.verdict == "too few runs to tell" for one in contests):
        print(f"{enough_runs(len(contests))} runs of each, with different seeds, are the fewest that can tell.")


def _contest(one: Contest) -> tuple[str, ...]:
    """Return one line of the table; `wins`: the share of pairs of runs in which the first has the faster plan."""
    from experiments.words import describe_percent, describe_ratio

    words = {"faster": f"{one.one} is faster", "slower": f"{one.two} is faster"}
    return (f"{one.one} : {one.two}", describe_ratio(one.ratio), describe_percent(one.superiority), f"{one.p:.2g}",
            f"{one.corrected:.2g}", words.get(one.verdict, one.verdict))
