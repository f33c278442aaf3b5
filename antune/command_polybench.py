"""`antune suite polybench`: programs searched in several ways, side by side."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from antune.command_run import LevelChoice
from antune.options import Defines, Device, Json
from antune.side_by_side import Budget, Explorers, Minutes, Out, Seeds, run_side_by_side

SUITE_ROOT = Path("antune-suites") / "polybench"


class FloatChoice(StrEnum):
    """The type of the programs' numbers."""

    float = "float"
    double = "double"


Programs = Annotated[
    str,
    typer.Option(
        "--programs",
        metavar="A,B",
        help="Programs by name, or groups of them: blas, kernels, "
        "solvers, datamining, stencils, medley, core (sixteen), all.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="SIZE",
        show_default=False,
        help="mini, small, medium, large or extralarge, as `-D SMALL_DATASET`. Default: medium.",
    ),
]
Type = Annotated[FloatChoice, typer.Option("--type", help="The type of floating-point numbers.")]
Level = Annotated[
    LevelChoice | None,
    typer.Option("--level", show_default=False, help="How much of the schedule is searched, see `antune tune`. "
                                                     "Default: o2."),
]
Levels = Annotated[
    str | None,
    typer.Option(
        "--levels",
        metavar="A,B",
        show_default=False,
        help="Several levels to compare, e.g. o1,o2,o3: each explorer searches at each of them.",
    ),
]


def polybench(programs: Programs = "core", size: Size = None, define: Defines = None, type_: Type = FloatChoice.float,
              explorer: Explorers = "random,colony", budget: Budget = 20, minutes: Minutes = None, seeds: Seeds = 1,
              level: Level = None, levels: Levels = None, device: Device = None, out: Out = SUITE_ROOT,
              json_file: Json = None) -> None:
    """Tune PolyBench programs in several ways, and compare what they find.

    For each program: sequential C in several builds, the default plan (on CPUs also that of GPUs, `gpu-default`),
    PPCG's plan with the best tile size, and the best plan of each explorer. The plans are measured again in turns at
    the end, so that slowdowns of the machine affect all of them. Every search is a run below --out. The same command
    continues a suite that was stopped or killed; with more programs, explorers, seeds or budget it runs only the
    missing searches. The tables show everything in --out.

    \b
    Examples:
      antune suite polybench --programs gemm,mvt,atax --size small --budget 10
      antune suite polybench --programs core --size large --budget 50 --device pocl --level o2
      antune suite polybench --programs stencils --explorer random,genetic,colony --seeds 6
      antune suite polybench --programs core --levels o1,o2,o3 --explorer colony,random@o2 --budget 50
    """
    from experiments.studies.side_by_side.polybench import (
        PolyBench,
        at_levels,
        parse_programs,
        split_levels,
        split_size,
    )
    from experiments.studies.side_by_side.wanted import SuiteOptions, parse_explorers

    size, defines = split_size(tuple(define or ()), size)
    main, all_levels = split_levels(level.value if level else None, levels)
    setting, ways = PolyBench(size, type_.value, defines, main), at_levels(parse_explorers(explorer), main, all_levels)
    wanted = SuiteOptions(parse_programs(programs), setting, ways, budget, minutes, seeds, device)
    run_side_by_side(wanted, out, json_file)
