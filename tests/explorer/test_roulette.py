"""What explorers remember to be quicker changes nothing: draws, splits, covariances and tables are as if made anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from explorer.attributes import Array, Attributes
from explorer.gaussian_process import Coordinates, GaussianProcess
from explorer.roulette import Roulette
from explorer.tree_filter import Split, SplitFilter
from graph.node import Node
from graph.space import Decision


def weights_of(node: Node, allowed: NDArray[np.intp]) -> Array:
    """Made up; ties among them."""
    return np.asarray(1.0 + np.arange(len(node.options), dtype=np.float64)[allowed] % 7)


@pytest.mark.parametrize("size", [1, 2, 20, 64, 65, 1000])
@pytest.mark.parametrize("greed", [0.0, 0.5])
def test_draws_are_those_of_the_definition(size: int, greed: float) -> None:
    node, roulette = Node(Decision("d"), tuple(range(size))), Roulette()
    parts = [node.allowed, node.allowed[: (size + 1) // 2], node.allowed[::2]]
    ours, plain = np.random.default_rng(1), np.random.default_rng(1)
    for number in range(200):
        allowed = parts[number % 3]
        drawn = roulette.draw(node, allowed, weights_of, ours, greed)
        weights = weights_of(node, allowed)
        if greed and plain.random() < greed:
            strongest = allowed[weights == weights.max()]
            assert drawn == strongest[plain.integers(strongest.size)]
        else:
            assert (
                drawn
                == allowed[np.searchsorted(np.cumsum(weights), plain.random() * np.cumsum(weights)[-1], side="right")]
            )


def test_weights_count_until_they_are_forgotten() -> None:
    node, roulette, rng = Node(Decision("d"), ("a", "b")), Roulette(), np.random.default_rng(0)
    heavy = [1e9, 1.0]

    def draw() -> int:
        return roulette.draw(node, node.allowed, lambda _, allowed: np.array(heavy)[allowed], rng, 0.0)

    assert draw() == 0
    heavy.reverse()
    assert draw() == 0
    roulette.forget()
    assert draw() == 1


def test_an_option_that_was_pruned_meanwhile_is_not_drawn() -> None:
    node, roulette, rng = Node(Decision("d"), (0, 1, 2)), Roulette(), np.random.default_rng(0)
    assert {roulette.draw(node, node.allowed, weights_of, rng, 0.0) for _ in range(50)} == {0, 1, 2}
    node.prune(1)
    assert {roulette.draw(node, node.allowed, weights_of, rng, 0.0) for _ in range(50)} == {0, 2}


def left_by(splits: SplitFilter, some: Sequence[Split], node: Node) -> list[int]:
    """The options that a policy may still choose among."""
    seen: list[int] = []

    def spy(_: Node, allowed: NDArray[np.intp]) -> int:
        seen.extend(allowed.tolist())
        return int(allowed[0])

    splits.filtered(some, spy)(node, node.allowed)
    return seen


def test_splits_leave_the_same_whether_they_were_met_before_or_not() -> None:
    node, known = Node(Decision("size"), tuple(range(20))), SplitFilter()
    rng = np.random.default_rng(3)
    splits = [Split(("size", ()), float(threshold), None, low=bool(threshold % 2)) for threshold in range(20)]
    for _ in range(300):
        some = [splits[place] for place in rng.permutation(20)[: rng.integers(4)]]
        if rng.random() < 0.02:
            node.prune(int(node.allowed[rng.integers(node.allowed.size)]))
        assert left_by(known, some, node) == left_by(SplitFilter(), some, node) != []


def test_measuring_candidates_leaves_what_conditioning_on_them_leaves() -> None:
    """Against the definition: the covariance of the candidates, given the data and those that were measured."""
    from scipy.spatial.distance import cdist

    rng = np.random.default_rng(4)
    points = Coordinates(rng.random((60, 5)), np.arange(5))
    process = GaussianProcess()
    process.fit(points.part(slice(0, 20)), rng.standard_normal(20), 5)
    posterior = process.posterior(points.part(slice(20, None)))
    measured = [int(place) for place in rng.permutation(40)[:30]]  # more than there is room for at first
    for candidate in measured:
        posterior.measure(candidate)
    kernel = np.exp(-cdist(points.weighted(process.weights), points.weighted(process.weights), "cityblock"))
    data = [*range(20), *(20 + candidate for candidate in measured)]
    inverse = np.linalg.inv(kernel[np.ix_(data, data)] + posterior.noise * np.eye(len(data)))
    left = kernel[20:, 20:] - kernel[20:, data] @ inverse @ kernel[data, 20:]
    first, second = (grid.ravel() for grid in np.meshgrid(np.arange(40), np.arange(40)))
    assert posterior.covariance(first, second) == pytest.approx(posterior.scale * left.ravel(), abs=1e-9)
    assert posterior.deviation() == pytest.approx(np.sqrt(posterior.scale * np.diag(left)), abs=1e-9)


def test_a_table_has_each_value_in_its_column() -> None:
    attributes, rng = Attributes(), np.random.default_rng(5)
    rows = [attributes.values([((f"d{d}", ()), int(rng.integers(9))) for d in rng.permutation(12)[: rng.integers(12)]])
            for _ in range(30)]
    table = attributes.table(rows)
    assert table.shape == (30, len(attributes.columns))
    for line, row in zip(table, rows, strict=True):
        assert {int(column): line[column] for column in np.flatnonzero(~np.isnan(line))} == row
