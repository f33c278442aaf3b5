"""Blocks of one thread: no barriers, no thread indices, boxes in a row; what they compute is the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from generator.lowering import lower
from generator.nest import Level
from generator.plan import Plan
from tests.support.interpreter import run_original
from tests.support.orders import differences
from tests.support.plans import run_plan
from tests.support.slow import few
from tests.support.targets import CPU
from tests.support.teams import chain, chain_plan


def text_of(plan: Plan) -> str:
    return lower(chain(), plan, CPU).source


@pytest.mark.parametrize(("level", "tile", "padding"), few(
    product(("block", "thread"), ((8, 64), (2, 8), (16, 128), (1, 1)), (0, 1)),
    [("block", (8, 64), 0), ("thread", (2, 8), 1), ("thread", (16, 128), 0), ("block", (1, 1), 1)]))
def test_what_one_thread_computes_is_right(level: Level, tile: tuple[int, int], padding: int) -> None:
    plan = chain_plan(level, tile, (1, 1))
    plan = replace(plan, kernels=(replace(plan.kernels[0], padding=padding),))
    found = run_plan(chain(), plan, np.random.default_rng(1))
    assert not differences(chain(), found, run_original(chain()))


def test_it_waits_for_nobody_and_has_no_number() -> None:
    text = text_of(chain_plan("block", (8, 64), (1, 1)))
    assert "barrier" not in text
    assert "get_local_id" not in text
    assert "barrier" in text_of(chain_plan("block", (8, 64), (1, 2)))


@pytest.mark.parametrize("level", ["block", "thread"])
def test_its_boxes_are_rows(level: Level) -> None:
    text = text_of(chain_plan(level, (8, 64), (1, 1)))
    assert "two_here[9 * 64" not in text
    assert "int two_here[576];" in text
    assert "two_here[e0 * 64 + e1] =" in text
    assert "int two_here[9][64];" in text_of(chain_plan("block", (8, 64), (8, 64)))


def test_its_loops_say_that_one_thread_computes_them() -> None:
    for plan in (chain_plan("block", (8, 64), (1, 1)), chain_plan("thread", (8, 64), (1, 2))):
        text = text_of(plan)
        assert "// this thread computes " in text and "all threads" not in text
    assert "// all threads compute " in text_of(chain_plan("block", (8, 64), (1, 2)))
