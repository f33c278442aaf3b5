"""Forecasts of walks from the times of their kernels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from explorer.experience import Experience
from explorer.kernel_forecast import FEWEST, KernelForecaster
from explorer.screening import Screen
from generator.plan import Plan
from graph.foretelling import Foreseen
from graph.space import Decision
from graph.walk import Choice, Walk
from tests.support.spaces import plan_of

TILES = (1, 2, 4, 8, 16, 32)
A, B = ("A",), ("B",)


def times(tile_a: int, tile_b: int) -> dict[tuple[str, ...], float]:
    """Kernel A likes 8, kernel B, which takes three times as long, likes 2."""
    return {A: 1.0 + abs(np.log2(tile_a / 8)), B: 3.0 + 3.0 * abs(np.log2(tile_b / 2))}


def apart(tile_a: int, tile_b: int) -> Walk:
    """A walk to two kernels."""
    choices = (
        Choice(Decision("parts", ("A", "B")), 2),
        Choice(Decision("tile", A), tile_a),
        Choice(Decision("tile", B), tile_b),
    )
    return Walk(choices, plan_of([tile_a, tile_b]))


def fused(tile: int) -> Walk:
    """A walk to one kernel with both statements."""
    return Walk((Choice(Decision("parts", ("A", "B")), 1), Choice(Decision("tile", ("A", "B")), tile)), plan_of([tile]))


def learned(*pairs: tuple[int, int]) -> tuple[KernelForecaster, float]:
    """What is known after these pairs of tiles, and the best log ms."""
    forecaster = KernelForecaster()
    for pair in pairs:
        forecaster.learn(apart(*pair), times(*pair))
    return forecaster, min(float(np.log(sum(times(*pair).values()))) for pair in pairs)


DIAGONAL = tuple(zip(TILES, TILES[::-1], strict=True))


def test_kernels_that_were_measured_apart_are_added() -> None:
    forecaster, best = learned(*DIAGONAL)
    pairs = [pair for pair in product(TILES, TILES) if pair not in DIAGONAL]
    forecast = forecaster.forecast(range(len(DIAGONAL)), [apart(*pair) for pair in pairs], best)
    assert forecast is not None
    wanted = np.log([sum(times(*pair).values()) for pair in pairs])
    assert np.abs(forecast.mean - wanted).max() < 0.1  # each kernel was measured, only never with this neighbour
    assert forecast.best == best


def test_the_deviation_is_that_of_the_sum() -> None:
    """Against sums of kernels that are drawn from the process."""
    forecaster, best = learned(*DIAGONAL)
    new = [apart(3, 3), apart(24, 6), apart(8, 2)]
    forecast = forecaster.forecast(range(len(DIAGONAL)), new, best)
    assert forecast is not None
    rng, unit, posterior = np.random.default_rng(0), forecast._unit, forecast._posterior
    for number, group in enumerate(forecast._groups):
        points = np.array(group)
        both = posterior.covariance(np.repeat(points, 2), np.tile(points, 2)).reshape(2, 2)
        logs = np.log([times(*(choice.option for choice in new[number].choices[1:]))[k] for k in (A, B)])  # type: ignore[arg-type]  # options are numbers here
        drawn = rng.multivariate_normal(logs, 0.01 * unit**2 * both, 20_000)  # narrow: the first order is meant
        assert 0.1 * forecast.deviation()[number] == pytest.approx(np.log(np.exp(drawn).sum(axis=1)).std(), rel=0.25)


def test_a_measurement_takes_away_what_is_unsure_about_its_kernels() -> None:
    forecaster, best = learned(*DIAGONAL)
    forecast = forecaster.forecast(range(len(DIAGONAL)), [apart(3, 3), apart(3, 24), apart(24, 24)], best)
    assert forecast is not None
    before = forecast.deviation()
    forecast.measure(0)
    after = forecast.deviation()
    assert after[0] < 0.5 * before[0]
    assert 1 - after[1] / before[1] > 2 * (1 - after[2] / before[2])  # shares a kernel with the measured one


def test_decisions_about_a_group_are_not_taken_for_a_kernels() -> None:
    forecaster, best = learned(*DIAGONAL)
    forecaster.learn(fused(4), {("A", "B"): 20.0})
    forecast = forecaster.forecast(range(len(DIAGONAL) + 1), [apart(8, 2), fused(8)], best)
    assert forecast is not None
    assert [len(group) for group in forecast._groups] == [2, 1]
    assert forecast.mean[0] == pytest.approx(np.log(4), abs=0.1)
    assert forecast.mean[1] > forecast.mean[0] + 1


def test_nothing_is_said_where_kernels_say_nothing() -> None:
    few, best = learned(*DIAGONAL[: FEWEST - 1])
    assert few.forecast(range(FEWEST - 1), [apart(1, 1), apart(2, 2)], best) is None
    single = KernelForecaster()
    for tile in TILES:
        single.learn(fused(tile), {("A", "B"): float(tile)})
    assert single.forecast(range(len(TILES)), [fused(3)], 0.0) is None
    unlike = KernelForecaster()  # a kernel that no decision is about
    for tile in TILES:
        unlike.learn(fused(tile), {("A", "B"): float(tile), ("C",): 1.0})
    assert unlike.forecast(range(len(TILES)), [fused(3)], 0.0) is None


def test_failures_are_passed_over() -> None:
    forecaster, best = learned(*DIAGONAL)
    forecaster.learn(apart(8, 2), {})
    forecast = forecaster.forecast(range(len(DIAGONAL) + 1), [apart(8, 2)], best)
    assert forecast is not None and forecast.mean[0] == pytest.approx(np.log(4), abs=0.1)


def seen(plan: Plan) -> Foreseen:
    """The true costs of the kernels in another unit, and nothing about the program."""
    values = [number - 1 for number in plan.kernels[0].block]
    if len(values) == 1:
        return Foreseen(None, {("A", "B"): float(np.log(7.0 * values[0]))})
    return Foreseen(None, {kernel: float(np.log(7.0 * ms)) for kernel, ms in times(values[0], values[1]).items()})


def lie(plan: Plan) -> Foreseen:
    return Foreseen(None, {kernel: -cost for kernel, cost in seen(plan).kernels.items()})


def test_a_model_that_is_right_tells_about_kernels_that_were_never_measured() -> None:
    forecaster, best = learned(*DIAGONAL)
    new = [apart(512, 2), apart(8, 256), fused(4)]
    known = range(len(DIAGONAL))
    forecast, without = forecaster.forecast(known, new, best, seen), forecaster.forecast(known, new, best)
    assert forecast is not None and without is not None
    wanted = np.log([sum(times(512, 2).values()), sum(times(8, 256).values()), 4.0])
    assert np.abs(forecast.mean - wanted).max() < 0.15
    assert np.abs(without.mean - wanted).max() > 0.4


def test_a_wrong_model_has_no_weight() -> None:
    forecaster, best = learned(*DIAGONAL)
    new = [apart(3, 3), apart(24, 6), apart(8, 2)]
    told, untold = (forecaster.forecast(range(len(DIAGONAL)), new, best, one) for one in (lie, None))
    assert told is not None and untold is not None
    assert told.mean == pytest.approx(untold.mean)


def test_kernels_that_no_model_can_judge_are_forecast_as_without_a_model() -> None:
    """The model only knows kernel A; B's forecast is that of its measurements."""
    forecaster, best = learned(*DIAGONAL)
    pairs = [pair for pair in product(TILES, TILES) if pair not in DIAGONAL]
    forecast = forecaster.forecast(range(len(DIAGONAL)), [apart(*pair) for pair in pairs], best,
                                   lambda plan: Foreseen(None, {A: seen(plan).kernels[A]}))  # fmt: skip
    assert forecast is not None
    assert np.abs(forecast.mean - np.log([sum(times(*pair).values()) for pair in pairs])).max() < 0.1


def test_the_screen_joins_the_fastest_kernels() -> None:
    experience, forecaster = Experience(), KernelForecaster()
    for pair in DIAGONAL:
        experience.learn(apart(*pair), sum(times(*pair).values()))
        forecaster.learn(apart(*pair), times(*pair))
    candidates = [apart(*pair) for pair in product(TILES, TILES) if pair not in DIAGONAL]
    [picked] = Screen(experience, forecaster).pick(candidates, 1)
    assert [choice.option for choice in picked.choices] == [2, 8, 2]


def test_predictions_that_hardly_differ_say_nothing_about_the_slope() -> None:
    """A kernel whose prediction is far from those of the measured ones is not infinitely slow."""
    forecaster, best = learned(*DIAGONAL)
    known, far = range(len(DIAGONAL)), apart(512, 512)

    def nearly_equal(plan: Plan) -> Foreseen:
        costs = seen(plan).kernels
        distance = 1.0 if plan == far.plan else 1e-9
        return Foreseen(None, {kernel: distance * cost for kernel, cost in costs.items()})

    forecast = forecaster.forecast(known, [far, apart(8, 2)], best, nearly_equal)
    assert forecast is not None
    longest = np.log([sum(times(*pair).values()) for pair in DIAGONAL]).max()
    assert np.isfinite(forecast.deviation()).all() and np.abs(forecast.mean).max() < 3 * longest
