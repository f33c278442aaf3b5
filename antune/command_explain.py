"""`antune explain`: what antune sees in a file and what a plan makes of it, without a search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from antune.options import (
    Cflags,
    Defines,
    Device,
    Function,
    IncludeDirs,
    Parameters,
    Scop,
    SourceFile,
    Sources,
    parse_scoped,
)

PlanFile = Annotated[Path | None, typer.Option("--plan", metavar="PLAN.json", show_default=False,
                                               help="A plan, e.g. best.json of a run. Default: the default plan.")]


def explain(file: SourceFile, plan_file: PlanFile = None, include: IncludeDirs = None, define: Defines = None,
            source: Sources = None, cflags: Cflags = "", function: Function = None, scop: Scop = None,
            param: Parameters = None, device: Device = None) -> None:
    """Show the loops, their dependences and the code that a plan leads to, step by step.

    \b
    Examples:
      antune explain gemm.c -D MEDIUM_DATASET
      antune explain gemm.c -D MEDIUM_DATASET --plan antune-runs/gemm-1/best.json
    """
    from antune.files import read_text
    from experiments.parts import find_device
    from generator.explain import explain as explain_plan
    from generator.lowering.default import default_plan
    from generator.plan import plan_from_json
    from generator.reading import read_problem

    scoped = parse_scoped(file, include, define, source, cflags, function, scop, param)
    plan = plan_from_json(read_text(plan_file, "--plan")) if plan_file else None
    target = find_device(device).target
    program = read_problem(scoped.file, scoped.compilation, scoped.function, scoped.scop, dict(scoped.parameters),
                           0).program
    print(explain_plan(program, plan or default_plan(program, target), target))
