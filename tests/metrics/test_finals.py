"""Who wins among variants that were measured in turns, on a machine that drifts, jumps and forgets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.finals import ENOUGH_SITTINGS, TIE, SittingTimes, decided, hopeless, standings
from runners.base import Sitting
from runners.interleaved import MOST_ROUNDS, play

TIMES = st.floats(0.001, 1000)


class Machine:
    """A clock that runs take time on; how long depends on the variant and on the moment (injected noise)."""

    def __init__(self, slowdown: Callable[[float], float]) -> None:
        self.now_s, self.slowdown = 0.0, slowdown

    def run(self, ms: float) -> float:
        took_ms = ms * self.slowdown(self.now_s)
        self.now_s += took_ms / 1000
        return took_ms

    def turns(self, times_ms: Sequence[float]) -> list[Callable[[], float]]:
        return [partial(self.run, ms) for ms in times_ms]

    def sitting(self, times_ms: Sequence[float], number: int, seconds: float = 0.3) -> SittingTimes:
        played = play(self.turns(times_ms), Sitting(1, number, seconds), lambda: self.now_s)
        return dict(enumerate(played))


def drifting(now_s: float) -> float:
    """Slower and slower: whoever is measured first looks fast."""
    return 1 + 0.5 * now_s


def test_a_drift_that_fools_one_measurement_after_the_other_does_not_fool_turns() -> None:
    times_ms = [5.3, 5.2, 5.1, 5.0]
    machine = Machine(drifting)
    one_by_one = [float(np.median([machine.run(ms) for _ in range(40)])) for ms in times_ms]
    assert one_by_one == sorted(one_by_one)  # exactly the wrong order
    machine = Machine(drifting)
    sittings = [machine.sitting(times_ms, number) for number in range(ENOUGH_SITTINGS)]
    assert [entry.number for entry in standings(sittings)] == [3, 2, 1, 0]
    assert standings(sittings)[3].ratio == pytest.approx(5.3 / 5.0, rel=0.01)
    assert decided(sittings)


def test_bursts_of_load_hit_everybody() -> None:
    rng = np.random.default_rng(3)
    busy = rng.random(100_000) < 0.6  # most 20 ms slots are at half the speed; a round shares its slot
    machine = Machine(lambda now_s: 2.0 if busy[int(now_s / 0.02)] else 1.0)
    sittings = [machine.sitting([1.04, 1.0], number) for number in range(ENOUGH_SITTINGS)]
    assert standings(sittings)[0].number == 1
    assert standings(sittings)[1].ratio == pytest.approx(1.04, rel=0.01)


def test_a_process_that_favours_one_variant_is_one_voice_only() -> None:
    """Where memory lies may change the order for a whole process: rounds of one process are no independent proof."""
    rng = np.random.default_rng(5)
    lucky = [{0: (1.1 * rng.normal(1, 0.001, 100)).tolist(), 1: rng.normal(1, 0.001, 100).tolist()} for _ in range(2)]
    normal = [{0: rng.normal(1, 0.001, 100).tolist(), 1: (1.05 * rng.normal(1, 0.001, 100)).tolist()} for _ in range(5)]
    first, second = standings([*lucky, *normal])
    assert (first.number, second.tied, second.slower) == (0, True, False)
    assert not decided([*lucky, *normal])


@pytest.mark.parametrize("apart", [0.0, 0.004])
def test_what_differs_by_nothing_to_speak_of_is_a_tie(apart: float) -> None:
    rng = np.random.default_rng(7)
    sittings = [{0: rng.normal(1, 0.002, 100).tolist(), 1: ((1 + apart) * rng.normal(1, 0.002, 100)).tolist()}
                for _ in range(ENOUGH_SITTINGS)]
    assert all(entry.tied for entry in standings(sittings))
    assert decided(sittings)


def test_too_few_sittings_decide_nothing_between_rivals() -> None:
    sittings = [{0: [1.0] * 9, 1: [1.02] * 9}] * (ENOUGH_SITTINGS - 1)
    assert standings(sittings)[0].number == 0
    assert not decided(sittings)
    assert decided([*sittings, sittings[0]])
    assert decided([{0: [1.0] * 9}] * 2)  # alone: there is nobody to be told from


def test_whoever_is_far_behind_need_not_sit_again_and_cannot_win() -> None:
    sittings: list[SittingTimes] = [{0: [2.0, 2.1], 1: [1.0, 1.01], 2: [1.02, 1.0]}] * 2
    assert hopeless(sittings) == {0}
    assert not hopeless(sittings[:1])
    later = standings([*sittings, {1: [1.0, 1.0], 2: [0.9, 0.9]}])
    assert [(entry.number, entry.complete) for entry in later] == [(1, True), (2, True), (0, False)]
    assert not later[2].tied


def test_a_variant_that_sat_only_at_first_is_slower_only_where_that_was_seen() -> None:
    sittings: list[SittingTimes] = [{0: [1.0, 1.02], 1: [1.01, 1.0]}, *[{1: [1.0, 1.0]}] * ENOUGH_SITTINGS]
    winner, other = standings(sittings)
    assert (winner.number, other.complete) == (1, False)
    assert other.undecided and not other.tied and not other.slower


def test_a_variant_that_failed_once_does_not_win() -> None:
    found = standings([{0: [1.0], 1: [2.0]}, {1: [2.0]}])
    assert [(entry.number, entry.complete) for entry in found] == [(1, True), (0, False)]
    assert standings([]) == () == standings([{0: [1.0]}, {}])


@given(st.lists(st.lists(TIMES, min_size=3, max_size=3), min_size=1, max_size=8), st.integers(1, 9))
def test_standings_are_consistent(levels: list[list[float]], rounds: int) -> None:
    sittings = [{n: [ms * (1 + 0.01 * r) for r in range(rounds)] for n, ms in enumerate(row)} for row in levels]
    first, *others = standings(sittings)
    assert (first.ratio, first.ratio_low, first.ratio_high) == (1.0, 1.0, 1.0)
    for entry in (first, *others):
        assert entry.low_ms <= entry.median_ms * (1 + 1e-9) and entry.median_ms <= entry.high_ms * (1 + 1e-9)
        assert entry.ratio_low <= entry.ratio * (1 + 1e-9) and entry.ratio <= entry.ratio_high * (1 + 1e-9)
        assert not (entry.slower and entry.ratio_low <= 1)


def order_of(seed: int, number: int, variants: int) -> list[int]:
    """Who had a turn when, in a sitting of ten ticks."""
    asked: list[int] = []
    ticks = count()
    play([partial(asked.append, k) for k in range(variants)], Sitting(seed, number, 10.0), lambda: float(next(ticks)))
    return asked


@given(st.integers(0, 2**63 - 1), st.integers(0, 30), st.integers(1, 6))
def test_everybody_has_one_turn_per_round(seed: int, number: int, variants: int) -> None:
    asked = order_of(seed, number, variants)
    rounds = [sorted(asked[k:k + variants]) for k in range(0, len(asked), variants)]
    assert rounds == [list(range(variants))] * len(rounds) and rounds


def test_equals_are_called_slower_about_as_rarely_as_promised() -> None:
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(300):
        sittings = []
        for _ in range(8):
            moods = rng.normal(1, 0.03, 2)  # the process' own liking for each
            sittings.append({n: (moods[n] * np.exp(rng.exponential(0.05, 15))).tolist() for n in range(2)})
        wrong += standings(sittings)[1].slower
    assert wrong / 300 < 0.05


def test_rounds_end_with_the_seconds_but_there_is_one() -> None:
    machine = Machine(lambda _now: 1.0)
    assert [len(samples) for samples in machine.sitting([10.0, 20.0], 0, 0.301).values()] == [10, 10]
    assert [len(samples) for samples in machine.sitting([900.0, 800.0], 0, 0.3).values()] == [1, 1]
    assert [len(samples) for samples in machine.sitting([1e-6], 0, 0.3).values()] == [MOST_ROUNDS]


def test_the_order_is_a_function_of_seed_and_sitting() -> None:
    assert order_of(1, 2, 5) == order_of(1, 2, 5)
    assert order_of(1, 2, 5) != order_of(1, 3, 5) and order_of(1, 2, 5) != order_of(2, 2, 5)


def test_a_clock_that_shows_nothing_is_no_crash() -> None:
    assert math.isfinite(standings([{0: [0.0, 0.0], 1: [1.0, 1.0]}])[1].ratio)
    assert TIE < 0.03
