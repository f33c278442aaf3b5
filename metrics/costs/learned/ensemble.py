"""An ensemble of networks that is cautious where its members disagree.

A search with a model finds the plans that the model judges too favourably. Networks that were trained on different
parts of the data agree about kernels like those of their training, and disagree about others (Lakshminarayanan, Pritzel
& Blundell, "Simple and Scalable Predictive Uncertainty Estimation using Deep Ensembles", 2017). The cost of a kernel is

    exp(mean of ln(ms) + caution * standard deviation of ln(ms))    over the members
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from metrics.costs.learned.network import Array, Weights
from metrics.costs.learned.training import Batch, predicted_kernels, train

MEMBERS = 4
CAUTION = 1.0
"""Assumed, not fitted: held-out random pipelines prefer none by a little, but contain few plans that a search found."""
Tell = Callable[[int, int, float], None]


def cautious(each: Array, caution: float) -> Array:
    """Return the cost of each kernel, from the milliseconds that each member predicts (members x kernels)."""
    logarithms = np.log(each)
    found: Array = np.exp(logarithms.mean(axis=0) + caution * logarithms.std(axis=0))
    return found


def predicted_plans(members: Sequence[Weights], caution: float, batch: Batch) -> Array:
    """Return milliseconds of the plans of a batch."""
    return batch.by_plan(cautious(np.array([predicted_kernels(weights, batch) for weights in members]), caution))


def parts(names: Sequence[str], members: int) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
    """Return, for each member, the batches that it learns from, and the others, which end its training: those of every
    `members`-th pipeline. `names`: the pipeline of each batch.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple((frozenset(k for k, name in enumerate(names) if numbers[name] % members != member),
                  frozenset(k for k, name in enumerate(names) if numbers[name] % members == member))
                 for member in range(members))


def train_members(batches: Sequence[Batch], epochs: int, seed: int, members: int,
                  judged: Callable[[Weights, frozenset[int]], float],
                  tell: Tell = lambda _member, _epoch, _loss: None) -> tuple[Weights, ...]:
    """Return the trained members. `judged` rates weights on batches by their numbers, lower is better."""
    found = []
    for member, (known, ending) in enumerate(parts([one.name for one in batches], members)):

        def rated(weights: Weights, ending: frozenset[int] = ending) -> float:
            return judged(weights, ending)

        def said(epoch: int, loss: float, member: int = member) -> None:
            tell(member, epoch, loss)

        rng = np.random.default_rng((seed, member))
        found.append(train([batches[k] for k in sorted(known)], epochs, rng, None, said, rated))
    return tuple(found)
