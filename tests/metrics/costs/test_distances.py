"""Kernels whose tiles need differently large parts of their stages: models judge one tile for all, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
import pytest

from antune import halide as hl
from experiments.search.costs import find_model, planned
from experiments.search.modelled import MAKERS, model_plans
from generator.dataflow import Dataflow
from generator.frontend_py.problem import program_of
from generator.lowering import lower
from generator.lowering.heuristics.usual import usual_plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.schedules.stages import Stages
from metrics.costs.base import Cost, Refused
from metrics.costs.device import cost_device
from metrics.costs.distances import changing_distances, objection, uneven
from metrics.costs.groups import Group, Numbers, column, computed_again, tile_work
from metrics.costs.sioutas import Sioutas
from tests.support.targets import CUDA

Reader: TypeAlias = Callable[[hl.Func], hl.Expr]
x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
WORDS = "`o` reads `t` at distances that differ from tile to tile"


def uneven_dims(group: Group) -> set[int]:
    return {d for one in uneven(group) for d in one.dims}


def two_stages(read: Reader) -> Program:
    image, t, o = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("t"), hl.Func("o")
    t[x, y] = hl.sqrt(image[x, y]) * 2.0 + image[x, y] * image[x, y] + hl.exp(image[x, y])
    o[x, y] = t[x, y] + read(t)
    return program_of([o], (512, 512), "test")


READS: dict[str, tuple[Reader, set[int]]] = {
    "transposed": (lambda t: t[y, x], {0, 1}),
    "twice as fast": (lambda t: t[2 * x, y], {1}),
    "backwards": (lambda t: t[511 - x, y], {1}),
    "fixed": (lambda t: t[0, y], {1}),
    "next to it": (lambda t: t[x + 1, y + 2], set()),
}


@pytest.mark.parametrize("name", READS)
def test_both_models_refuse_tiles_that_are_not_like_all_others(name: str) -> None:
    """Tiles that cover the dimensions along which distances change are judged, with the bytes of the generated code."""
    program, dims = two_stages(READS[name][0]), READS[name][1]
    assert uneven_dims(Group(dataflow(program), "o", ("t",))) == dims
    plan = usual_plan(program, CUDA, Stages((("t", "block"),)))
    for tile in ((16, 16), (1, 512)):
        cut = replace(plan, kernels=tuple(replace(one, tile=tile, block=(1, 16)) for one in plan.kernels))
        [kernel] = planned(program, cut)
        for model in ("sioutas", "polymage"):
            judged = find_model(model, CUDA).judge(kernel, cost_device(CUDA))
            if any(size < 512 for d, size in enumerate(tile) if d in dims):
                assert isinstance(judged, Refused) and WORDS in judged.reason
            else:
                assert isinstance(judged, Cost)
                [lowered] = lower(program, cut, CUDA).kernels
                shared = next(term.value for term in judged.terms if term.name == "shared memory")
                assert shared == lowered.local_bytes


@pytest.mark.parametrize("maker", MAKERS)
def test_schedulers_leave_such_stages_alone_with_the_reason(maker: str) -> None:
    program = two_stages(READS["transposed"][0])
    found = model_plans(program, CUDA, maker, 3)
    assert f"t by kernels of its own: {WORDS}" in found.reasons
    assert all(lower(program, plan, CUDA).kernels for plan in found.plans)


def chain(factor: int) -> Dataflow:
    """`o` reads t, and s that reads every other element of t; o reads s at half the speed, if `factor` is 2."""
    image, t, s, o = hl.ImageParam(hl.Float(32), 1, "image"), hl.Func("t"), hl.Func("s"), hl.Func("o")
    t[x] = hl.sqrt(image[x])
    s[x] = t[2 * x] + t[2 * x + 1]
    o[x] = t[x] + s[x // factor]
    return dataflow(program_of([o], (512,), "test"))


def test_chains_of_reads_count() -> None:
    group = Group(chain(1), "o", ("t", "s"))
    [found] = uneven(group)
    assert found.array == "t" and found.dims == {0}
    assert found.reason == "`o` and `s` read `t` at distances that differ from tile to tile"
    assert uneven_dims(Group(chain(1), "o", ("t",), frozenset("s"))) == {0}, "also through inlined stages"
    [wrong] = changing_distances(group, column((256,)))
    assert wrong.are.tolist() == [True] and not wrong.runs
    assert not uneven(Group(chain(2), "o", ("t", "s"))), "down and up again"


def test_tiles_that_cover_the_colours_are_alike() -> None:
    image, t, o = hl.ImageParam(hl.Float(32), 3, "image"), hl.Func("t"), hl.Func("o")
    t[x, y, c] = hl.sqrt(image[x, y, c])
    o[x, y, c] = t[x, y, c] / t[x, y, 3]
    group = Group(dataflow(program_of([o], (64, 64, 4), "test")), "o", ("t",))
    assert uneven_dims(group) == {0}
    assert [wrong.are.tolist() for n in (2, 4) for wrong in changing_distances(group, column((n, 8, 8)))] == [
        [True], [False]]  # fmt: skip


READS_OF_DATA: dict[str, Callable[[hl.Func, hl.ImageParam], hl.Expr]] = {
    "along": lambda t, _: t[x],
    "back": lambda t, _: t[255 - x],
    "data": lambda t, places: t[hl.i32(places[x])],
}


@pytest.mark.parametrize("order", [("along", "data"), *permutations(READS_OF_DATA)], ids=" ".join)
def test_where_data_need_all_elements_others_may_move(order: tuple[str, ...]) -> None:
    """Every tile computes all 256 elements of t, of which its share is as large as itself."""
    image, places = hl.ImageParam(hl.Float(32), 1, "image"), hl.ImageParam(hl.UInt(8), 1, "places")
    t, o = hl.Func("t"), hl.Func("o")
    t[x] = hl.sqrt(image[x])
    first, *others = (READS_OF_DATA[kind](t, places) for kind in order)
    o[x] = sum(others, first)
    group = Group(dataflow(program_of([o], (256,), "test")), "o", ("t",))
    assert not uneven_dims(group)
    found = Sioutas().evaluate(group, np.array([[32.0, 64.0]]), cost_device(CUDA))
    assert found.shared.tolist() == [1024, 1024]
    assert found.overlap.tolist() == [(256 - 32) / 32, (256 - 64) / 64]


@pytest.mark.parametrize(("change", "judged"), [
    ({"walk": 0}, True), ({"walk": 4}, False), ({"walk": 4, "whole": ("t",)}, True)])  # fmt: skip
def test_stages_of_the_whole_tile_are_alike_if_tiles_are(change: dict[str, Any], judged: bool) -> None:
    """Tiles cover the rows, of which all points read row 0 of t; the steps of blocks that walk do not."""
    image, t, s, o = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("t"), hl.Func("s"), hl.Func("o")
    t[x, y] = hl.sqrt(image[x, y]) * hl.exp(image[x, y])
    s[x, y] = hl.sqrt(image[x, y])
    o[x, y] = s[x, y] + s[x, y + 1] + t[x, y] * t[x, 0]
    program = program_of([o], (512, 64), "test")
    plan = usual_plan(program, CUDA, Stages((("t", "block"), ("s", "block"))))
    plan = replace(plan, kernels=tuple(replace(one, tile=(64, 32), block=(2, 32), **change) for one in plan.kernels))
    [kernel], [lowered] = planned(program, plan), lower(program, plan, CUDA).kernels
    for model in ("sioutas", "polymage"):
        found = find_model(model, CUDA).judge(kernel, cost_device(CUDA))
        if judged:
            assert isinstance(found, Cost)
            assert next(one.value for one in found.terms if one.name == "shared memory") == lowered.local_bytes
        else:
            assert isinstance(found, Refused) and WORDS in found.reason


def test_objections_name_the_stages_that_are_their_causes() -> None:
    """s needs tiles with all rows, t tiles with all columns."""
    image, t, s, o = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("t"), hl.Func("s"), hl.Func("o")
    t[x, y], s[x, y] = hl.sqrt(image[x, y]), hl.exp(image[x, y])
    o[x, y] = s[x, y] + s[x, 0] + t[x, y] * t[0, y]
    group = Group(dataflow(program_of([o], (512, 64), "test")), "o", ("t", "s"))
    of_s = WORDS.replace("`t`", "`s`")

    def objections(tiles: Numbers) -> set[str]:
        return {wrong.reason for wrong in changing_distances(group, tiles) if wrong.are.all()}

    assert objections(column((64, 16))) == {WORDS}
    assert objections(column((8, 512))) == {of_s}
    assert not objections(column((64, 512)))
    assert objection(group, np.array([[64.0, 8.0], [16.0, 512.0]])) == f"{of_s}; {WORDS}", "each for another"
    assert objection(group, np.array([[64.0, 8.0], [16.0, 16.0]])) == WORDS, "one for all"
    assert not objection(group, np.array([[64.0, 64.0], [16.0, 512.0]])), "not for all"


def test_what_all_rows_of_tiles_need_is_computed_again_in_each() -> None:
    image, t, o = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("t"), hl.Func("o")
    t[x] = hl.sqrt(hl.f32(x))
    o[x, y] = image[x, y] + t[x] * t[x + 1]
    group = Group(dataflow(program_of([o], (512, 64), "test")), "o", ("t",))
    tiles = np.array([[16.0, 64.0], [32.0, 32.0]])
    again = computed_again(group, tile_work(group, tiles), tiles)
    assert again.tolist() == [(33 - 32 / 4) / (16 * 32), 1 / (64 * 32)], "one of four rows of tiles, or the only one"
