"""The network that gives each stage the coefficients of the formula, forward and backward, in numpy.

The paper's sizes: 280 counts to 8 channels with positive bounded weights (a sigmoid), the schedule features to 24
channels, both to 32 channels. Deviations: counts go through ln(1 + x), too; features are standardised; a coefficient is
exp(channel) times a scale, the constant that fits best without any network, instead of a rectified channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.costs.learned.formula import COEFFICIENTS
from metrics.costs.learned.names import FEATURES

COUNTS = 280
OF_COUNTS, OF_FEATURES = 8, 24
SHAPES: Mapping[str, tuple[int, ...]] = {
    "counts": (COUNTS, OF_COUNTS), "counts bias": (OF_COUNTS,), "features": (len(FEATURES), OF_FEATURES),
    "features bias": (OF_FEATURES,), "trunk": (OF_COUNTS + OF_FEATURES, COEFFICIENTS), "trunk bias": (COEFFICIENTS,),
    "mean": (len(FEATURES),), "spread": (len(FEATURES),), "scale": (COEFFICIENTS,), "limit": (1,)}  # fmt: skip
FIXED = ("mean", "spread", "scale", "limit")
"""Set once; the others are trained."""
LARGEST = 8.0
"""The limit of a channel: coefficients are within e^8 of their scale."""
LIMIT = 3.0
"""The limit of a standardised feature: a network knows nothing of values far from those of its training."""
Array = NDArray[np.float64]
Kinds = NDArray[np.intp]
Weights = dict[str, Array]


def untrained(features: Array, scale: Array, rng: np.random.Generator) -> Weights:
    """Return small random weights around the constants `scale`; `features` are rows to standardise by."""
    seen = np.log1p(features)
    made = {name: rng.uniform(-0.5, 0.5, shape) / np.sqrt(shape[0]) for name, shape in SHAPES.items()}
    made["trunk"] *= 0.1
    for name in ("counts bias", "features bias", "trunk bias"):
        made[name] = np.zeros(SHAPES[name])
    return {**made, "mean": seen.mean(axis=0), "spread": np.maximum(seen.std(axis=0), 0.05), "scale": scale,
            "limit": np.array([LIMIT])}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Forward:
    """The values of a forward pass for some rows, kept for the backward pass. `counts`: of each kind of row."""

    counts: Array
    kind: Kinds
    features: Array
    weight: Array
    hidden: Array
    before: Array
    coefficients: Array


def forward(weights: Weights, counts: Array, kind: Kinds, features: Array) -> Forward:
    """Return the coefficients of rows of schedule features; `kind`: the row of `counts` that belongs to each of them.

    Rows of one stage have the same counts, whose part of the network is computed once.
    """
    return forward_logarithms(weights, np.log1p(counts), kind, np.log1p(features))


def forward_logarithms(weights: Weights, seen: Array, kind: Kinds, features: Array) -> Forward:
    """Return the same of ln(1 + x) of counts and features, which several networks share."""
    standard = np.clip((features - weights["mean"]) / weights["spread"], -weights["limit"], weights["limit"])
    weight = 1.0 / (1.0 + np.exp(-weights["counts"]))
    first = (seen @ weight / 8.0 + weights["counts bias"])[kind]
    second = standard @ weights["features"] + weights["features bias"]
    before = np.concatenate([first, second], axis=1)
    hidden = np.concatenate([first, np.maximum(second, 0.0)], axis=1)
    channel = np.clip(hidden @ weights["trunk"] + weights["trunk bias"], -LARGEST, LARGEST)
    return Forward(seen, kind, standard, weight, hidden, before, np.exp(channel) * weights["scale"])


def backward(weights: Weights, made: Forward, slope: Array) -> Weights:
    """Return the gradient by the weights from that by the coefficients (rows x coefficients)."""
    channel = slope * made.coefficients  # the derivative of an exponential is itself
    found: Weights = {"trunk": made.hidden.T @ channel, "trunk bias": channel.sum(axis=0)}
    hidden = channel @ weights["trunk"].T
    first, second = hidden[:, :OF_COUNTS], hidden[:, OF_COUNTS:] * (made.before[:, OF_COUNTS:] > 0)
    of_kind = np.stack([np.bincount(made.kind, one, len(made.counts)) for one in first.T], axis=1)
    found["counts"] = made.counts.T @ of_kind / 8.0 * made.weight * (1.0 - made.weight)
    found["counts bias"] = first.sum(axis=0)
    found["features"] = made.features.T @ second
    found["features bias"] = second.sum(axis=0)
    return found
