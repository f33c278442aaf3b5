"""`antune suite everyday`: tune typical C programs and compare them with sequential C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from antune.options import Device, Json
from antune.side_by_side import Budget, Explorers, Minutes, Out, Seeds, run_side_by_side

SUITE_ROOT = Path("antune-suites") / "everyday"
Programs = Annotated[str, typer.Option("--programs", metavar="A,B", help="Programs by name, or `all`.")]
Small = Annotated[bool, typer.Option("--small", help="Use the small sizes of the tests, for a first try.")]


def everyday(programs: Programs = "all", small: Small = False, explorer: Explorers = "colony", budget: Budget = 20,
             minutes: Minutes = None, seeds: Seeds = 1, device: Device = None, out: Out = SUITE_ROOT,
             json_file: Json = None) -> None:
    """Tune typical C: matrices in one dimension, functions, structures, loops without a pragma.

    For each program: sequential C compiled for this machine, the default plan, the default plan with the best tile
    size, and the best plan of each explorer. They are measured again in turns at the end. Every search is a run below
    --out. The same command continues a suite that was stopped or killed. The programs are in
    experiments/suites/everyday.

    \b
    Examples:
      antune suite everyday
      antune suite everyday --programs matmul_flat,blur_flat --budget 50 --device pocl
    """
    from experiments.studies.side_by_side.everyday import Everyday, parse_everyday
    from experiments.studies.side_by_side.wanted import SuiteOptions, parse_explorers

    wanted = SuiteOptions(
        parse_everyday(programs), Everyday(small), parse_explorers(explorer), budget, minutes, seeds, device
    )
    run_side_by_side(wanted, out, json_file)
