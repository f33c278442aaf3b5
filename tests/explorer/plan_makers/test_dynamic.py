"""PolyMage-GPU's plans of the pipelines of its paper, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from antune import halide as hl
from explorer.plan_makers.choices import Choice, Grouping
from explorer.plan_makers.dynamic import dynamic_plans
from explorer.plan_makers.words import brief_words, grouping_words, reasons
from generator.frontend_py.problem import program_of as pipeline_of
from generator.polyhedral.pipelines.dataflow import dataflow
from metrics.costs.base import Cost, Term
from metrics.costs.device import CostDevice
from metrics.costs.groups import Group
from metrics.costs.polymage import PolyMage, refusal
from tests.support.costs import CPU, GTX_1080_TI
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.suite import pipeline_program

PAPERS = ("unsharp", "bilateral_grid", "harris", "camera_pipe", "interpolate", "pyramid_blend")
"""The pipelines of the paper's table 3; the times of their fusion are in `experiments.benchmarks.fusion_times`."""


@pytest.mark.parametrize("name", few(PAPERS, ("unsharp", "harris", "bilateral_grid")))
def test_the_pipelines_of_the_paper_have_kernels_with_several_stages(name: str) -> None:
    made = dynamic_plans(dataflow(pipeline_program(name)), GTX_1080_TI, PolyMage())
    assert any(one.group.members for one in made.groupings[0].kernels)


@in_turn
def test_groups_are_what_the_model_can_judge_and_the_device_can_run() -> None:
    for device in (GTX_1080_TI, CPU):
        made = dynamic_plans(dataflow(pipeline_program("camera_pipe")), device, PolyMage(), 5)
        for one in (kernel for grouping in made.groupings for kernel in grouping.kernels):
            assert refusal(one.group) == ""
            terms = {term.name: term.value for term in one.cost.terms}
            assert terms["shared memory"] <= device.block_shared
            readers = {name for member in one.group.members for name in one.group.flow.readers(member)}
            assert readers <= {*one.group.stages, *one.group.inlined}, "nobody else reads what is not stored"


def test_fractions_of_tiles_of_warps_are_part_of_what_is_compared() -> None:
    """Harris is where the paper gains most by it; a device without shuffles has tiles of blocks only."""
    flow = dataflow(pipeline_program("harris"))
    [best, *_] = (made := dynamic_plans(flow, GTX_1080_TI, PolyMage(), 5)).groupings
    assert any(kernel.level == "sub-group" and kernel.in_registers for kernel in best.kernels)
    assert any("tenths in registers" in line for line in reasons(made, host=False))
    without = dynamic_plans(flow, replace(GTX_1080_TI, shuffles=False), PolyMage(), 5).groupings
    assert {(kernel.level, kernel.in_registers) for one in without for kernel in one.kernels} == {("block", 0)}
    assert best.cost < without[0].cost


def test_as_published_nothing_is_inlined() -> None:
    made = dynamic_plans(dataflow(pipeline_program("harris")), GTX_1080_TI, PolyMage(published=True), inline=False)
    assert all(not kernel.group.inlined for kernel in made.groupings[0].kernels)


def test_reductions_share_no_kernel() -> None:
    made = dynamic_plans(dataflow(pipeline_program("max_filter", "small")), GTX_1080_TI, PolyMage())
    for kernel in made.groupings[0].kernels:
        reduced = [name for name in kernel.group.stages if (node := kernel.group.flow.node(name)) and node.reduces]
        assert not reduced or not kernel.group.members


def test_the_reasons_are_words() -> None:
    made = dynamic_plans(dataflow(pipeline_program("harris")), CPU, PolyMage())
    [kernel, inlined] = reasons(made, host=True)
    assert kernel.startswith("gray, ix, ixx and 6 more in one kernel: tiles of ")
    assert "KB shared" in kernel and "% recomputed" in kernel and "occupancy" not in kernel
    assert inlined == "det, sxy, trace inlined"
    made = dynamic_plans(dataflow(pipeline_program("bilateral_grid")), GTX_1080_TI, PolyMage())
    *_, left, by_data = reasons(made, host=False)
    assert left.startswith("histogram by kernels of its own, as the start plans have them: `histogram` is not ")
    assert by_data == "blur_y by kernels of its own: data decide which elements of `blur_y` `interpolated` reads"
    assert "% occupancy" in next(grouping_words(made.groupings[0], host=False))


@pytest.mark.parametrize(("device", "further", "more"), [
    (CPU, False, ""),
    (GTX_1080_TI, False, ", unless these cover whole rows; such tiles do not pay"),
    (replace(GTX_1080_TI, block_shared=1024), False, ", unless these cover whole rows; such tiles do not fit the dev"),
    (GTX_1080_TI, True, None)])
def test_a_stage_whose_distances_change_is_named_also_if_long_tiles_could_be_judged(
        device: CostDevice, further: bool, more: str | None) -> None:
    """Of 4096 points along x, a few tiles for GPUs cover all, and none for CPUs. A stage that two kernels need has no
    kernel in common with one of them, whatever its tiles are.
    """
    x, y = hl.vars("x y")
    image, t, o, p = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("t"), hl.Func("o"), hl.Func("p")
    t[x, y] = hl.exp(image[x, y]) + hl.sin(image[x, y]) + hl.sqrt(image[x, y])
    o[x, y] = t[x, y] + t[2 * x, y]
    if further:
        p[x, y] = o[x, y] + o[y, x] + t[x, y] + t[2 * x, y]
    made = dynamic_plans(dataflow(pipeline_of([p if further else o], (4096, 4096))), device, PolyMage())
    told_of = "t by kernels of its own"
    told = [line for line in reasons(made, device.host) if line.startswith(told_of)]
    assert bool(told) == (more is not None)
    for line in told:
        assert line.startswith(f"{told_of}: `o` reads `t` at distances that differ from tile to tile{more}")
        assert more or line.endswith("tile to tile")


def test_the_words_of_a_further_plan_are_what_differs_from_the_best() -> None:
    flow = dataflow(pipeline_program("harris"))

    def kernel(output: str, members: tuple[str, ...], cost: float, *tile: int) -> Choice:
        terms = (Term("shared memory", 2048.0), Term("occupancy", 50.0), Term("computed again", 3.0))
        return Choice(Group(flow, output, members), tile, tile, Cost(cost, terms))

    gray, harris = kernel("gray", (), 10.0, 1, 64), kernel("harris", ("ix", "iy"), 90.0, 8, 32)
    best = Grouping((gray, harris))
    other = Grouping((gray, kernel("harris", ("ix", "iy"), 92.0, 16, 32)))
    alone = Grouping((kernel("gray", (), 60.0, 2, 64), harris), "ix in the threads that read it")
    assert brief_words(other, best, host=True) == (
        "costs 2.0 % more than plan 1: ix, iy, harris in one kernel, tiles of 16x32, 2.0 KB shared, 3 % recomputed; "
        "others as in plan 1")
    assert brief_words(alone, best, host=True) == (
        "costs 50.0 % more than plan 1: gray alone, tiles of 2x64; others as in plan 1; ix in the threads that read it")
    assert "50 % occupancy" in brief_words(other, best, host=False)


def test_a_program_of_one_stage_has_one_kernel() -> None:
    flow = dataflow(program_of(scop("for (i = 0; i < 64; i++) y[i] = x[i] + 1.0;")))
    [kernel] = dynamic_plans(flow, GTX_1080_TI, PolyMage()).groupings[0].kernels
    assert kernel.group.stages == ("y",)
