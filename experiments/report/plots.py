"""Charts as files: convergence.png of every run, and all charts of a report as PNG and SVG."""

from __future__ import annotations

from pathlib import Path

from experiments.pictures.stills import Still, write_still
from experiments.report import (
    convergence,
    coordinates,
    effects,
    failures,
    importance,
    kernels,
    metrics,
    pheromone,
    pipeline,
    predictions,
    roofline,
    tree_picture,
)
from experiments.report.facts import Facts, gather
from experiments.report.page import GRAPH_S
from experiments.search.parts import PARTS, Parts
from experiments.search.summary import summarize
from experiments.store import Store
from experiments.values.sought import sought_for
from generator.errors import InputError


def write_convergence(store: Store, directory: Path) -> None:
    """Write convergence.png: all timed evaluations, the best so far, the default plan and the sequential program."""
    info = store.info()
    sought = sought_for(info.options.objective, info.subject)
    still = convergence.still(store.results(), summarize(store), name="convergence", sought=sought)
    write_still(still, directory, ("png",))


def write_plots(store: Store, directory: Path, parts: Parts = PARTS, facts: Facts | None = None) -> list[Path]:
    """Write each chart of the report as NAME.png and NAME.svg to `directory`, which is created. Charts without data are
    left out. `facts`: those of the store, if they are known.

    Raises:
        InputError: the files cannot be written.
    """
    facts = facts or gather(store)
    timed = facts.summary.best_ms is not None
    found: list[Still | None] = [
        *(convergence.still(facts.results, facts.summary, along, sought=facts.sought)
          for along in convergence.ALONG if timed),
        failures.still(facts),
        importance.still(facts),
        *effects.stills(facts),
        coordinates.still(facts),
        tree_picture.still(facts),
        pheromone.still(store, parts, GRAPH_S),
        *pipeline.stills(facts),
        kernels.still(facts),
        metrics.still(facts),
        *predictions.stills(facts),
        roofline.still(facts),
    ]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return [path for still in found if still is not None for path in write_still(still, directory)]
    except OSError as error:
        raise InputError(f"--plots {directory} cannot be written: {error.strerror}; choose another directory") from None
