"""`antune report` and `antune list`: the commands that only read stores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from antune.options import Json, RunDirectory

Places = Annotated[list[Path] | None, typer.Argument(metavar="[DIR]...", show_default=False,
                                                     help="Runs, or directories of runs. Default: antune-runs.")]


Plots = Annotated[Path | None, typer.Option("--plots", metavar="DIR", show_default=False,
                                            help="Also write each plot as PNG and SVG into DIR.")]


def report(directory: RunDirectory, plots: Plots = None) -> None:
    """Write report.html: one self-contained page that explains a run.

    It shows the best time over the run, failures and their messages, the times by option of each decision, the
    regression tree and the pheromone, kernels, roofline and code of the best and the default plan, and the command that
    repeats the run. It works without a network, on a phone, in print, and during the run.

    \b
    Examples:
      antune report antune-runs/gemm-1
      antune report antune-runs/gemm-1 --plots figures/
    """
    from experiments.report.facts import gather
    from experiments.report.page import write_report
    from experiments.store import read_store

    with read_store(directory) as store:
        facts = gather(store)
        path = write_report(store, directory, facts=facts)
        print(f"{path} is written; open it in a browser")
        if plots:
            from experiments.report.plots import write_plots

            print(f"{len(write_plots(store, plots, facts=facts))} pictures are written to {plots}")


def list_runs(places: Places = None, json_file: Json = None) -> None:
    """List runs with their progress and results.

    \b
    Examples:
      antune list
      antune list results/ --json runs.json
    """
    from antune.files import write_json
    from antune.tables import print_runs
    from experiments.search.run_dirs import RUNS_ROOT, find_runs, list_run

    roots = places or ([RUNS_ROOT] if RUNS_ROOT.is_dir() else [])
    runs = [list_run(directory) for directory in find_runs(roots)]
    if runs:
        print_runs(runs)
    else:
        print("There are no runs here; `antune tune FILE.c` makes one.")
    if json_file:
        write_json(json_file, runs)
