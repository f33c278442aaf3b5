"""The order in which several processes get files of tests: long ones first, so that none is left at the end."""

from __future__ import annotations

from pathlib import Path

from tests.support.paths import TESTS

LONG = (
    "experiments/report/test_browser.py", "experiments/exports/test_sizes.py", "runners/cluster/test_cluster.py",
    "runners/test_faults.py", "runners/cuda/test_tensor_cores.py", "experiments/exports/test_exports.py",
    "runners/cuda/test_runner.py", "antune/test_cli.py", "runners/opencl/test_unknown_cpu.py",
    "generator/lowering/core/test_time_tiles.py", "experiments/learning/test_spilling.py", "explorer/test_contract.py",
    "experiments/graphs/test_pipeline.py", "experiments/studies/calibrated/test_calibrated.py",
    "runners/test_processes.py", "runners/cuda/test_races.py", "generator/frontend_c/test_found_loops.py",
    "runners/test_remeasure.py", "generator/frontend_c/test_structures.py", "generator/sequential/test_jumps.py",
    "experiments/test_foreign_runs.py", "runners/test_races.py", "generator/frontend_py/test_types.py",
    "graph/test_hybrid_share.py", "generator/polyhedral/schedules/test_hyperplanes.py",
    "generator/lowering/core/test_thread_values.py", "experiments/studies/side_by_side/test_levels.py",
    "experiments/studies/side_by_side/test_polybench.py", "antune/test_python_api.py",
    "generator/lowering/core/test_streams.py", "runners/cuda/test_time.py", "generator/test_rounding.py",
    "antune/test_jit.py", "generator/lowering/memory/test_loops_around_copies.py",
    "generator/lowering/core/test_wavefront_copies.py", "whole/test_streams_on_devices.py", "runners/test_limits.py",
    "experiments/exports/test_template_exports.py", "runners/test_ratings.py", "generator/emit/test_inlined.py",
)
"""The files that take longest, the longest first (`pytest --durations=40` names their tests)."""
RANKS = {TESTS / name: rank for rank, name in enumerate(LONG)}


def rank(file: Path) -> int:
    """Return the place of `file` in the order; all that take little time share the last one."""
    return RANKS.get(file, len(RANKS))
