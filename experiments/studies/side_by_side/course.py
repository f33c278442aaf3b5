"""The progress of searches over their evaluations: a picture for each program, and one of the means over programs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.pictures.palette import LIGHT
from experiments.pictures.stills import blank, can_draw, log_scale, plain, save
from experiments.studies.comparison.figures import compare_all
from experiments.studies.comparison.groups import sections_of
from experiments.studies.comparison.plot import over_evaluations, write_comparison
from experiments.studies.comparison.trials import Trial, read_trial
from experiments.studies.side_by_side.entries import Course, Entry
from experiments.studies.side_by_side.lanes import Lane, run_directory
from experiments.studies.side_by_side.table import Section, mean_after
from generator.errors import InputError

COURSE_FILE = "convergence.png"


def draw_course(lanes: Sequence[Lane], rival: str, folder: Path) -> None:
    """Draw the searches of an entry into its folder, without the rival (it has few plans).

    Nothing is drawn without a result or without matplotlib.
    """
    comparisons, _ = compare_all(sections_of([read_trial(lane.directory) for lane in lanes if lane.way != rival]), None)
    if comparisons and can_draw():
        write_comparison(comparisons, folder / COURSE_FILE)


def with_courses(entry: Entry, folder: Path) -> Entry:
    """Return `entry`, stored in `folder`, with the courses of the searches whose runs exist."""
    found: list[Course] = []
    for way in entry.explorers:
        with suppress(
            InputError
        ):  # the run was removed or is of another version; the entry's times remain useful
            shares = _shares([read_trial(run_directory(folder, way, seed)) for seed in range(entry.seeds)])
            found += [Course(way, shares)] if shares else []
    return replace(entry, courses=tuple(found))


def _shares(trials: Sequence[Trial]) -> tuple[float, ...]:
    """Return the shares of `Course`; empty if a run began without a valid plan."""
    if not all(len(trial.best_ms) and np.isfinite(trial.best_ms[0]) for trial in trials):
        return ()
    best = over_evaluations(trials)
    return tuple(np.median(best[:, -1:] / best, axis=0).tolist())


def draw_means(sections: Sequence[Section], path: Path) -> None:
    """Draw the geometric means over the programs, a row per section; draw nothing if no courses are known."""
    known = [section for section in sections if any(entry.courses for entry in section.entries)]
    if not known or not can_draw():
        return
    figure = blank((9, 4.5 * len(known)))
    for (axes,), section in zip(figure.subplots(len(known), 1, squeeze=False), known, strict=True):
        plain(axes, "evaluations (0: default plan)", f"times faster than the {section.setting.default_words}")
        axes.set_title(
            f"{section.title.replace(': ', chr(10), 1)}, {len(section.entries)} programs", loc="left", fontsize="medium"
        )
        axes.axhline(1.0, linestyle="--", color=LIGHT.base, linewidth=1)
        places = range(section.entries[0].evaluations + 1)
        for way in section.explorers:
            means = [mean_after(section, way, n) for n in places]
            axes.step(
                places,
                [mean.mean if mean else np.nan for mean in means],
                where="post",
                linewidth=1.8,
                label=section.words(way),
            )
        log_scale(axes, "y")
        axes.legend(frameon=False, fontsize="small")
    save(figure, path, path.suffix)
