"""How the searches of a program went on: the best time of each explorer, evaluation by evaluation, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.comparison.figures import compare_all
from experiments.comparison.groups import sections_of
from experiments.comparison.plot import write_comparison
from experiments.comparison.trials import read_trial
from experiments.side_by_side.lanes import Lane

COURSE_FILE = "convergence.png"


def draw_course(lanes: Sequence[Lane], rival: str, folder: Path) -> None:
    """Draw the searches of an entry into its folder, those of the rival left out (it has few plans); nothing without a result."""
    comparisons, _ = compare_all(sections_of([read_trial(lane.directory) for lane in lanes if lane.way != rival]), None)
    if comparisons:
        write_comparison(comparisons, folder / COURSE_FILE)
