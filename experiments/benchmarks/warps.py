"""Tiles of blocks and warps, and their memory: `python -m experiments.benchmarks.warps [--device D] [--draws N]
[NAME...]`.

Pipelines with stages in overlapped tiles, and stencils with several time steps per launch: the same random sizes with
tiles of blocks, of warps, and of warps with parts in registers (random fractions), in turns, so that load on the
machine affects all of them. The table has the best time of each, and the number of sizes. Kernels without other stages
have the same plan in all of them. With `--results FILE` every time is written there at once, and stored times are not
measured again, as long as the same code is generated: the same command continues a stopped run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

import numpy as np
import typer

from experiments.benchmarks.warp_results import KINDS, Key, Kind, Line, Results
from experiments.script import run
from experiments.suites.image_pipelines import pipeline
from experiments.suites.polybench import program_file
from experiments.words import describe_ms, describe_ratio
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan, InputError
from generator.frontend_c.source import Compilation
from generator.frontend_py.problem import read_pipeline
from generator.lowering import lower
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.heuristics.starts import start_plans, time_plan
from generator.plan import KernelPlan, Plan
from generator.problem import Problem
from generator.program import Program, Where
from generator.reading import read_problem
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from generator.target import Target
from metrics.outcome import Timed
from runners.base import Job, Limits, Runner
from runners.registry import open_runner

IN_BLOCKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "unsharp": ("gray", "blur_y"),
        "harris": ("gray", "ix", "iy"),
        "bilateral_grid": ("interpolated",),
        "camera_pipe": ("curved", "blur_y"),
        "interpolate": ("down_1_x", "down_2_x", "up_0_x", "up_1_x"),
        "pyramid_blend": ("left_1_x", "mask_1_x", "up_0_x", "up_left_0_x"),
        "stencil_chain": ("stage_1", "stage_2", "stage_3"),
    }
)
"""The stages in overlapped tiles, of the six pipelines of Jangda & Guha 2020 and a chain of stencils."""
INLINE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "unsharp": ("repeat_edge", "blur_x", "sharpen", "ratio"),
        "harris": ("ixx", "iyy", "ixy", "sxx", "syy", "sxy", "det", "trace"),
        "camera_pipe": ("blur",),
        "stencil_chain": ("repeat_edge",),
    }
)
STENCILS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"jacobi-1d": (2, 4), "jacobi-2d": (2, 4), "heat-3d": (1, 2), "fdtd-2d": (2, 4)}
)
"""Time steps per launch; in three dimensions a warp's tile with the margins for more does not fit."""
MEDIUM: Literal["medium"] = "medium"
"""The size of the pipelines."""
LIMITS = Limits(half_width=0.05, max_repeats=30, least_s=0.02, time_s=0.4)
"""Each plan is only measured for a moment: there are many, and the best of each kind counts."""
_POINTS: tuple[int, ...] = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Row:
    """A program: the best milliseconds of each kind of tile, and the numbers of valid sizes."""

    name: str
    best: Mapping[Kind, float]
    sizes: Mapping[Kind, int]
    failed: tuple[str, ...] = ()


def tiled_stages(name: str) -> Stages:
    """Return the stages of a pipeline in tiles, and those inline."""
    places: dict[str, Where] = dict.fromkeys(INLINE.get(name, ()), "inline")
    places |= dict.fromkeys(IN_BLOCKS[name], "block")
    return Stages(tuple(sorted(places.items())))


def plans_of(
    program: Program, target: Target, schedule: Schedule, draws: int, rng: np.random.Generator
) -> Iterator[dict[Kind, Plan]]:
    """Yield random sizes, each with the kinds of tiles that some kernel supports; each plan once."""
    base = (
        time_plan(program, target, schedule.steps)
        if isinstance(schedule, TimeTiles)
        else start_plans(program, target, schedule)[0]
    )
    shapes, seen = kernel_shapes(program, schedule, target.language), set[Plan]()
    for _ in range(draws):
        drawn = {shape.statements: _drawn(shape, target, rng) for shape in shapes if shape.computes}
        found = dict[Kind, Plan]()
        for kind in KINDS:
            made = {names: kernels[kind] for names, kernels in drawn.items() if kind in kernels}
            plan = replace(base, kernels=tuple(made.get(k.statements, k) for k in base.kernels))
            if made and plan not in seen:
                seen.add(plan)
                found[kind] = plan
        yield found


def _drawn(shape: KernelShape, target: Target, rng: np.random.Generator) -> Mapping[Kind, KernelPlan]:
    """Return a kernel with random sizes, by the supported kinds of tiles."""
    count = len(shape.extents)
    block = [*(1 for _ in range(count - 2)), int(rng.choice((1, 2, 4, 8))), 32][-count:]
    if count == 1:
        block = [int(rng.choice((64, 128)))]
    along_y = _POINTS[:2] if shape.timed and count > 2 else _POINTS
    along_x = along_y if shape.timed else _POINTS[1:]
    points = [*(1 for _ in range(count - 2)), int(rng.choice(along_y)), int(rng.choice(along_x))][-count:]
    tile = tuple(b * p for b, p in zip(block, points, strict=True))
    wanted = KernelPlan(shape.statements, tile, tuple(block))
    kinds: dict[Kind, KernelPlan] = {
        "block": wanted,
        "warp": replace(wanted, level="sub-group"),
        "hybrid": replace(wanted, level="sub-group", in_registers=int(rng.integers(2, 11))),
    }
    found = {kind: nearest(kernel, Known(shape, target, True)) for kind, kernel in kinds.items()}
    return {kind: kernel for kind, kernel in found.items() if kind_of(kernel) == kind and kernel.tile == tile}


def kind_of(kernel: KernelPlan) -> Kind | None:
    """Return the kind of its tile; None for a thread's."""
    if kernel.level == "sub-group":
        return "hybrid" if kernel.in_registers else "warp"
    return "block" if kernel.level == "block" else None


def measure(name: str, device: str | None, draws: int, size: str, results: Results) -> Row:
    """Time the plans of one program that are not yet in `results`, all kinds of one size before the next size."""
    problem, lines, given = _problem(name, size), list[Line](), size if name in STENCILS else MEDIUM
    with tempfile.TemporaryDirectory(prefix="antune-benchmark-") as folder:
        runner = open_runner(problem, device, LIMITS, Path(folder))
        try:
            rng, target = np.random.default_rng(1), runner.device.target
            steps = [TimeTiles(number) for number in STENCILS.get(name, ())]
            schedules: Sequence[Schedule] = steps or [tiled_stages(name)]
            each = max(1, draws // len(schedules))
            drawn = [one for s in schedules for one in plans_of(problem.program, target, s, each, rng)]
            for plans in drawn:
                lines += _timed(runner, plans, problem.program, f"{name} {given}", results)
        finally:
            runner.close()
    return row(name, lines)


def _timed(
    runner: Runner, plans: Mapping[Kind, Plan], program: Program, words: str, results: Results
) -> list[Line]:
    """Return the lines of one size."""
    device = runner.device
    keys: dict[Kind, Key] = {
        kind: (words, device.name, kind, plan.digest, code_of(program, plan, device.target))
        for kind, plan in plans.items()
    }
    kinds = [kind for kind in plans if keys[kind] not in results.known]
    for number, outcome in runner.evaluate([Job(n, plans[kind]) for n, kind in enumerate(kinds)]):
        ms, why = (outcome.median_ms, "") if isinstance(outcome, Timed) else (None, outcome.message.splitlines()[0])
        *_, kind, plan, code = keys[kinds[number]]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        results.add(Line(words, device.name, kind, plan, ms, why, now, code))
    return [results.known[keys[kind]] for kind in plans]


def code_of(program: Program, plan: Plan, target: Target) -> str:
    """Return the hash of the code that is generated for a plan; `none` if it is refused."""
    try:
        return lower(program, plan, target).code_hash
    except IllegalPlan:
        return "none"


def row(name: str, lines: Sequence[Line]) -> Row:
    """Return the best of each kind."""
    times = {kind: [line.ms for line in lines if line.kind == kind and line.ms is not None] for kind in KINDS}
    failed = tuple(f"{line.kind}: {line.words}" for line in lines if line.ms is None)
    best = {kind: min(ms) for kind, ms in times.items() if ms}
    return Row(name, best, {kind: len(ms) for kind, ms in times.items()}, failed)


def _problem(name: str, size: str) -> Problem:
    if name in STENCILS:
        compilation = Compilation(defines=(f"{size}_DATASET", "DATA_TYPE_IS_FLOAT"))
        return read_problem(program_file(name), compilation, None, None, {}, 0)
    found = pipeline(name)
    return read_pipeline(found.file, None, dict(found.parameters_at(MEDIUM)), 7)


def table(rows: list[Row]) -> str:
    """Return a Markdown table: times, and the speedups of warps and hybrid tiles over tiles of blocks."""
    lines = ["| program | sizes | tile per block | per warp | | hybrid | |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        times = [row.best.get(kind) for kind in KINDS]
        ratios = [times[0] / ms if ms and times[0] else None for ms in times[1:]]
        sizes = ", ".join(str(row.sizes.get(kind, 0)) for kind in KINDS)
        cells = (row.name, sizes, describe_ms(times[0]), describe_ms(times[1]), describe_ratio(ratios[0]),
                 describe_ms(times[2]), describe_ratio(ratios[1]))  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", show_default=False)] = None,
    device: Annotated[str | None, typer.Option("--device")] = None,
    draws: Annotated[int, typer.Option("--draws", min=1, help="random sizes for each kind of tile")] = 50,
    size: Annotated[str, typer.Option("--size", help="of the stencils")] = "MEDIUM",
    results: Annotated[Path | None, typer.Option("--results", help="a file of times, which are kept")] = None,
) -> None:
    """Measure tiles of blocks, of warps, and of warps partly in registers."""
    every = (*IN_BLOCKS, *STENCILS)
    if unknown := [name for name in names or () if name not in every]:
        raise InputError(f"no pipeline or stencil is called {unknown[0]!r}; there are: {', '.join(every)}")
    rows, known = [], Results.read(results)
    for name in names or every:
        rows.append(measure(name, device, draws, size, known))
        for words in rows[-1].failed:
            print(f"{name}: {words}")
        print(table(rows[-1:]).splitlines()[2], f" {datetime.now(UTC):%H:%M:%S}", flush=True)
    print(table(rows))


if __name__ == "__main__":
    run(main)
