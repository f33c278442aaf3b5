"""Walks and sizes on offer: the stages that a block computes can fit in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antune import halide as hl
from generator.decisions.candidate_sizes import caps, geometry
from generator.decisions.size_lists import TILES, WIDE, CandidateSizes, Sizes
from generator.frontend_py.problem import program_of
from generator.lowering.analysis.shapes import kernel_shapes
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.target import LANGUAGES
from graph.pipeline import Chosen
from tests.support.slow import counted
from tests.support.stages import offered_plans
from tests.support.suite import TARGET, pipeline_program
from tests.support.targets import HOPPER

SMALL_GPU = replace(HOPPER, local_bytes=48 * 1024)


@pytest.mark.parametrize(("name", "count"), counted(["conv_layer", "bilateral_grid"], 1, 6, 12))
def test_the_stages_of_random_plans_fit(name: str, count: int) -> None:
    program, tested = pipeline_program(name, "full"), 0
    for plan in offered_plans(program, SMALL_GPU, count, 0):
        assert plan.schedule is not None
        shapes = {shape.statements: shape for shape in kernel_shapes(program, plan.schedule, LANGUAGES["cuda"])}
        for kernel in plan.kernels:
            shape = shapes[kernel.statements].ordered(kernel.order)
            if shape.computes and kernel.level == "block" and not kernel.in_registers:
                shape = shape.walking(kernel.walk) if kernel.walk else shape
                shape = shape.holding(kernel.whole) if kernel.whole else shape
                used = shape.shared_bytes(kernel.tile, kernel.inner_tile, kernel.padding, kernel.registers,
                                          kernel.shared, uncopied=kernel.uncopied)
                assert used <= SMALL_GPU.local_bytes, kernel
                tested += 1
    assert tested


@pytest.mark.parametrize(("other", "offered"), [
    (lambda x, y: (x + 9, y + 3), True), (lambda x, y: (y, x), False), (lambda x, y: (2 * x, y), False),
    (lambda _, y: (0, y), False), (lambda x, _: (x, 399), False), (lambda x, y: (x // 2, y // 2), False),
    (lambda x, y: (x // 2 * 2, y), True)])  # fmt: skip
def test_elements_that_lie_apart_anywhere_need_room_in_blocks(
        other: Callable[[hl.Var, hl.Var], tuple[hl.Expr, hl.Expr]], offered: bool) -> None:
    """In the middle of a square image, `t[x, y]` and `t[y, x]` are close to each other; in a corner they are not."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    stage, out = hl.Func("stage"), hl.Func("out")
    stage[x, y] = image[x, y] * 2.0
    out[x, y] = stage[x, y] + stage[other(x, y)]
    (facts,) = stage_facts(program_of([out], (400, 400), "test"))
    assert ("block" in Chosen(2048).options(facts)) == offered


@pytest.mark.parametrize(("place", "offered"), [
    (lambda x, y: (hl.select(x < 200, x * 64, (399 - x) * 64), y * 40), False),
    (lambda x, y: (hl.min(x, 195) * 64, y * 40), False), (lambda x, y: (hl.clamp(x, 0, 195) * 64, y * 40), False),
    (lambda x, y: (hl.min(x, 200), y * 40), True), (lambda x, y: (hl.clamp(x - 2, 0, 399), y * 40), True),
    (lambda x, y: (x // 3, y * 40), True)])  # fmt: skip
def test_elements_that_lie_closest_in_the_middle_need_room_in_blocks(
        place: Callable[[hl.Var, hl.Var], tuple[hl.Expr, hl.Expr]], offered: bool) -> None:
    """A limit or a mirror in the middle: there, fewer elements are read than elsewhere."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    stage, out = hl.Func("stage"), hl.Func("out")
    stage[x, y] = image[x, y] * 2.0
    out[x, y] = stage[place(x, y)]
    (facts,) = stage_facts(program_of([out], (400, 400), "test"))
    assert ("block" in Chosen(64 * 1024).options(facts)) == offered


@given(st.tuples(*[st.integers(1, 40)] * 3), st.sampled_from([TILES, WIDE]), st.sampled_from([0, 2]), st.booleans(),
       st.integers(0, 2), st.sampled_from([1, 8]), st.sampled_from([1, 4]))
def test_the_smallest_sizes_of_the_remaining_dimensions(extents: Sizes, candidates: CandidateSizes, walk: int,
                                                        whole: bool, dim: int, points: int, threads: int) -> None:
    offer = geometry(caps(extents, candidates), TARGET, candidates, walk)
    legal = set[Sizes]()
    for tiles in product(*offer.tiles[dim:]):
        for blocks in product(*offer.blocks[dim:]):
            fitting = all(b == t if whole else b <= t for t, b in zip(tiles, blocks, strict=True))
            if (fitting and points * prod(tiles) <= offer.max_points
                    and offer.min_threads <= threads * prod(blocks) <= offer.max_threads):
                legal.add(tiles)
    found = offer.smallest(dim, points, threads, whole)
    assert set(found) <= legal
    for tiles in legal:  # each has a smaller one, and none of those found has another
        assert any(all(a <= b for a, b in zip(one, tiles, strict=True)) for one in found)
    for one, other in product(found, found):
        assert one == other or any(a < b for a, b in zip(one, other, strict=True))
