"""The order in which several processes get files of tests: long ones first, so that none is left at the end."""

from __future__ import annotations

from pathlib import Path

from tests.support.paths import TESTS

LONG = (
    "experiments/exports/test_sizes.py", "runners/cluster/test_cluster.py", "runners/test_faults.py",
    "experiments/exports/test_exports.py", "runners/cuda/test_runner.py", "runners/test_races.py",
    "experiments/test_resume.py", "runners/cuda/test_architectures.py", "whole/test_gpu_options.py",
    "runners/test_remeasure.py", "runners/opencl/test_unknown_cpu.py", "explorer/test_contract.py",
    "experiments/studies/first_contact/test_end_to_end.py", "experiments/studies/side_by_side/test_polybench.py",
    "experiments/studies/side_by_side/test_pipelines.py", "experiments/graphs/test_pipeline.py",
    "experiments/report/test_browser.py", "experiments/test_foreign_runs.py", "runners/test_contract.py",
    "runners/cuda/test_races.py", "runners/test_many_devices.py", "runners/test_ratings.py",
    "experiments/search/test_faults.py", "generator/frontend_c/test_found_loops.py",
    "generator/frontend_c/test_structures.py", "generator/lowering/heuristics/test_starts.py",
    "generator/polyhedral/schedules/test_hyperplanes.py", "whole/test_generated_code.py", "whole/test_random_plans.py",
    "whole/test_stages_on_devices.py", "whole/test_steps_on_devices.py", "whole/test_teams_on_devices.py",
    "explorer/test_genetic.py", "explorer/test_halide_ga.py", "antune/test_cli.py",
    "experiments/learning/test_spilling.py",
)
"""Files that take 10 s or more, the longest first (`pytest --durations=40` names their tests)."""
RANKS = {TESTS / name: rank for rank, name in enumerate(LONG)}


def rank(file: Path) -> int:
    """Return the place of `file` in the order; all that take little time share the last one."""
    return RANKS.get(file, len(RANKS))
