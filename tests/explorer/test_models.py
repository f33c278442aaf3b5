"""What guides the colony beside its trails: the Gaussian process, the screening, the regression tree, the metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from explorer.attributes import Attributes
from explorer.desirability import MetricDesirability
from explorer.experience import Experience
from explorer.gaussian_process import WEIGHTS, GaussianProcess, _misfit, coordinates
from explorer.screening import Screen, expected_improvement
from explorer.threads import one_thread
from explorer.tree_filter import FilterTree, Split, SplitFilter
from graph.knowledge import Measured
from graph.node import Node
from graph.policies import first
from graph.space import Decision, Option
from graph.walk import Choice, Walk
from tests.support.spaces import plan_of


def walk(**options: Option) -> Walk:
    """A walk that took these options."""
    choices = tuple(Choice(Decision(name), option) for name, option in options.items())
    return Walk(choices, plan_of([abs(hash(choices)) % 10**9]))


def table_of(walks: Sequence[Walk]) -> tuple[Attributes, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    attributes = Attributes()
    rows = [attributes.row(w) for w in walks]
    return attributes, attributes.table(rows)


def test_distances_are_those_the_kernel_wants() -> None:
    walks = [walk(size=1, kind="a"), walk(size=4, kind="b"), walk(size=16, kind="a", late=3), walk(kind="a")]
    points = coordinates(*table_of(walks)).points
    apart = np.abs(points[:, None] - points[None]).sum(axis=2)
    assert apart[0, 1] == pytest.approx(0.5 + 1)  # 1 to 4 is half of 1 to 16 on a logarithmic scale
    assert apart[0, 2] == pytest.approx(1 + 1)  # `late` is missing in one of them
    assert apart[0, 3] == pytest.approx(1)  # `size` is


def test_numbers_and_names_under_one_decision_are_two_attributes() -> None:
    attributes, table = table_of([walk(size=1), walk(size="all"), walk(size=2)])
    assert [attribute.categories for attribute in attributes.columns] == [None, {"all": 0}]
    assert np.isnan(table).tolist() == [[False, True], [True, False], [False, True]]


def test_the_posterior_is_that_of_scikit_learn() -> None:
    """On one numeric attribute the kernel is the Matern kernel of order 1/2."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern, WhiteKernel

    rng = np.random.default_rng(1)
    sizes = [2.0**k for k in range(9)]
    attributes, table = table_of([walk(size=size) for size in sizes])
    points = coordinates(attributes, table)
    order = rng.permutation(9)
    known, asked = points.points[order[:3]], points.points[order[3:]]
    targets = np.array([-1.0, 0.2, 0.8])
    process = GaussianProcess()
    process.fit(type(points)(known, points.owner), targets, 1)  # too few to tune: the prior's weight and noise
    found = process.posterior(type(points)(asked, points.owner))
    kernel = Matern(1 / WEIGHTS, "fixed", 0.5) + WhiteKernel(0.01, "fixed")
    oracle = GaussianProcessRegressor(kernel).fit(known, targets)
    mean, deviation = oracle.predict(asked, return_std=True)
    assert found.mean == pytest.approx(mean)
    root = np.linalg.cholesky(oracle.kernel_(known))
    scale = float(np.square(np.linalg.solve(root, targets)).mean())
    without_noise = np.sqrt(deviation**2 - 0.01)
    assert found.deviation() == pytest.approx(without_noise * np.sqrt(scale))


def test_a_pick_takes_the_variance_that_its_measurement_would() -> None:
    attributes, table = table_of([walk(x=x, y=y) for x in (1, 2, 4, 8) for y in (1, 2, 4)])
    points = coordinates(attributes, table)
    targets = np.array([1.0, -1.0])  # too few to tune
    process = GaussianProcess()
    process.fit(points.part(slice(0, 2)), targets, 2)
    believed = process.posterior(points.part(slice(2, None)))
    believed.measure(4)
    measured = GaussianProcess()
    chosen = type(points)(points.points[[0, 1, 6]], points.owner)
    measured.fit(chosen, np.append(targets, believed.mean[4]), 2)
    ratio = measured.posterior(points.part(slice(2, None)))
    assert believed.deviation() / np.sqrt(believed.scale) == pytest.approx(
        ratio.deviation() / np.sqrt(ratio.scale), rel=1e-6)


def test_the_gradient_of_the_misfit() -> None:
    from scipy.optimize import approx_fprime

    rng = np.random.default_rng(2)
    coordinates_ = rng.random((12, 3))
    distances = np.abs(coordinates_.T[:, :, None] - coordinates_.T[:, None, :])
    targets = rng.standard_normal(12)
    at = np.array([0.3, -0.5, 1.0, -3.0])
    numeric = approx_fprime(at, lambda p: _misfit(p, distances, targets, 2.0)[0], 1e-6)
    assert _misfit(at, distances, targets, 2.0)[1] == pytest.approx(numeric, abs=1e-4)


def test_tuning_finds_out_which_decision_matters() -> None:
    rng = np.random.default_rng(3)
    walks = [walk(matters=int(a), idle=int(b)) for a, b in 2 ** rng.integers(0, 7, size=(60, 2))]
    attributes, table = table_of(walks)
    targets = np.log2(table[:, 0]) - 3.0
    process = GaussianProcess()
    process.fit(coordinates(attributes, table), targets / targets.std(), 2)
    assert process.weights[0] > 5 * process.weights[1]


def test_expected_improvement_against_sampling() -> None:
    samples = np.random.default_rng(4).normal(1.0, 2.0, 400_000)
    expected = np.maximum(0.0, 0.5 - samples).mean()
    assert expected_improvement(0.5, np.array([1.0]), np.array([2.0]))[0] == pytest.approx(expected, rel=0.01)


def test_the_screen_prefers_what_resembles_fast_walks_and_spreads_a_batch() -> None:
    experience = Experience()
    for x in (1, 2, 4, 8, 16, 32):
        for y in (1, 8, 64):
            experience.learn(walk(x=x, y=y), float(x))
    candidates = [walk(x=x, y=y) for x in (1, 32) for y in (2, 4, 16)]
    picked = Screen(experience).pick(candidates, 3)
    assert {w.choices[0].option for w in picked} == {1}
    assert len({w.choices[1].option for w in picked}) == 3


def test_without_measurements_the_picks_are_spread() -> None:
    candidates = [walk(x=x) for x in (*range(100, 120), 1, 10_000)]
    picked = Screen(Experience()).pick(candidates, 3)
    assert {1, 10_000} <= {w.choices[0].option for w in picked}


def test_failures_count_like_the_slowest_walk() -> None:
    experience = Experience()
    for x in (1, 2, 4, 8, 16, 32, 64, 128):
        experience.learn(walk(x=x, y=1), None if x > 8 else 2.0 - 0.1 * x)
    [picked] = Screen(experience).pick([walk(x=x, y=2) for x in (6, 100)], 1)
    assert picked.choices[0].option == 6


def grown(costs: dict[Walk, float]) -> FilterTree:
    experience = Experience()
    for w, cost in costs.items():
        experience.learn(w, cost)
    return FilterTree(experience.attributes, *experience.successes(1000), 0.15)


def test_the_best_leaf_blocks_what_contradicts_it() -> None:
    tree = grown({walk(size=size, kind=kind): size + (10 if kind == "a" else 0)
                  for size in (1, 2, 8, 16) for kind in ("a", "b")})
    sizes, kinds = Node(Decision("size"), (1, 2, 8, 16)), Node(Decision("kind"), ("a", "b"))
    seen: list[list[Option]] = []

    def spy(node: Node, allowed: np.ndarray[tuple[int], np.dtype[np.intp]]) -> int:
        seen.append([node.options[index] for index in allowed])
        return int(allowed[0])

    policy = SplitFilter().filtered(tree.best_leaf, spy)
    policy(sizes, sizes.allowed)
    policy(kinds, kinds.allowed)
    assert seen == [[1, 2], ["b"]]  # a leaf of two walks is not split


def test_where_nothing_would_be_left_the_deepest_split_gives_way() -> None:
    node = Node(Decision("size"), (1, 2, 8, 16))
    key = ("size", ())
    splits = [Split(key, 4.0, None, low=False), Split(key, 12.0, None, low=True), Split(key, 9.0, None, low=False)]
    assert node.options[SplitFilter().filtered(splits, first)(node, node.allowed)] == 8


def test_a_decision_that_a_walk_never_met_is_a_missing_value() -> None:
    costs = {walk(a=a): 10.0 for a in (1, 2)} | {walk(a=3, b=b): float(b) for b in (1, 2, 4)}
    tree = grown(costs)
    assert {split.key[0] for split in tree.best_leaf} <= {"a", "b"}
    assert all(split.permits([1], np.ones(1)).all() for split in tree.best_leaf if split.key[0] == "b")


def test_drawn_leaves_favour_fast_walks() -> None:
    tree = grown({walk(size=size): 1.0 if size == 1 else 100.0 + size for size in range(1, 9)})
    draws = [tree.drawn(np.random.default_rng(seed)) for seed in range(300)]
    fast = sum(all(split.permits([1], np.ones(1)).all() for split in splits) for splits in draws)
    assert fast > 300 / 8


def test_equation_6() -> None:
    node = Node(Decision("shared", ("S0",)), (False, True, 2))
    for occupancy in (0.2, 0.4, 0.6):
        node.edge(0).record(Measured(1.0), Measured(1.0, {"occupancy": occupancy}))
    node.edge(1).record(Measured(1.0), Measured(1.0, {"occupancy": 1.0}))
    eta = MetricDesirability()
    eta.improved(Measured(1.0, {"occupancy": 0.1}), {("S0",): Measured(1.0, {"occupancy": 0.7})})
    assert eta.level(node) == pytest.approx([1 + (0.4 - 0.7) / (0.2 + 1), 1.0, 1.0])


def test_models_compute_in_one_thread() -> None:
    """SciPy has a BLAS of its own, which is loaded when a model first computes."""
    def threads() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    with threadpool_limits(2):
        with one_thread():
            assert len(threads()) >= 2 and set(threads()) == {1}
        assert set(threads()) == {2}
