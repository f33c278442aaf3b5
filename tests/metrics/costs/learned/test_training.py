"""Training follows the slope of the loss, models are files of numbers, and anything else is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.errors import InputError
from metrics.costs.agreement import rank_correlation
from metrics.costs.learned.ensemble import cautious, parts, predicted_plans, train_members
from metrics.costs.learned.file import Trained, Training, model_text, read_model
from metrics.costs.learned.formula import COEFFICIENTS, terms
from metrics.costs.learned.names import FEATURES
from metrics.costs.learned.network import COUNTS, FIXED, Weights, untrained
from metrics.costs.learned.training import Batch, constants, loss, predicted, train
from tests.support.paths import ROOT

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
    kinds = rng.integers(0, 4, (6, COUNTS)).astype(float)
    return Batch(f"{seed}", kinds, rng.integers(0, 6, len(rows)), rows, terms(rows, 4), kernel, plan, kernel_ms,
                 np.bincount(plan, kernel_ms).astype(float))


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


def test_members_learn_from_different_parts_and_all_data_are_used() -> None:
    found = parts([*"abcdefghi", "b"], 4)
    assert all(known | ending == set(range(10)) and not known & ending for known, ending in found)
    assert set().union(*(ending for _, ending in found)) == set(range(10))
    assert sum(len(ending) for _, ending in found) == 10
    assert all(not {1, 9} & known or not {1, 9} & ending for known, ending in found), "b was measured on two devices"


def test_caution_is_no_matter_where_members_agree() -> None:
    agreed, apart = [3.0, 3.0], [1.0, 4.0]
    each = np.array([agreed, apart]).T
    assert cautious(each, 0.0) == pytest.approx([3.0, 2.0])  # the geometric mean
    assert cautious(each, 1.0) == pytest.approx([3.0, 4.0])  # ln 1 and ln 4 are ln 2 away from their mean
    assert cautious(each, 2.0) == pytest.approx([3.0, 8.0])


def test_an_ensemble_learns_and_is_the_same_again() -> None:
    known, unknown = [batch(seed) for seed in range(4)], batch(9)

    def judged(weights: Weights, ending: frozenset[int]) -> float:
        return sum(loss(weights, known[k])[0] for k in ending)

    members = train_members(known, 30, 0, 2, judged)
    again = train_members(known, 30, 0, 2, judged)
    assert all((one[name] == other[name]).all() for one, other in zip(members, again, strict=True) for name in one)
    assert not np.array_equal(members[0]["trunk"], members[1]["trunk"])
    assert rank_correlation([*predicted_plans(members, 1.0, unknown)], [*unknown.plan_ms]) > 0.6
    careless, careful = (predicted_plans(members, caution, unknown) for caution in (0.0, 1.0))
    assert (careful > careless).all()


def model() -> Trained:
    one = batch(0, 4)
    weights: Weights = untrained(one.features, constants([one]), np.random.default_rng(1))
    other: Weights = untrained(one.features, constants([one]), np.random.default_rng(2))
    return Trained(Training("cpu", "A CPU", 10, 2, 3, "python -m train"), (weights, other), 0.5)


def write_model(file: Path, trained: Trained) -> None:
    file.write_text(model_text(trained), encoding="utf-8")


def test_a_model_is_there_again(tmp_path: Path) -> None:
    file, wrote = tmp_path / "model.json", model()
    write_model(file, wrote)
    read = read_model(file)
    assert read.training == wrote.training
    assert model_text(read) == file.read_text(encoding="utf-8")
    assert read.caution == 0.5
    for one, other in zip(read.members, wrote.members, strict=True):
        assert all(one[name] == pytest.approx(value, rel=1e-5, abs=1e-12) for name, value in other.items())


def one_of(data: Any, **weights: object) -> None:
    data["members"][1].update({name.replace("_", " "): value for name, value in weights.items()})


@pytest.mark.parametrize(("damage", "message"), [
    (lambda data: data.update(format=1), "`format` is not 3"),
    (lambda data: data.update(features=["a"]), "`features` are not those"),
    (lambda data: data.update(plans="many"), "`plans` is missing or no int"),
    (lambda data: data.update(caution=-1.0), "`caution` is not a number between 0 and 10"),
    (lambda data: data.update(caution=float("nan")), "`caution` is not a number between 0 and 10"),
    (lambda data: data.update(caution=True), "`caution` is not a number between 0 and 10"),
    (lambda data: data.update(members=[]), "`members` are not 1 to 64"),
    (lambda data: data.update(members=data["members"] * 40), "`members` are not 1 to 64"),
    (lambda data: data.update(members=[[1.0]]), "the weights of `members` are not those"),
    (lambda data: data["members"][0].pop("trunk"), "the weights of `members` are not those"),
    (lambda data: one_of(data, trunk=[[1.0]]), "`trunk` of `members` are not 32 x 30 numbers"),
    (lambda data: one_of(data, trunk_bias=["a"] * 30), "`trunk bias` of `members` are not 30 numbers"),
    (lambda data: one_of(data, mean=[float("nan")] * WIDTH), f"`mean` of `members` are not {WIDTH} numbers"),
    (lambda data: one_of(data, scale=[-1.0] * 30), "negative"),
    (lambda data: one_of(data, mean=[10**400] * WIDTH), f"`mean` of `members` are not {WIDTH} numbers"),
    (lambda data: one_of(data, mean=["1"] * WIDTH), f"`mean` of `members` are not {WIDTH} numbers"),
    (lambda data: one_of(data, mean=[True] * WIDTH), f"`mean` of `members` are not {WIDTH} numbers"),
    (lambda data: one_of(data, limit=[0.0]), "`limit` of `members` is not positive"),
    (lambda data: one_of(data, spread=[0.0] * WIDTH), "`spread` of `members` has numbers below"),
    (lambda data: one_of(data, scale=[1e308] * 30), "`scale` of `members` has numbers beyond"),
    (lambda data: one_of(data, trunk_bias=[1e308] * 30), "`trunk bias` of `members` has numbers beyond"),
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
    for text in ("", "[]", "{" * 5000, '{"format": 2}', '{"format": 3}'):
        (tmp_path / "a.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="is not a model"):
            read_model(tmp_path / "a.json")


def test_a_model_that_is_only_used_takes_no_scipy() -> None:
    """Importing it takes as long as all the rest of models, in every command that tunes or explains."""
    script = "import sys, metrics.costs.models; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
