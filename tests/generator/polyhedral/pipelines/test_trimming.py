"""Local arrays of which loops leave out the borders, as stages: what is computed, and where, stays right."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.stages import possible_stages
from generator.polyhedral.pipelines.trimming import trimmed
from generator.program import Program
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.stages import any_plan

FORESEEN = ("barrier would stand", "loops do not run what they should")
HEIGHT, WIDTH = 9, 13
MANY = 24


def loops(write: str, top: int, bottom: int, left: int, right: int) -> str:
    """Loops over an image without so many elements at each side."""
    return f"for (i = {top}; i < {HEIGHT - bottom}; i++) for (j = {left}; j < {WIDTH - right}; j++) {write};"


def chain(seed: int) -> Program:
    """A chain of three local arrays and a result; each leaves out more at random sides, as wide as its stencil there.
    """
    rng = np.random.default_rng(seed)
    borders, text, before = [0, 0, 0, 0], "", "in"
    for name in ("a", "b", "c", "out"):
        up, down, left, right = (int(n) for n in rng.integers(0, 2, 4))
        borders = [n + more for n, more in zip(borders, (up, down, left, right), strict=True)]
        shift = int(rng.integers(0, 2)) if name != "out" and borders[2] else 0  # also written elsewhere than it is read
        text += loops(f"{name}[i][j - {shift}] = {before}[i - {up}][j] + 2 * {before}[i + {down}][j - {left}] + "
                      f"3 * {before}[i][j + {right}]", *borders)
        before, borders[2], borders[3] = name, borders[2] - shift, borders[3] + shift
    size = f"[{HEIGHT}][{WIDTH}]"
    return expand(program_of(scop(f"int a{size}, b{size}, c{size}; {text}", f"int in{size}, out{size};")))


def test_a_chain_with_borders_becomes_stages_of_the_size_that_is_written() -> None:
    body = loops("a[i][j] = in[i][j - 1] + in[i][j + 1]", 0, 0, 1, 1) + loops("out[i][j] = a[i - 1][j] + a[i + 1][j]",
                                                                            1, 1, 2, 2)
    program = expand(program_of(scop(f"int a[{HEIGHT}][{WIDTH}]; {body}", f"int in[{HEIGHT}][{WIDTH}], "
                                                                          f"out[{HEIGHT}][{WIDTH}];")))
    assert not possible_stages(program)
    small = trimmed(program)
    assert small.array("a").extents == (HEIGHT, WIDTH - 2) and small.array("out").extents == (HEIGHT, WIDTH)
    assert list(possible_stages(small)) == ["a"] and trimmed(small) == small
    flow = dataflow(small)
    node, result = flow.node("a"), flow.node("out")
    assert node is not None and node.stage and not node.refusal
    assert result is not None and not result.refusal and result.extents == (HEIGHT - 2, WIDTH - 4)
    [read] = [read for read in result.reads if read.array == "a"]
    assert [(reach.low, reach.high) for reach in read.reach] == [(0, 2), (1, 1)], "from the first written element on"


@pytest.mark.parametrize("seed", few(range(MANY), 4))
def test_plans_of_chains_with_random_borders_are_right(seed: int) -> None:
    program = chain(seed)
    small, expected, rng = trimmed(program), run_original(program), np.random.default_rng(seed)
    assert not differences(small, run_original(small), expected)
    for _ in range(3):
        try:
            memory = run_plan(small, any_plan(small, rng), rng)
        except IllegalPlan as illegal:
            assert any(words in str(illegal) for words in FORESEEN), illegal
            continue
        assert not differences(small, memory, expected)


@pytest.mark.slow
def test_most_of_these_arrays_become_stages() -> None:
    found = Counter(len(possible_stages(trimmed(chain(seed)))) for seed in range(MANY))
    assert sum(count * times for count, times in found.items()) > 1.5 * MANY, found


@pytest.mark.parametrize("body", [
    loops("a[i][j] = in[i][j]", 1, 1, 1, 1) + loops("out[i][j] = a[i - 1][j]", 1, 1, 1, 1),  # a[0] is never written
    loops("a[i][j] = in[i][j]", 1, 1, 1, 1) + loops("out[i][j] = a[in[i][j] % 4][j]", 1, 1, 1, 1),  # chosen by data
    "for (i = 0; i < 6; i++) for (j = i; j < 8; j++) a[i][j] = in[i][j];" + loops("out[i][j] = a[1][j]", 1, 1, 1, 6),
])
def test_arrays_of_which_more_is_read_or_that_are_no_box_stay(body: str) -> None:
    size = f"[{HEIGHT}][{WIDTH}]"
    program = expand(program_of(scop(f"int a{size}; {body}", f"int in{size}, out{size};")))
    assert trimmed(program) is program


def test_results_keep_their_size() -> None:
    size = f"[{HEIGHT}][{WIDTH}]"
    program = program_of(scop(loops("out[i][j] = in[i][j]", 1, 1, 1, 1), f"int in{size}, out{size};"))
    assert trimmed(program) is program
