"""`antune suite calibrate`: constants of cost models for a device, from measured plans."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.options import Device, Json
from generator.errors import InputError
from generator.plain_text import shell_word

if TYPE_CHECKING:
    from experiments.studies.calibrated.results import Results

Runs = Annotated[list[Path] | None, typer.Argument(
    metavar="[DIR]...", show_default=False,
    help="Runs of image pipelines on one device. Default: new runs of six pipelines of the suite.")]
Programs = Annotated[str | None, typer.Option("--programs", metavar="A,B", show_default=False,
                                       help="The pipelines of the suite to measure, without DIR.")]
Budget = Annotated[int | None, typer.Option(
    "--budget", metavar="N", min=1, show_default=False,
    help="Plans per search, without DIR; each pipeline is searched twice. Default: 40.")]
Kept = Annotated[Path | None, typer.Option("--runs", metavar="DIR", show_default=False,
                                           help="Folder for the new runs, without DIR. Default: antune-calibration.")]
Stages = Annotated[bool, typer.Option("--stages", help="Also measure the time per element of each stage in one "
                                                       "thread, and on CUDA its registers, which the model `polymage` "
                                                       "otherwise estimates; half a second per stage, once per "
                                                       "device.")]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write, for --calibration.")]


def calibrate(runs: Runs = None, device: Device = None, programs: Programs = None, budget: Budget = None,
              kept: Kept = None, out: Out = Path("calibration.json"),
              stages: Stages = False, json_file: Json = None) -> None:
    """Fit the constants of cost models to a device, by the order of measured plans.

    Fits Sioutas' cost of a load that misses the caches, the size from which loads miss, and the seven weights of
    PolyMage-GPU's cost. The table shows how well the models rank the plans of each program (rank correlation; regret:
    the time of the model's best plan over that of the fastest), with the default constants and with constants fitted to
    the other programs. The file contains the constants fitted to all programs.

    \b
    Examples:
      antune suite calibrate antune-runs/unsharp-1 antune-runs/harris-1
      antune suite calibrate --device intel --budget 60
      antune tune sharpen.py --explorer sioutas --calibration calibration.json
    """
    from antune.files import check_place, write_json
    from experiments.studies.calibrated.results import calibrated, write_calibration
    from experiments.studies.calibrated.runs import (
        PROGRAMS,
        Wanted,
        make_runs,
        measured_plans,
        read_runs,
        usual_constants,
    )

    for path in (out, json_file):
        check_place(path)
    named = tuple(filter(None, map(str.strip, (programs or "").split(",")))) or PROGRAMS
    if runs:
        _check_only_new({"--programs": programs, "--budget": budget, "--runs": kept})
    wanted = Wanted(named, device, budget or 40, kept or Path("antune-calibration"))
    found = read_runs(runs or make_runs(wanted, _say), device)
    usual = usual_constants(found, stages, _say)
    results = calibrated(usual, measured_plans(found, usual, _say))
    write_calibration(out, results.calibration)
    _print(results, out)
    if json_file:
        write_json(json_file, results.to_data())


def _check_only_new(options: Mapping[str, object]) -> None:
    """Raise InputError if one of these options is given, which new runs need, and given runs do not."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)}: only new runs use {'it' if len(given) == 1 else 'them'}, and these are "
                         f"given; leave {'it' if len(given) == 1 else 'them'} out, or give no runs")


def _say(text: str) -> None:
    print(text, flush=True)


def _print(results: Results, out: Path) -> None:
    from antune.tables import print_table
    from metrics.costs.polymage import TERMS

    print_table(("program", "plans", "model", "rank", "left out", "regret", "left out"), [
        (row.program, f"{row.plans}", one.model, f"{one.rank_default:.2f}", f"{one.rank_left_out:.2f}",
         f"{one.regret_default:.2f}", f"{one.regret_left_out:.2f}") for row in results.rows for one in row.models])
    print("rank, regret: with the default constants; left out: with constants fitted to the other programs")
    found = results.calibration
    print(f"sioutas: load cost {found.load_cost:g}, reached at {found.cached_bytes / 1024:g} KiB")
    weights = ", ".join(f"{name} {weight:g}" for name, weight in zip(TERMS, found.weights, strict=True))
    print(f"polymage: {weights}")
    if found.stages:
        print(f"polymage: times of {len(found.stages)} stages")
    if found.registers:
        print(f"polymage: registers of {len(found.registers)} stages")
    print(f"written to {out}; `antune tune --calibration {shell_word(out)}` uses it")
