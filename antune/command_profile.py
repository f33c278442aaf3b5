"""`antune profile`: hardware counters and static metrics of the plans of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from antune.options import Json, RunDirectory, Trust

if TYPE_CHECKING:
    from experiments.store.profiles_table import Counted
    from experiments.values.records import Result
    from metrics.outcome import KernelTime

Count = Annotated[
    int, typer.Option("--plans", metavar="N", min=1, help="Number of fastest plans to profile, in addition to the "
                                                          "default plan.")
]


def profile(directory: RunDirectory, plans: Count = 3, trust: Trust = False, json_file: Json = None) -> None:
    """Run the default plan and the fastest plans of a run under a profiler.

    Uses the Linux kernel's perf events on CPUs, and Nsight Compute on NVIDIA devices (--device cuda). Each metric is a
    share of the device's peak; unavailable metrics are left out. The static model's metrics are shown beside them
    (docs/metrics.md defines all). Nothing is timed, and the counters are stored in the run.

    \b
    Example:
      antune profile antune-runs/gemm-1 --plans 5
    """
    from antune.files import write_json
    from experiments.run import profile_run
    from experiments.store import read_store

    found = profile_run(directory, plans, trust=trust)
    with read_store(directory) as store:
        results = {result.evaluation.number: result for result in store.results()}
    for number, counted in found.items():
        _print(results[number], counted)
    if json_file:
        write_json(json_file, [{"evaluation": number, **_data(results[number], counted)}
                               for number, counted in found.items()])


def _print(result: Result, counted: Counted) -> None:
    from antune.tables import print_table
    from experiments.words import describe_ms
    from metrics.outcome import Profile, cost_ms

    number = result.evaluation.number
    name = f"evaluation {number}" if number else "default plan"
    print(f"\n{name}: {describe_ms(cost_ms(result.outcome))}")
    rows = [(" ".join(kernel.statements), metric, f"{value:.3f}", source)
            for kernel in _kernels(result)
            for metric, value, source in _values(kernel, counted)]
    print_table(("kernel", "metric", "of the peak", "source"), rows)
    if not isinstance(counted, Profile):
        print(f"Nothing was counted: {counted.message}")


def _kernels(result: Result) -> tuple[KernelTime, ...]:
    from metrics.outcome import Timed

    return result.outcome.kernels if isinstance(result.outcome, Timed) else ()


def _values(kernel: KernelTime, counted: Counted) -> list[tuple[str, float, str]]:
    from metrics.outcome import Profile

    measured = dict(counted.kernels).get(kernel.statements, ()) if isinstance(counted, Profile) else ()
    source = counted.source if isinstance(counted, Profile) else ""
    return [*((name, value, source) for name, value in measured),
            *((name, value, "static model") for name, value in kernel.metrics)]


def _data(result: Result, counted: Counted) -> dict[str, object]:
    from metrics.outcome import NoProfile, cost_ms

    return {
        "median_ms": cost_ms(result.outcome),
        "message": counted.message if isinstance(counted, NoProfile) else None,
        "kernels": [
            {
                "statements": list(kernel.statements),
                "metrics": [
                    {"name": name, "value": value, "source": source} for name, value, source in _values(kernel, counted)
                ],
            }
            for kernel in _kernels(result)
        ],
    }
