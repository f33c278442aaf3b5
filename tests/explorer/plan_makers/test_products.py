"""Which stages share kernels with sums of products on CPUs."""

from __future__ import annotations

import pytest

from antune import halide as hl
from explorer.plan_makers.greedy import greedy_plans
from explorer.plan_makers.trivial import fits
from generator.dataflow import Dataflow
from generator.frontend_py.problem import program_of
from generator.polyhedral.pipelines.dataflow import dataflow
from metrics.costs.device import cost_device
from tests.support.targets import CPU

x, y = hl.Var("x"), hl.Var("y")
SIZE = (2000, 2000)


def activated(reader: str) -> Dataflow:
    """Sums of 16 products, an expensive function of each, and what reads that."""
    a, b = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b")
    total, act, out, r = hl.Func("total"), hl.Func("act"), hl.Func("out"), hl.RDom([(0, 16)], "r")
    total[x, y] = 0.0
    total[x, y] += a[r.x, y] * b[x, r.x]
    act[x, y] = hl.exp(hl.sin(total[x, y])) * hl.max(total[x, y], 0.0)
    if reader == "two rows":
        out[x, y] = act[x, y] + act[x, y + 1]
    elif reader == "pooling":
        out[x, y] = act[2 * x, 2 * y] + act[2 * x + 1, 2 * y] + act[2 * x, 2 * y + 1] + act[2 * x + 1, 2 * y + 1]
    else:
        out = act
    return dataflow(program_of([out], SIZE, "test"))


def taps(count: int) -> Dataflow:
    """An inlined stage, of which sums of products and the stage that reads these need `count` elements each."""
    a, b = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b")
    cheap, total, out, r = hl.Func("cheap"), hl.Func("total"), hl.Func("out"), hl.RDom([(0, 16)], "r")
    cheap[x, y] = a[x, y]
    total[x, y] = 0.0
    total[x, y] += sum(cheap[r.x + k, y] * (k + 1.0) for k in range(count)) * b[x, r.x]
    out[x, y] = total[x, y] * sum(cheap[x + k, y] * (k + 1.0) for k in range(count))
    return dataflow(program_of([out], (256, 256), "test"))


def kernels(flow: Dataflow) -> set[tuple[str, bool, str]]:
    """The kernels that compute the sum, of all groupings: what they store, whether they inline it, and the sum for
    which they are left to start plans.
    """
    made = greedy_plans(flow, cost_device(CPU), count=4, sums=("total",))
    return {(one.group.output, "total" in one.group.inlined, one.summed)
            for grouping in made.groupings for one in grouping.kernels
            if "total" in (*one.group.stages, *one.group.inlined)}


def test_the_stage_that_reads_a_sum_at_its_own_coordinates_inlines_it() -> None:
    assert ("act", True, "total") in kernels(activated("nothing"))


def test_a_kernel_with_a_sum_is_not_merged_into_the_next_one() -> None:
    """In the blocks of `out`, which reads two rows of `act`, the model would judge the sum."""
    found = kernels(activated("two rows"))
    assert ("act", True, "total") in found and found <= {("act", True, "total"), ("total", False, "total")}


def test_a_sum_is_stored_if_the_stage_that_reads_it_is_inlined() -> None:
    """`out` would need four sums, not at its own coordinates."""
    assert kernels(activated("pooling")) == {("total", False, "total")}


@pytest.mark.parametrize(("count", "output"), [(20, "out"), (40, "total")])
def test_a_sum_is_stored_if_the_text_of_its_reader_has_no_room_for_it(count: int, output: str) -> None:
    flow = taps(count)
    assert fits(flow, frozenset(("cheap",))) and fits(flow, frozenset(("cheap", "total"))) == (output == "out")
    stored = {one for one, *_ in kernels(flow)}
    assert output in stored and stored <= {output, "total"}
