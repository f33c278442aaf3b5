"""A regression tree over all results: which questions separate fast walks from slow ones.

It is fitted as in the colony's filter (`explorer.tree_filter`: the same attributes, the logarithm of the time, without
failures), but to all results of the run, from any explorer, and only as large as is readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.graphs.words import option_words
from experiments.report.timed import timed_walks, title_of
from experiments.values.records import Result
from explorer.attributes import Array, Attributes
from explorer.tree_filter import Feature, feature_table, features_of
from graph.walk import Choice

MOST_LEAVES, DEEPEST = 12, 5
FEWEST = 8
"""The fewest timed walks for a tree."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of the tree, with its timed walks. Times are the 25th, 50th and 75th percentile in milliseconds.

    `best`: it contains the best walk. `question` is None for a leaf; otherwise `yes` and `no` are the children.
    """

    walks: int
    low_ms: float
    median_ms: float
    high_ms: float
    best: bool
    question: str | None = None
    yes: TreeNode | None = None
    no: TreeNode | None = None

    @property
    def branches(self) -> tuple[tuple[str, TreeNode], ...]:
        """The children with the answers that lead to them, faster one first; empty for a leaf."""
        parts = [(answer, part) for answer, part in (("yes", self.yes), ("no", self.no)) if part is not None]
        return tuple(sorted(parts, key=lambda entry: entry[1].median_ms))


def fitted(results: Sequence[Result], walks: Sequence[Sequence[Choice]], best: Result | None = None) -> TreeNode | str:
    """Return the tree, or the reason why there is none.

    `walks` are the choices of each result; `best` is the best walk if it is not the one with the lowest time.
    """
    timed = timed_walks(results, walks)
    count, times = len(timed.results), timed.times_ms
    if count < FEWEST:
        return f"A tree needs {FEWEST} timed walks; there {'is' if count == 1 else 'are'} {count}."
    features = features_of(timed.attributes)
    table = feature_table(timed.table, features)
    from sklearn.tree import DecisionTreeRegressor  # takes a second to import

    fewest = max(2, count // 100)
    tree = DecisionTreeRegressor(max_leaf_nodes=MOST_LEAVES, max_depth=DEEPEST, min_samples_leaf=fewest, random_state=0)
    found = tree.fit(table, np.log(times)).tree_
    if found.node_count == 1:
        return "No decision splits the fast walks from the slow ones."
    fastest = next((row for row, result in enumerate(timed.results) if result is best), int(np.argmin(times)))
    return _Reader(timed.attributes, features, table, times, found, fastest).node(0, np.arange(len(times)))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Converts scikit-learn's arrays (`tree`) to nodes. `times` in ms are those of the rows of `table`; `best` is a
    row.
    """

    attributes: Attributes
    features: Sequence[Feature]
    table: Array
    times: Array
    tree: object
    best: int

    def node(self, number: int, members: NDArray[np.intp]) -> TreeNode:
        """Return node `number`, which contains the walks `members`."""
        low, middle, high = (float(value) for value in np.percentile(self.times[members], (25, 50, 75)))
        best = bool(self.best in members)
        left = int(self._of("children_left", number))
        if left == -1:
            return TreeNode(len(members), low, middle, high, best)
        feature = self.features[int(self._of("feature", number))]
        values = self.table[members, int(self._of("feature", number))]
        goes_left = bool(self._of("missing_go_to_left", number))
        threshold, missing = float(self._of("threshold", number)), np.isnan(values)
        on_left = np.where(missing, goes_left, values <= threshold)
        below = self.node(left, members[on_left])
        above = self.node(int(self._of("children_right", number)), members[~on_left])
        is_category = feature.category is not None  # a value above the threshold means yes
        question = self._question(feature, values[values <= threshold], missing.any() and goes_left is not is_category)
        yes, no = (above, below) if is_category else (below, above)
        return TreeNode(len(members), low, middle, high, best, question, yes, no)

    def _question(self, feature: Feature, below: Array, or_not_asked: bool) -> str:
        about = title_of(self.attributes.columns[feature.column].key)
        answer = f"= {option_words(feature.category[0])}" if feature.category is not None else f"\u2264 {below.max():g}"
        return f"{about} {answer}{' or not asked' if or_not_asked else ''}"

    def _of(self, name: str, number: int) -> float:
        return float(getattr(self.tree, name)[number])
