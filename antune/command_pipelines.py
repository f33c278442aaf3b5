"""`antune suite pipelines`: image pipelines searched in several ways, side by side."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from antune.options import Device, Json
from antune.side_by_side import Budget, Explorers, Minutes, Out, Seeds, run_side_by_side

SUITE_ROOT = Path("antune-suites") / "pipelines"


class SizeChoice(StrEnum):
    """The sizes of the images."""

    small = "small"
    medium = "medium"
    full = "full"


Programs = Annotated[str, typer.Option("--programs", metavar="A,B", help="Pipelines by name, or `all`.")]
Size = Annotated[
    SizeChoice,
    typer.Option("--size", help="Size of the images: `small` for a first try, `full` as published by others."),
]


Peers = Annotated[str, typer.Option("--peers", metavar="halide", show_default=False,
                                    help="Also measure Halide's autoschedulers, if its Python package is installed "
                                         "(the extra `peers`).")]


def pipelines(
    programs: Programs = "all",
    size: Size = SizeChoice.medium,
    explorer: Explorers = "colony,genetic,random",
    budget: Budget = 20,
    minutes: Minutes = None,
    seeds: Seeds = 1,
    device: Device = None,
    peers: Peers = "",
    out: Out = SUITE_ROOT,
    json_file: Json = None,
) -> None:
    """Tune image pipelines in several ways, and compare what they find.

    For each pipeline: sequential C, the plan that computes every stage in kernels of its own (all root), the one that
    inlines every stage that can be, the best plan of each explorer, and the best of all of these. They are measured
    again in turns at the end, so that slowdowns of the machine affect all of them. Every search is a run below --out.
    The same command continues a suite that was stopped or killed; with more programs, explorers, seeds or budget it
    runs only the missing searches. The tables show everything in --out.

    \b
    Examples:
      antune suite pipelines --programs blur,harris --size small --budget 10
      antune suite pipelines --budget 100 --device pocl --json pipelines.json
      antune suite pipelines --programs unsharp --explorers colony,random --seeds 6
      antune suite pipelines --programs blur,harris --budget 100 --peers halide
    """
    from experiments.studies.side_by_side.pipelines import Pipelines, parse_pipelines
    from experiments.studies.side_by_side.wanted import SuiteOptions, parse_explorers

    wanted = SuiteOptions(
        parse_pipelines(programs), Pipelines(size.value), parse_explorers(explorer), budget, minutes, seeds, device,
        parse_explorers(peers)
    )
    run_side_by_side(wanted, out, json_file)
