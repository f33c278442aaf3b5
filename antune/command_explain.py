"""`antune explain`: show the model of a file and the code of a plan, without a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.errors import InputError
from antune.loops import found_lines, settle
from antune.options import (
    Args,
    CalibrationFile,
    Cflags,
    Defines,
    Device,
    Function,
    IncludeDirs,
    Parameters,
    ProgramLimit,
    RandomInputs,
    Scop,
    Size,
    SourceFile,
    Sources,
    Stdin,
)
from antune.parsing import Scoped, parse_scoped
from generator.frontend_c.source import PROGRAM_LIMIT_S

if TYPE_CHECKING:
    from generator.plan import Plan
    from generator.program import Program
    from generator.target import Target
    from generator.templates.template import Template
    from metrics.costs.base import CostModel
    from runners.base import DeviceInfo

PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="PLAN.json",
        show_default=False,
        help="A plan, e.g. best.json of a run. Default: the default plan.",
    ),
]


WhyFile = Annotated[
    Path | None,
    typer.Option(
        "--why",
        metavar="PLAN.json",
        show_default=False,
        help="Only show whether this plan is legal, and which dependence it violates.",
    ),
]


CostName = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="MODEL",
        show_default=False,
        help="Only print the costs of each kernel of the plan by a cost model: `static`, `sioutas`, `polymage` or "
             "`learned` (docs/models.md).",
    ),
]


Launches = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        show_default=False,
        help="Also write how many blocks and threads of each kernel's launches have work to FILE as JSON.",
    ),
]


Find = Annotated[
    bool,
    typer.Option(
        "--find",
        help="Only list the loop nests of a C file that can be tuned, their shares of the run time, and the obstacles"
             " in all other loops. `#pragma scop` is not needed.",
    ),
]


def explain(
    file: SourceFile,
    find: Find = False,
    plan_file: PlanFile = None,
    why_file: WhyFile = None,
    cost: CostName = None,
    calibration: CalibrationFile = None,
    json_file: Launches = None,
    include: IncludeDirs = None,
    define: Defines = None,
    source: Sources = None,
    cflags: Cflags = "",
    function: Function = None,
    scop: Scop = None,
    param: Parameters = None,
    size: Size = None,
    args: Args = "",
    stdin: Stdin = None,
    program_limit: ProgramLimit = PROGRAM_LIMIT_S,
    random_inputs: RandomInputs = False,
    device: Device = None,
) -> None:
    """Show the loops, their dependences and the code that a plan leads to, step by step.

    \b
    Examples:
      antune explain gemm.c -D MEDIUM_DATASET
      antune explain gemm.c -D MEDIUM_DATASET --plan antune-runs/gemm-1/best.json
      antune explain gemm.c -D MEDIUM_DATASET --why my-plan.json
      antune explain sharpen.py --cost sioutas
      antune explain solver.c --find
    """
    _check_json(json_file, find or why_file is not None or cost is not None)
    scoped = parse_scoped(
        file, include, define, source, cflags, function, scop, param, size, args, stdin, program_limit, random_inputs
    )
    if find:
        _find(scoped)
    else:
        _explain_plan(scoped, plan_file, why_file, CostBy(cost, calibration), device, json_file)


def _check_json(json_file: Path | None, others: bool) -> None:
    """Raise InputError for a file for JSON if something else than a plan is shown, or if it cannot be written."""
    from antune.files import check_place

    if json_file is not None and others:
        raise InputError("--json is for the plan that is shown: leave --find, --why and --cost out")
    check_place(json_file)


@dataclass(frozen=True, slots=True)
class CostBy:
    """The model of --cost, and the file with its constants."""

    name: str | None
    calibration: Path | None


def _explain_plan(
    scoped: Scoped, plan_file: Path | None, why_file: Path | None, cost: CostBy, device: str | None,
    json_file: Path | None
) -> None:
    from antune.files import read_constants, read_plan
    from experiments.search.constants import check_device, check_explained
    from experiments.search.costs import find_model
    from experiments.search.places import find_device

    found, constants = find_device(device), read_constants(cost.calibration)
    model = None if cost.name is None else find_model(cost.name, found.target, constants)
    check_explained(cost.name, constants)
    check_device(constants, found)
    _explain(settle(scoped), read_plan(plan_file, "--plan"), read_plan(why_file, "--why"), found, model, json_file)


def _explain(
    scoped: Scoped, plan: Plan | None, doubted: Plan | None, found: DeviceInfo, model: CostModel | None,
    json_file: Path | None
) -> None:
    """Print the loops and the code of `plan`, or only why `doubted` is illegal, or only the costs of `plan` by `model`.
    """
    from antune.costs import cost_lines
    from antune.global_memory import memory_lines
    from generator.explain import explain as explain_plan
    from generator.explain import why
    from generator.lowering.heuristics.usual import usual_plan
    from generator.reading import read_problem, usual_schedule
    from generator.templates.template import Template

    target = found.target
    problem = read_problem(scoped.file, scoped.compilation, scoped.function, scoped.scop, dict(scoped.parameters), 0,
                           baselines=False)
    if isinstance(problem.subject, Template):
        _explain_template(
            problem.subject, plan, target, doubted is not None or model is not None or json_file is not None
        )
        return
    program = problem.program
    if doubted is not None:
        print(why(program, doubted, target))
        return
    plan = _checked(plan or usual_plan(program, target, usual_schedule(scoped.file)), json_file)
    if model is not None:
        print("\n".join(cost_lines(program, plan, target, model)))
        return
    print(explain_plan(program, plan, target))
    print(
        "\n".join(
            [*memory_lines(program, plan, target), *_static_model(program, plan, target), *_roofline(program, found)]
        )
    )
    for warning in problem.reference.warnings:
        print(f"warning: {warning}")
    if json_file is not None:
        _write_launches(program, plan, json_file)


def _explain_template(template: Template, plan: Plan | None, target: Target, others: bool) -> None:
    """Print the text of a kernel template. Raises InputError if there are options for programs (`others`)."""
    from experiments.search.templates import first_plan
    from generator.templates.explaining import explain_template

    if others:
        raise InputError(f"{template.name} is a kernel template, whose loops antune does not know: leave "
                         "--why, --cost and --json out, they are for programs")
    print("\n".join(explain_template(template, plan or first_plan(template), target)))


def _checked(plan: Plan, json_file: Path | None) -> Plan:
    """Return `plan`. Raises InputError if JSON is wanted of launches that run several time steps."""
    from generator.schedules.time_tiles import TimeTiles

    if json_file is not None and isinstance(plan.schedule, TimeTiles):
        raise InputError("the launches of this plan run several time steps each, and their blocks and threads with "
                         "work are not counted: leave --json out, or give another --plan")
    return plan


def _write_launches(program: Program, plan: Plan, json_file: Path) -> None:
    from antune.files import write_json
    from generator.lowering.analysis.parallelism import parallelism

    kernels = [one.to_data() for one in parallelism(program, plan)]
    write_json(json_file, {"program": program.name, "plan": plan.digest, "kernels": kernels})


def _find(scoped: Scoped) -> None:
    """List the loop nests that can be tuned. Raises InputError for a pipeline, or if there are none."""
    if scoped.file.suffix in (".py", ".json"):
        raise InputError(f"{scoped.file} is not a C file: --find is for C files")
    print("\n".join(found_lines(scoped)))


def _static_model(program: Program, plan: Plan, target: Target) -> Iterator[str]:
    """Yield bank conflicts, and the static metrics of the kernels and of the program, one line each."""
    from antune.shared_memory import shared_lines
    from generator.lowering.analysis.facts import kernel_facts
    from metrics.device_model import device_model
    from metrics.static_model import static_metrics

    metrics = static_metrics(kernel_facts(program, plan, target), device_model(target))
    yield from shared_lines(program, plan, target)
    yield ""
    yield "== Static model (0 to 1, 1 is the device's peak; metrics/static_model.py defines the metrics)"
    for kernel in metrics.kernels:
        yield f"{kernel.name} {{{', '.join(kernel.statements)}}}: {_listed(kernel.values)}"
    yield f"all kernels, weighted by work: {_listed(metrics.values)}"


def _roofline(program: Program, device: DeviceInfo) -> Iterator[str]:
    """Yield the least work of any plan, and the least time for it if the device's ceilings are known."""
    from experiments.ceilings.files import kept_ceilings
    from experiments.words import describe_ms
    from generator.polyhedral.dependences.demand import program_demand
    from metrics.roofline import roof

    demand = program_demand(program)
    yield ""
    yield "== Roofline (what every plan has to do at least; metrics/roofline.py)"
    yield (
        f"{demand.operations.floating:.4g} floating-point operations, {demand.read_bytes:.4g} bytes read, "
        f"{demand.written_bytes:.4g} bytes written"
    )
    if device.key == "deterministic":  # has no speed
        return
    ceilings = kept_ceilings(device)
    bound = None if ceilings is None else roof(demand, ceilings)
    if bound is None:
        yield f"least time: unknown; `antune suite roofline --device {device.key}` measures the device's ceilings"
    else:
        yield f"least time on {device.name}: {describe_ms(bound.ms)}, limited by {bound.limit}"


def _listed(values: tuple[tuple[str, float], ...]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in values)
