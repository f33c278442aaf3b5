"""Training follows the slope of the loss, models are files of numbers, and anything else is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.errors import InputError
from metrics.costs.agreement import rank_correlation
from metrics.costs.learned.file import Trained, Training, model_text, read_model
from metrics.costs.learned.formula import COEFFICIENTS, terms
from metrics.costs.learned.names import FEATURES
from metrics.costs.learned.network import COUNTS, FIXED, Weights, untrained
from metrics.costs.learned.training import Batch, constants, loss, predicted, train

WIDTH = len(FEATURES)


def features(rng: np.random.Generator, rows: int) -> Any:
    """Rows as if of stages with loops, of all sizes."""
    found = np.exp(rng.uniform(0.0, 8.0, (rows, len(FEATURES))))
    for name in ("idle_lane_wastage", "global_mem_load_efficiency", "global_mem_store_efficiency"):
        found[:, FEATURES.index(name)] = rng.uniform(0.1, 0.9, rows)
    found[:, FEATURES.index("inlined_calls")] *= rng.random(rows) < 0.3
    return found


def batch(seed: int, plans: int = 20) -> Batch:
    """Two kernels of two stages per plan; stages take as long as their points, more where working sets are large."""
    rng = np.random.default_rng(seed)
    rows = features(rng, 4 * plans)
    scalars, held = (rows[:, FEATURES.index(name)] for name in ("num_scalars", "working_set"))
    kernel = np.repeat(np.arange(2 * plans), 2)
    kernel_ms = np.bincount(kernel, 1e-3 * scalars * (1.0 + 3.0 * (held > 50.0))).astype(float)
    plan = np.repeat(np.arange(plans), 2)
    return Batch(f"{seed}", rng.integers(0, 4, (len(rows), COUNTS)).astype(float), rows, terms(rows, 4), kernel, plan,
                 kernel_ms, np.bincount(plan, kernel_ms).astype(float))


def test_the_gradient_is_that_of_the_loss() -> None:
    one, rng = batch(0, 6), np.random.default_rng(1)
    weights = untrained(one.features, constants([one]), rng)
    _, slope = loss(weights, one)
    assert set(slope) == set(weights) - set(FIXED)
    for name, gradient in slope.items():
        direction = rng.normal(size=gradient.shape)
        ends = [loss({**weights, name: weights[name] + step * direction}, one)[0] for step in (1e-6, -1e-6)]
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(float((gradient * direction).sum()), rel=1e-3, abs=1e-6)


def test_training_returns_the_weights_that_are_judged_best() -> None:
    known, seen = [batch(seed) for seed in range(2)], list[Weights]()

    def judged(weights: Weights) -> float:
        seen.append(dict(weights))
        return abs(len(seen) - 4.0)

    best = train(known, 6, np.random.default_rng(0), judged=judged)
    assert len(seen) == 7  # before any epoch, and after each
    assert all((best[name] == value).all() for name, value in seen[3].items())


def test_a_slow_machine_does_not_matter_much() -> None:
    one, rng = batch(0), np.random.default_rng(1)
    slow = replace(one, kernel_ms=3.0 * one.kernel_ms, plan_ms=3.0 * one.plan_ms)
    fitted = untrained(one.features, constants([one]), rng)
    off = abs(loss(fitted, slow)[0] - loss(fitted, one)[0])
    assert 0.0 < off < 0.1 * np.log(3.0) ** 2


def test_training_learns_what_constants_cannot_say() -> None:
    known, unknown = [batch(seed) for seed in range(4)], batch(9)
    start = untrained(known[0].features, constants(known), np.random.default_rng(0))
    before = sum(loss(start, one)[0] for one in known)
    weights = train(known, 60, np.random.default_rng(0))
    assert sum(loss(weights, one)[0] for one in known) < 0.5 * before
    assert rank_correlation([*predicted(weights, unknown)], [*unknown.plan_ms]) > 0.7
    again = train(known, 60, np.random.default_rng(0))
    assert all((weights[name] == again[name]).all() for name in weights)


def test_terms_of_loops_and_of_what_is_inlined_are_apart() -> None:
    rows = features(np.random.default_rng(0), 50)
    found = terms(rows, 4)
    assert found.shape == (50, COEFFICIENTS)
    assert (found >= 0).all()
    inlined = rows[:, FEATURES.index("inlined_calls")] > 0
    assert (found[inlined][:, [1, 19]] == 0).all() and (found[inlined][:, [3, 4]] > 0).all()
    assert (found[~inlined][:, [1, 19]] > 0).all() and (found[~inlined][:, [3, 4]] == 0).all()
    twice = rows.copy()
    twice[:, FEATURES.index("num_realizations")] *= 2.0
    assert terms(twice, 4)[:, 24] == pytest.approx(2.0 * found[:, 24])


def model() -> Trained:
    one = batch(0, 4)
    weights: Weights = untrained(one.features, constants([one]), np.random.default_rng(1))
    return Trained(Training("cpu", "A CPU", 10, 2, 3, "python -m train"), weights)


def write_model(file: Path, trained: Trained) -> None:
    file.write_text(model_text(trained), encoding="utf-8")


def test_a_model_is_there_again(tmp_path: Path) -> None:
    file, wrote = tmp_path / "model.json", model()
    write_model(file, wrote)
    read = read_model(file)
    assert read.training == wrote.training
    assert model_text(read) == file.read_text(encoding="utf-8")
    assert all(read.weights[name] == pytest.approx(value, rel=1e-5, abs=1e-12) for name, value in wrote.weights.items())


@pytest.mark.parametrize(("damage", "message"), [
    (lambda data: data.update(format=2), "`format` is not 1"),
    (lambda data: data.update(features=["a"]), "`features` are not those"),
    (lambda data: data.update(plans="many"), "`plans` is missing or no int"),
    (lambda data: data["weights"].pop("trunk"), "`weights` are not those"),
    (lambda data: data["weights"].update(trunk=[[1.0]]), "`weights.trunk` are not 32 x 30 numbers"),
    (lambda data: data["weights"].update({"trunk bias": ["a"] * 30}), "`weights.trunk bias` are not 30 numbers"),
    (lambda data: data["weights"].update(mean=[float("nan")] * WIDTH), "`weights.mean` are not 79 numbers"),
    (lambda data: data["weights"].update(scale=[-1.0] * 30), "negative"),
    (lambda data: data["weights"].update(mean=[10**400] * WIDTH), "`weights.mean` are not 79 numbers"),
    (lambda data: data["weights"].update(mean=["1"] * WIDTH), "`weights.mean` are not 79 numbers"),
    (lambda data: data["weights"].update(mean=[True] * WIDTH), "`weights.mean` are not 79 numbers"),
    (lambda data: data["weights"].update(spread=[0.0] * WIDTH), "`weights.spread` has numbers below"),
    (lambda data: data["weights"].update(scale=[1e308] * 30), "`weights.scale` has numbers beyond"),
    (lambda data: data["weights"].update({"trunk bias": [1e308] * 30}), "`weights.trunk bias` has numbers beyond"),
    (lambda data: data.update(plans=10**400), "`plans` is not between"),
    (lambda data: data.update(command="x" * (1 << 24)), "more than 16 MiB"),
])
def test_a_damaged_model_is_refused(tmp_path: Path, damage: Callable[[Any], object], message: str) -> None:
    file = tmp_path / "model.json"
    write_model(file, model())
    data = json.loads(file.read_text(encoding="utf-8"))
    damage(data)
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_model(file)


def test_other_files_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_model(tmp_path / "nothing")
    for text in ("", "[]", "{" * 5000, '{"format": 1}'):
        (tmp_path / "a.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="is not a model"):
            read_model(tmp_path / "a.json")
