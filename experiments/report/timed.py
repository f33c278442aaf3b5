"""Timed walks as a table, for the models that a report fits: the tree and the forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.values.records import Result
from explorer.attributes import Array, Attributes
from generator.decisions.deciding import title_of as kernel_title
from graph.walk import Choice, Walk
from metrics.outcome import cost_ms


@dataclass(frozen=True, slots=True)
class TimedWalks:
    """The timed results whose walks made choices. `table` has a row for each, `times_ms` their times.

    Columns are attributes (`explorer.attributes`); NaN if a walk did not make the decision.
    """

    results: tuple[Result, ...]
    attributes: Attributes
    table: Array
    times_ms: Array


def timed_walks(results: Sequence[Result], walks: Sequence[Sequence[Choice]]) -> TimedWalks:
    """Return the timed walks; `walks` are the choices of each result."""
    timed = [(result, walk, ms) for result, walk in zip(results, walks, strict=True)
             if walk and (ms := cost_ms(result.outcome)) is not None and ms > 0]
    attributes = Attributes()
    rows = [attributes.row(Walk(tuple(walk), result.evaluation.plan)) for result, walk, _ in timed]
    return TimedWalks(tuple(result for result, _, _ in timed), attributes, attributes.table(rows),
                      np.array([ms for _, _, ms in timed]))


def title_of(key: tuple[str, tuple[str, ...]]) -> str:
    """Return a decision with its subject in words: `outer tile size x of S0 S1`."""
    name, subject = key
    title = kernel_title(name)
    return f"{title} of {' '.join(subject)}" if subject else title
