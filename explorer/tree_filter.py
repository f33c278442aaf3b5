"""A regression tree over the measured walks that keeps ants in promising parts of the space.

Papenhausen & Mueller, "Coding Ants" (2018), section 6.3. Before each iteration, a tree is fitted to the logarithms of
the measured times (failures are left out). Splits minimise the variance; a node of two walks is not split. An ant first
walks down the tree, and the splits on its way block every option that contradicts them. Half of the ants go to the
leaf of the best walk so far. The others draw each branch by the tree's own trails: these start at 1/2, and each
measured walk deposits `deposit` x best time / own time on its way down. They do not evaporate, because every new tree
gets new trails.

Features are decisions (explorer.attributes); categories are one-hot, so that every split can block options. A decision
that a walk did not meet is a missing value. If the splits would block all options of a node, the deepest are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.attributes import Array, Attributes, Key
from explorer.variation import is_number
from graph.node import Node, Policy
from graph.space import Option


@dataclass(frozen=True, slots=True, eq=False)  # hashing by identity is faster
class Split:
    """A branch of a split: a number <= `threshold` if `low`, else above it; or not `category` if `low`, else equal."""

    key: Key
    threshold: float
    category: Option | None
    low: bool

    def permits(self, options: Sequence[Option], numbers: Array) -> NDArray[np.bool_]:
        """Return which of `options` lie on this branch. `numbers`: the same options, NaN for those that are no numbers.
        """
        if self.category is not None:
            return np.array([(option == self.category) is not self.low for option in options])
        return np.asarray(np.isnan(numbers) | ((numbers <= self.threshold) == self.low))


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of the tree's table: a numeric attribute, or whether an attribute has one category."""

    column: int
    category: tuple[Option, int] | None


def import_trees() -> Any:
    """Return scikit-learn's class of regression trees, whose first import takes a second or more."""
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor


class FilterTree:
    """A fitted tree with its trails."""

    def __init__(self, attributes: Attributes, table: Array, costs: Array, deposit: float) -> None:
        """Fit to `costs` (log ms, all finite) of the walks in `table`, at least one. `deposit`: see the module."""
        self._keys = [attribute.key for attribute in attributes.columns]
        self._features = features_of(attributes)
        features = feature_table(table, self._features)
        tree = import_trees()(min_samples_split=3, random_state=0).fit(features, costs)
        grown = tree.tree_
        self._left, self._right = np.array(grown.children_left), np.array(grown.children_right)
        self._feature, self._threshold = np.array(grown.feature), np.array(grown.threshold)
        visited = tree.decision_path(features)
        self._trails = 0.5 + deposit * np.asarray(visited.T @ np.exp(costs.min() - costs))
        self._splits: dict[int, Split] = {}
        way = visited[int(np.argmin(costs))].indices
        self.best_leaf = [self._split(node, int(child)) for node, child in pairwise(way)]
        """The splits above the leaf of the best walk, from the root down."""

    def drawn(self, rng: np.random.Generator) -> list[Split]:
        """Return the splits on a way down that is drawn by the trails, root first."""
        splits: list[Split] = []
        node = 0
        while (left := int(self._left[node])) != -1:
            right = int(self._right[node])
            share = self._trails[left] / (self._trails[left] + self._trails[right])
            child = left if rng.random() < share else right
            splits.append(self._split(node, child))
            node = child
        return splits

    def _split(self, node: int, child: int) -> Split:
        """Return the split that leads to `child`; the same object for the same child."""
        if child not in self._splits:
            self._splits[child] = self._made(node, child)
        return self._splits[child]

    def _made(self, node: int, child: int) -> Split:
        feature = self._features[self._feature[node]]
        category = feature.category[0] if feature.category is not None else None
        return Split(
            self._keys[feature.column], float(self._threshold[node]), category, bool(child == self._left[node])
        )


@dataclass(frozen=True, slots=True)
class _Kept:
    """The allowed options of a node, and those left by some splits."""

    allowed: NDArray[np.intp]
    left: NDArray[np.intp]


@dataclass(slots=True)
class SplitFilter:
    """Makes policies that obey splits; caches which options of a node each split permits, and which several leave."""

    _permitted: dict[tuple[Node, Split], NDArray[np.bool_]] = field(default_factory=dict)
    _kept: dict[tuple[Node, tuple[Split, ...]], _Kept] = field(default_factory=dict)
    _numbers: dict[Node, Array] = field(default_factory=dict)

    def forget(self) -> None:
        """Clear the caches, because a new tree has other splits."""
        self._permitted.clear()
        self._kept.clear()

    def filtered(self, splits: Sequence[Split], policy: Policy) -> Policy:
        """Return `policy` restricted to the options that agree with `splits` (root first).

        If no option agrees with all of them, the deepest splits are ignored.
        """
        by_key: dict[Key, tuple[Split, ...]] = {}
        for split in splits:
            by_key[split.key] = (*by_key.get(split.key, ()), split)

        def choose(node: Node, allowed: NDArray[np.intp]) -> int:
            here = by_key.get((node.decision.name, node.decision.subject))
            return policy(node, self._left(node, here, allowed) if here else allowed)

        return choose

    def _left(self, node: Node, splits: tuple[Split, ...], allowed: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the options of `allowed` that `splits` leave; the same array object for the same `allowed`."""
        known = self._kept.get((node, splits))
        if known is not None and known.allowed is allowed:
            return known.left
        left = allowed
        for split in splits:
            kept = left[self._mask(node, split)[left]]
            if not kept.size:
                break
            left = kept
        self._kept[node, splits] = _Kept(allowed, left)
        return left

    def _mask(self, node: Node, split: Split) -> NDArray[np.bool_]:
        mask = self._permitted.get((node, split))
        if mask is None:
            mask = self._permitted[node, split] = split.permits(node.options, self._numbers_of(node))
        return mask

    def _numbers_of(self, node: Node) -> Array:
        if node not in self._numbers:
            self._numbers[node] = np.array([option if is_number(option) else np.nan for option in node.options],
                                           dtype=np.float64)
        return self._numbers[node]


def features_of(attributes: Attributes) -> list[Feature]:
    """Return the columns of a tree's table: one per numeric attribute, one per category of the others."""
    features: list[Feature] = []
    for column, attribute in enumerate(attributes.columns):
        if column not in attributes.chosen:
            continue  # a split could block nothing
        categories: Mapping[Option, int] = attribute.categories or {}
        features += [Feature(column, entry) for entry in categories.items()]
        if attribute.categories is None:
            features.append(Feature(column, None))
    return features


def feature_table(table: Array, features: Sequence[Feature]) -> Array:
    """Return the table of features of an attribute table, a row per walk. One-hot columns are NaN if the attribute is.
    """
    columns = []
    for feature in features:
        values = table[:, feature.column]
        if feature.category is not None:
            values = np.where(np.isnan(values), np.nan, values == feature.category[1])
        columns.append(values)
    return np.column_stack(columns) if columns else np.zeros((len(table), 1))
