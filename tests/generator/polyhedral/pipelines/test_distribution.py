"""Loops that compute several intermediate arrays, separated as far as their dependences allow."""

from __future__ import annotations

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.pipelines.distribution import distributed
from generator.polyhedral.pipelines.nests import groups_of
from generator.polyhedral.pipelines.stages import possible_stages
from generator.polyhedral.pipelines.trimming import trimmed
from generator.program import Program
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.stages import any_plan

FORESEEN = ("barrier would stand", "loops do not run what they should", "elements of `")
ARRAYS = "int in[9][13], out[9][13];"
LOCAL = "int a[9][13], b[9][13], c[9][13];"
INSIDE = "for (i = 1; i < 8; i++) for (j = 1; j < 12; j++)"
LAST = f"{INSIDE} out[i][j] = a[i][j] + b[i][j] * c[i][j];"
MANY = 40


def program(body: str) -> Program:
    return expand(program_of(scop(f"{LOCAL} {body}", ARRAYS)))


def order(made: Program) -> list[tuple[str, ...]]:
    """The arrays that each group of nests writes, in order."""
    return [tuple(sorted(group.arrays)) for group in groups_of(made)]


def check(given: Program, seed: int, plans: int = 2) -> None:
    """The new order and random plans compute the same as the old order."""
    rng, expected, made = np.random.default_rng(seed), run_original(given), trimmed(distributed(given))
    assert not differences(made, run_original(made), expected)
    for _ in range(plans):
        try:
            memory = run_plan(made, any_plan(made, rng), rng)
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in FORESEEN), illegal
            continue
        assert not differences(made, memory, expected)


def test_independent_arrays_of_one_loop_become_stages() -> None:
    given = program(f"{INSIDE} {{ a[i][j] = in[i][j + 1]; b[i][j] = in[i - 1][j]; c[i][j] = a[i][j]; }} {LAST}")
    assert not possible_stages(given)
    made = trimmed(distributed(given))
    assert order(made) == [("a",), ("b",), ("c",), ("out",)] and list(possible_stages(made)) == ["a", "b", "c"]
    check(given, 1)


def test_sums_follow_what_sets_them() -> None:
    given = program(f"{INSIDE} {{ a[i][j] = 0; b[i][j] = 0; c[i][j] = 0; for (k = 0; k < 3; k++) {{ "
                    f"a[i][j] += in[i - 1][j]; b[i][j] += in[i + 1][j - 1]; c[i][j] += k; }} }} {LAST}")
    made = trimmed(distributed(given))
    assert order(made) == [("a",), ("b",), ("c",), ("out",)] and list(possible_stages(made)) == ["a", "b", "c"]
    check(given, 2)


def test_what_depends_on_each_other_stays_together() -> None:
    """b needs the previous row of a, and a the previous row of b; c comes later than both."""
    given = program("for (i = 1; i < 8; i++) for (j = 1; j < 12; j++) { a[i][j] = i > 1 ? b[i - 1][j] : in[i][j];"
                    f"b[i][j] = i > 1 ? a[i - 1][j] : in[i][j]; c[i][j] = b[i][j]; }} {LAST}")
    assert order(distributed(given)) == [("a", "b"), ("c",), ("out",)]
    check(given, 3)


def test_an_array_that_is_overwritten_later_in_the_loop_keeps_its_order() -> None:
    """c[i][j] has to see a[i][j + 1] before the next iteration overwrites it."""
    given = program(f"{INSIDE} a[i][j] = in[i][j]; "
                    f"for (i = 1; i < 8; i++) for (j = 1; j < 11; j++) {{ c[i][j] = a[i][j + 1]; a[i][j] = 7; "
                    f"b[i][j] = a[i][j - (j > 1)]; }} {LAST}")
    check(given, 4)


@pytest.mark.parametrize("body", [
    "for (i = 0; i < 9; i++) for (j = 0; j < 13; j++) { int t = in[i][j]; out[i][j] = t * t; }",  # only there
    f"{INSIDE} {{ a[i][j] = in[i][j]; out[i][j] = a[i][j]; }}",  # the same, as an array
    "for (i = 0; i < 9; i++) for (j = 0; j < 13; j++) { out[i][j] = 1; in[i][j] = 2; }",  # results
])
def test_other_loops_stay_as_they_are(body: str) -> None:
    given = program(body)
    assert distributed(given) is given


def loops(seed: int) -> Program:
    """Random statements that read and write three local arrays in two loops."""
    rng = np.random.default_rng(seed)
    text = ("for (i = 0; i < 9; i++) for (j = 0; j < 13; j++) "
            "{ a[i][j] = in[i][j]; b[i][j] = 2 * in[i][j]; c[i][j] = 3; }")
    for _ in range(2):
        text += f"{INSIDE} {{"
        for _ in range(int(rng.integers(2, 5))):
            target, one, two = (str(name) for name in rng.choice(["a", "b", "c"], 3))
            y, x = (int(n) for n in rng.integers(-1, 2, 2))
            text += f"{target}[i][j] {rng.choice(['=', '+='])} {one}[i + ({y})][j + ({x})] + {two}[i][j];"
        text += "}"
    return program(f"{text} {LAST}")


@pytest.mark.parametrize("seed", few(range(MANY), 6))
def test_random_loops_compute_the_same(seed: int) -> None:
    check(loops(seed), seed)


@pytest.mark.slow
def test_random_loops_are_often_separated() -> None:
    found = [loops(seed) for seed in range(MANY)]
    assert sum(distributed(one) is not one for one in found) > MANY / 2
