"""The importance of each decision: how much worse a forest predicts times if that decision is wrong.

Permutation importance (L. Breiman, Random forests, Machine Learning 45, 2001), by scikit-learn. A decision's options
are shuffled among walks that the forest has not seen (three parts of all walks in turn); the increase of the squared
error of the logarithm of the time, over the variance of that logarithm, is its importance: 0 for one without any
information. Unlike the effects of single decisions (`effects.py`), this includes decisions that only matter together
with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.timed import timed_walks, title_of
from experiments.values.records import Result
from explorer.attributes import Array
from graph.walk import Choice

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

FEWEST, MOST_WALKS = 24, 2000
"""Timed walks: fewer are not enough for a forest, more only take time."""
PARTS, TREES, SHUFFLES, WORTH = 3, 60, 3, 0.001
LEAST = 0.1
"""The share of the variance that the forest has to predict, so that its importances are meaningful."""
MOST_TRIED, MOST_SHOWN = 20, 12
"""Decisions: those that the forest uses most are shuffled, the most important of them are shown."""


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of a decision: mean and standard deviation over parts and shuffles, as shares of the variance."""

    title: str
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Importances:
    """The most important decisions, in descending order.

    `explained`: the share of the variance of the logarithm of the time that the forest predicts for walks it has not
    seen; `walks`: their number.
    """

    decisions: tuple[Importance, ...]
    explained: float
    walks: int


def importances(results: Sequence[Result], walks: Sequence[Sequence[Choice]]) -> Importances | str:
    """Return the importances, or why there are none. `walks` are the choices of each result."""
    timed = timed_walks(results, walks)
    count = len(timed.results)
    if count < FEWEST:
        return f"A forest needs {FEWEST} timed walks; there {'is' if count == 1 else 'are'} {count}."
    kept = (
        np.arange(count) if count <= MOST_WALKS else np.random.default_rng(0).choice(count, MOST_WALKS, replace=False)
    )
    table, logs = timed.table[kept], np.log(timed.times_ms[kept])
    variance = float(logs.var())
    if variance == 0:
        return "All walks took the same time: no decision matters."
    columns = _asked_about(table, logs)
    growth, error = _shuffled(table[:, columns], logs)
    explained = 1 - error / variance
    if explained < LEAST:
        return (
            "A forest that learned from two thirds of the walks cannot predict the times of the others: there are too "
            "few "
            "walks to tell what matters."
        )
    found = [Importance(title_of(timed.attributes.columns[column].key), float(grown.mean()) / variance,
                        float(grown.std()) / variance) for column, grown in zip(columns, growth, strict=True)]
    worth = sorted((one for one in found if one.mean >= WORTH), key=lambda one: (-one.mean, one.title))
    return Importances(tuple(worth[:MOST_SHOWN]), explained, len(kept))


def _forest(table: Array, logs: Array) -> RandomForestRegressor:
    from sklearn.ensemble import RandomForestRegressor  # takes a second to import

    return RandomForestRegressor(TREES, min_samples_leaf=2, max_features=0.5, random_state=0).fit(table, logs)


def _asked_about(table: Array, logs: Array) -> list[int]:
    """Return the columns that a forest uses, at most MOST_TRIED; at least one."""
    shares = _forest(table, logs).feature_importances_
    return [int(column) for column in np.argsort(-shares, kind="stable")[:MOST_TRIED] if shares[column] > 0] or [0]


def _shuffled(table: Array, logs: Array) -> tuple[Array, float]:
    """Return, by column, the increase of the squared error in each part and shuffle, and the error of the forest
    itself.
    """
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import KFold

    grown, errors = [], []
    for learned, unseen in KFold(PARTS, shuffle=True, random_state=0).split(table):
        forest = _forest(table[learned], logs[learned])
        errors.append(float(np.mean((forest.predict(table[unseen]) - logs[unseen]) ** 2)))
        grown.append(permutation_importance(forest, table[unseen], logs[unseen], scoring=_score,
                                            n_repeats=SHUFFLES, random_state=0).importances)
    return np.concatenate(grown, axis=1), float(np.mean(errors))


def _score(forest: RandomForestRegressor, table: Array, logs: Array) -> float:
    """Return the negative squared error. It asks the trees without scikit-learn's checks of the table, which take most
    of the time, and adds up in the forest's order, so that the result is the same.
    """
    rows = np.ascontiguousarray(table, np.float32)
    total = np.zeros(len(rows))
    for tree in forest.estimators_:
        total += tree.tree_.predict(rows)[:, 0]
    return -float(np.mean((total / len(forest.estimators_) - logs) ** 2))
