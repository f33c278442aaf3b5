"""The original C program of an entry: its times in all builds, and the compilers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from experiments.values.records import RunInfo


@dataclass(frozen=True, slots=True)
class SequentialTimes:
    """Median times of the program in milliseconds: as built by `compiler`, with plain -O3, and with its own OpenMP
    pragmas.

    None if there is no such build.
    """

    ms: float | None = None
    compiler: str = ""
    o3_ms: float | None = None
    openmp_ms: float | None = None
    openmp_threads: int | None = None


def sequential_times(runs: Sequence[RunInfo]) -> SequentialTimes:
    """Return the medians over all samples of the runs with the same compiler and options as the latest one."""
    compiler = max(runs, key=lambda run: run.created_at).compiler
    alike = [run for run in runs if run.compiler == compiler]
    others = [baseline for run in alike for baseline in run.baselines]
    threads = [baseline.threads for baseline in others if baseline.name == "openmp"]
    o3_ms, openmp_ms = (_median([ms for baseline in others if baseline.name == name for ms in baseline.samples_ms])
                        for name in ("o3", "openmp"))
    return SequentialTimes(_median([ms for run in alike for ms in run.sequential_ms]), compiler, o3_ms, openmp_ms,
                           threads[-1] if threads else None)


def _median(samples: Sequence[float]) -> float | None:
    return median(samples) if samples else None
