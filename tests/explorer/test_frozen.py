"""The state of every explorer, written and read again in the middle of a search, goes on as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from explorer.base import Explorer
from explorer.frozen import NotPlain, freeze, thaw
from explorer.registry import EXPLORERS, make_explorer
from generator.errors import InputError
from generator.plan import Plan
from graph.space import Space
from graph.walk import Walk
from metrics.outcome import Outcome
from tests.support.searches import DISTINCT, always_failed, by_digest, mostly_failed, plans
from tests.support.slow import few, in_turn
from tests.support.spaces import DeadEnds, FlatSpace, Kernels, Staircase

Judge = Callable[[Plan], Outcome]


def advance(explorer: Explorer, judge: Judge, counts: list[int], known: dict[str, Plan]) -> list[list[Walk]]:
    iterations = []
    for count in counts:
        walks = list(explorer.ask(count))
        for walk in walks:
            known[walk.identity] = walk.plan
            explorer.tell(walk, judge(walk.plan))
        iterations.append(walks)
    return iterations


CASES: list[tuple[Space, Judge]] = [
    (Kernels(3), Kernels(3).outcome),
    (Kernels(2), by_digest),
    (Kernels(3), always_failed),
    (Staircase(6), mostly_failed),
    (DeadEnds(7), by_digest),
    (FlatSpace((10_000, 2)), by_digest),
]


def goes_on(name: str, space: Space, judge: Judge) -> None:
    """Frozen after some iterations, thawed once and twice: the next iterations are the same."""
    known: dict[str, Plan] = {}
    explorer = make_explorer(name, space, 3)
    for counts in ([4], [10, 1, 7, 10]):
        advance(explorer, judge, counts, known)
        text = list(freeze(explorer, space, known))
        again = thaw(text, space, known)
        twice = thaw(freeze(again, space, known), space, known)
        following = [plans(advance(one, judge, [10, 3, 10], known)) for one in (explorer, again, twice)]
        assert following[0] == following[1] == following[2]


@in_turn
@pytest.mark.parametrize("name", few(EXPLORERS, DISTINCT))
@pytest.mark.parametrize("case", few([3, 0], 1))
def test_a_frozen_explorer_goes_on_like_the_first(name: str, case: int) -> None:
    goes_on(name, *CASES[case])


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPLORERS)
@pytest.mark.parametrize("case", [1, 2, 4, 5])
def test_a_frozen_explorer_goes_on_in_other_spaces(name: str, case: int) -> None:
    goes_on(name, *CASES[case])


@in_turn
@pytest.mark.parametrize("name", few(EXPLORERS, DISTINCT))
def test_plans_of_the_store_are_not_written_again(name: str) -> None:
    space, known = Kernels(3), dict[str, Plan]()
    explorer = make_explorer(name, space, 1)
    advance(explorer, space.outcome, [10] * 3, known)
    assert len("".join(freeze(explorer, space, known))) <= len("".join(freeze(explorer, space, {})))
    for walks in advance(thaw(freeze(explorer, space, {}), space, {}), space.outcome, [5], {}):
        assert len(walks) == 5


def frozen(name: str = "colony") -> tuple[str, Space, dict[str, Plan]]:
    space, known = Kernels(2), dict[str, Plan]()
    explorer = make_explorer(name, space, 1)
    advance(explorer, space.outcome, [10] * 3, known)
    return "".join(freeze(explorer, space, known)), space, known


@pytest.mark.parametrize(
    "foreign",
    [
        ["os", "system", []],
        ["builtins", "eval", []],
        ["explorer.colony", "Colony.ask", []],
        ["explorer.colony", "np", []],
        ["explorer.colony", "uniform", []],
        ["subprocess", "Popen", []],
        ["explorer.base.os", "x", []],
        ["generator.reading", "read_problem", []],
    ],
)
def test_no_class_of_other_rooms_and_no_function_is_ever_made(foreign: list[object]) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        thaw([json.dumps(["class", *foreign]), "[0]", '["end"]'], None, {})


@pytest.mark.parametrize(
    "entry",
    [
        ["array", "|O8", "C", True, "AAAA", 1],
        ["number", "O", "AAAA"],
        ["array", "<f8", "C", True, "AAAA", 9],
        ["random", '{"bit_generator": "MT19937"}'],
        ["plan", "gone"],
        ["type", "object"],
        ["dict", 1],
        ["list", [5]],
        ["deque"],
        [7],
        ["lambda"],
    ],
)
def test_entries_that_make_no_sense_are_refused(entry: list[object]) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        thaw([json.dumps(entry), '["end"]'], None, {})


def test_damaged_text_is_refused_or_read_but_never_more() -> None:
    text, space, known = frozen()
    rng = np.random.default_rng(1)
    for _ in range(20):
        place = int(rng.integers(len(text)))
        damaged = (
            text[:place] if rng.random() < 0.3 else text[:place] + chr(int(rng.integers(32, 127))) + text[place + 1 :]
        )
        try:
            thaw(damaged.splitlines(), space, known)
        except InputError as error:
            assert "cannot be read" in str(error)


@dataclass
class Holds:
    """An explorer with something odd inside."""

    odd: object

    def ask(self, count: int) -> list[Walk]:
        return []

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        return None


def test_what_is_no_plain_value_is_a_type_error() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    for name, odd in (("foreign", Holds(1)), ("generator", (n for n in "ab")), ("function", len), ("cycle", cycle),
                      ("objects", np.array([None])), ("class", Holds)):
        space = Kernels(2)
        explorer = make_explorer("random", space, 1)
        explorer._seed = odd  # type: ignore[attr-defined]  # whatever a new explorer may hold
        with pytest.raises(NotPlain, match=r"frozen|itself"):
            list(freeze(explorer, space, {}))
        assert name


def test_one_object_stays_one_and_arrays_keep_their_order() -> None:
    space = Kernels(2)
    explorer = make_explorer("random", space, 1)
    shared, table = [1.5, float("inf")], np.asfortranarray(np.arange(6.0).reshape(2, 3))
    table.setflags(write=False)
    explorer._seed = {  # type: ignore[attr-defined]  # any attribute is kept
        "a": shared,
        (1, True, 1.0): shared,
        "t": table,
        "n": np.float64(0.1),
        "r": np.random.default_rng(5),
        "s": {"x"},
        "f": frozenset((1, 2)),
        "none": None,
    }
    again = thaw(freeze(explorer, space, {}), None, {})._seed  # type: ignore[attr-defined]  # any attribute is kept
    assert again["a"] is again[1, True, 1.0] and again["a"] == shared and again["f"] == frozenset((1, 2))
    assert again["t"].flags.f_contiguous and not again["t"].flags.writeable and (again["t"] == table).all()
    assert type(again["n"]) is np.float64 and again["r"].random() == np.random.default_rng(5).random()
    assert [type(part) for part in list(again)[1]] == [int, bool, float]
