"""The default plan compared with sequential C: `python -m experiments.benchmarks.default_plan [--device D] [--size S]
[NAME...]`.

For all programs of the suite, or those named, in one run on one device: the times of the original C program (compiled
for this machine, fastest of the captured runs), of the default plan, of PPCG's plan (the default on GPUs), and of the
best start plan of a search. The table is printed as Markdown; ratios above 1 mean faster than sequential C.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from experiments.script import run
from experiments.suites.polybench import program_file, programs
from experiments.words import describe_ms, describe_ratio
from generator.errors import AntuneError
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.starts import start_plans
from generator.lowering.heuristics.usual import usual_plan
from generator.reading import read_problem
from metrics.outcome import Outcome, Timed
from metrics.statistics import geometric_mean
from runners.base import Job, Limits
from runners.registry import open_runner


@dataclass(frozen=True, slots=True)
class Row:
    """One program: times in milliseconds, None without a valid result; `note` says why."""

    name: str
    sequential_ms: float
    default_ms: float | None
    gpu_ms: float | None
    start_ms: float | None
    note: str

    def ratio(self, ms: float | None) -> float | None:
        """Return the speedup over sequential C."""
        return self.sequential_ms / ms if ms else None


def measure(file: Path, defines: tuple[str, ...], device: str | None) -> Row:
    """Time one program."""
    problem = read_problem(file, Compilation(defines=defines), None, None, {}, 0)
    with tempfile.TemporaryDirectory(prefix="antune-benchmark-") as folder:
        runner = open_runner(problem, device, Limits(), Path(folder))
        try:
            target = runner.device.target
            plans = [
                usual_plan(problem.program, target),
                default_plan(problem.program, target),
                *start_plans(problem.program, target),
            ]
            outcomes = dict(runner.evaluate([Job(n, plan) for n, plan in enumerate(plans)]))
        finally:
            runner.close()
    starts = [outcome.median_ms for n, outcome in outcomes.items() if n > 1 and isinstance(outcome, Timed)]
    return Row(
        file.stem,
        min(problem.reference.sequential_ms),
        _ms(outcomes[0]),
        _ms(outcomes[1]),
        min(starts, default=None),
        "" if isinstance(outcomes[0], Timed) else outcomes[0].message.splitlines()[0][:60],
    )


def _ms(outcome: Outcome) -> float | None:
    return outcome.median_ms if isinstance(outcome, Timed) else None


def table(rows: list[Row]) -> str:
    """Return a Markdown table with geometric means over the programs that have a result."""
    lines = ["| program | sequential C | default plan | over C | gpu-default | over C | best start plan | over C | |",
             "|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = (row.name, describe_ms(row.sequential_ms), describe_ms(row.default_ms),
                 describe_ratio(row.ratio(row.default_ms)), describe_ms(row.gpu_ms),
                 describe_ratio(row.ratio(row.gpu_ms)), describe_ms(row.start_ms),
                 describe_ratio(row.ratio(row.start_ms)), row.note)
        lines.append(f"| {' | '.join(cells)} |")
    means = [geometric_mean([ratio for ratio in ratios if ratio is not None])
             for ratios in ([row.ratio(row.default_ms) for row in rows], [row.ratio(row.gpu_ms) for row in rows],
                           [row.ratio(row.start_ms) for row in rows])]
    lines.append(
        f"| geometric mean | | | {describe_ratio(means[0])} | | {describe_ratio(means[1])} | | "
        f"{describe_ratio(means[2])} | |"
    )
    return "\n".join(lines)


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", show_default=False)] = None,
    device: Annotated[str | None, typer.Option("--device")] = None,
    size: Annotated[str, typer.Option("--size")] = "MEDIUM",
    floats: Annotated[bool, typer.Option("--float")] = True,
) -> None:
    """Measure the default plan of PolyBench programs."""
    defines = (f"{size}_DATASET", *(("DATA_TYPE_IS_FLOAT",) if floats else ()))
    rows = []
    for file in [program_file(name) for name in names or programs()]:  # a refusal comes before the first row
        try:
            rows.append(measure(file, defines, device))
        except AntuneError as error:
            print(f"{file.stem}: {error}")
            continue
        print(table(rows[-1:]).splitlines()[2], flush=True)
    if rows:
        print(table(rows))


if __name__ == "__main__":
    run(main)
