"""Sioutas' scheduler: what it inlines, fuses and nests."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from antune import halide as hl
from explorer.plan_makers.choices import Choice, Grouping, kept
from explorer.plan_makers.greedy import greedy_plans
from explorer.plan_makers.nesting import nested, severe
from explorer.plan_makers.trivial import fits, trivial
from generator.dataflow import Dataflow
from generator.decisions.walk import STEPS
from generator.frontend_py.problem import program_of
from generator.polyhedral.memory.boxes import ring_rows
from generator.polyhedral.pipelines.dataflow import dataflow
from metrics.costs.base import Cost, Term
from metrics.costs.device import CostDevice, cost_device
from metrics.costs.groups import Group
from tests.support.costs import CPU, RTX_2080_TI, kwhz
from tests.support.suite import pipeline_program
from tests.support.targets import CPU as TWO_CORES

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
IMAGE = hl.ImageParam(hl.Float(32), 2, "image")


def flow(output: hl.Func, size: Sequence[int] = (1024, 1024)) -> Dataflow:
    return dataflow(program_of([output], size, "test"))


def kernel(group: Group, shared: float = 0.0, occupancy: float = 100.0, active: float = 1024.0) -> Choice:
    terms = (Term("shared memory", shared), Term("occupancy", occupancy), Term("active threads", active))
    return Choice(group, (16, 32), (16, 32), Cost(1.0, terms))


def test_stages_that_one_stage_reads_point_by_point_are_trivial() -> None:
    assert trivial(dataflow(pipeline_program("unsharp"))) == {"sharpen", "blur_x"}, "each colour reads a ratio again"
    assert "gray" not in trivial(dataflow(pipeline_program("harris")))


@pytest.mark.parametrize("how", ["in order", "a column", "transposed"])
def test_only_the_own_coordinates_of_the_reader_in_order_are_point_by_point(how: str) -> None:
    """A column, computed once per row of the result, may be a table of which each element takes long."""
    costly, out = hl.Func("costly"), hl.Func("out")
    if how == "a column":
        costly[x] = hl.exp(hl.sin(hl.f32(x))) * hl.sqrt(hl.f32(x) + 1.0)
        out[x, y] = IMAGE[x, y] * costly[x]
    else:
        costly[x, y] = hl.exp(hl.sin(IMAGE[x, y])) * hl.sqrt(IMAGE[x, y] + 1.0)
        out[x, y] = IMAGE[x, y] * (costly[x, y] if how == "in order" else costly[y, x])
    data = flow(out)
    assert trivial(data) == ({"costly"} if how == "in order" else frozenset())
    if how == "a column":
        found = greedy_plans(data, CPU).groupings[0].kernels
        assert {one.group.output for one in found} == {"costly", "out"}


def test_cheap_stages_are_trivial_whoever_reads_them() -> None:
    one, wide = hl.Func("one"), hl.Func("wide")
    one[x, y] = hl.f32(x)
    wide[x, y] = one[x, y] + one[x + 1, y] + one[x, y + 1]
    assert trivial(flow(wide)) == {"one"}


@pytest.mark.parametrize(("reads", "expected"), [(63, {"one", "other"}), (64, {"other"})])
def test_cheap_stages_are_trivial_only_if_texts_have_room_for_them(reads: int, expected: set[str]) -> None:
    """At most MAX_COPIES elements, with that of the reader."""
    one, other, wide, out = (hl.Func(name) for name in ("one", "other", "wide", "out"))
    one[x, y] = hl.f32(x)
    other[x, y] = hl.f32(y)
    wide[x, y] = hl.exp(sum((one[x + k, y] for k in range(1, reads)), one[x, y]))
    out[x, y] = other[x, y] + wide[x, y] + wide[x + 1, y]
    data = flow(out)
    assert trivial(data) == expected and fits(data, trivial(data))
    found = greedy_plans(data, RTX_2080_TI).groupings[0].kernels
    assert found and all(fits(data, kernel.group.inlined) for kernel in found)


@pytest.mark.parametrize("how", ["in order", "transposed"])
def test_cheap_stages_that_turn_rows_are_not_trivial_for_arrays_that_models_cannot_judge(how: str) -> None:
    """The loops of the running sum would read columns."""
    copied, running, r = hl.Func("copied"), hl.Func("running"), hl.RDom([(1, 1023)], "r")
    copied[x, y] = IMAGE[x, y] if how == "in order" else IMAGE[y, x]
    running[x, y] = copied[x, y]
    running[x, r] = running[x, r - 1] + copied[x, r]
    assert trivial(flow(running)) == ({"copied"} if how == "in order" else frozenset())


def test_what_many_points_read_is_not_inlined_and_what_is_read_once_is() -> None:
    found = greedy_plans(kwhz(), RTX_2080_TI).groupings[0]
    inlined = set().union(*(one.group.inlined for one in found.kernels))
    assert inlined == {"H", "K"}, "three elements of K per element of W; five of W per element of Z"


@pytest.mark.parametrize("device", [RTX_2080_TI, CPU])
def test_harris_is_one_kernel_as_in_the_paper(device: CostDevice) -> None:
    [kernel] = greedy_plans(dataflow(pipeline_program("harris")), device).groupings[0].kernels
    assert kernel.group.output == "harris" and {"gray", "ix", "iy"} <= {*kernel.group.members}
    assert {"det", "trace"} <= kernel.group.inlined


def test_the_next_best_come_in_the_order_of_their_costs() -> None:
    found = greedy_plans(dataflow(pipeline_program("harris")), RTX_2080_TI, count=12).groupings
    costs = [one.cost for one in found]
    assert costs == sorted(costs) and len({tuple(one.kernels) for one in found}) == len(found) > 8
    assert costs[0] == pytest.approx(greedy_plans(dataflow(pipeline_program("harris")), RTX_2080_TI).groupings[0].cost)


def test_the_best_tiles_of_all_groupings_on_the_way_are_compared() -> None:
    """The last fusions of max_filter save traffic, but raise the cost by which tiles are chosen."""
    flow, device = dataflow(pipeline_program("max_filter", "medium")), cost_device(TWO_CORES)
    found = [one for one in greedy_plans(flow, device, count=12).groupings if not one.note]
    kernels = [frozenset((one.group.output, one.group.members) for one in grouping.kernels) for grouping in found]
    fewest = min(kernels, key=len)
    assert len({*kernels}) > 2 and len(kernels[0]) > len(fewest)
    assert found == sorted(found, key=lambda one: one.cost) and found[0].cost < found[kernels.index(fewest)].cost
    assert greedy_plans(flow, device).groupings[0] == found[0]


def test_every_stage_is_in_one_kernel_inlined_or_left() -> None:
    for name in ("camera_pipe", "bilateral_grid"):
        data = dataflow(pipeline_program(name))
        made = greedy_plans(data, RTX_2080_TI)
        kernels = made.groupings[0].kernels
        stored = [stage for one in kernels for stage in one.group.stages] + [one.array for one in made.left]
        inlined = set().union(*(one.group.inlined for one in kernels))
        assert sorted([*stored, *inlined]) == sorted(node.array for node in data.nodes)


def test_what_data_decide_is_left_at_root_with_the_reason() -> None:
    made = greedy_plans(dataflow(pipeline_program("bilateral_grid")), RTX_2080_TI)
    assert [one.array for one in made.left] == ["histogram"] and "element by element" in made.left[0].reason
    assert all("histogram" not in one.group.stages for one in made.groupings[0].kernels)


def test_nesting_moves_k_into_the_threads_of_w_but_not_w_into_those_of_z() -> None:
    found = nested(kernel(Group(kwhz(), "Z", ("K", "W"), frozenset("H")), shared=40000))
    assert found is not None and found.moved == ("K",)
    assert found.group.members == ("W",) and found.group.inlined == {"H", "K"}
    assert found.in_rows == (), "rows of W are shared along the outermost loop of Z: W stays with the block"


@pytest.mark.parametrize(
    ("choice", "is_severe"),
    [
        ({"shared": 33000.0, "active": 800.0}, True),
        ({"shared": 32000.0, "active": 800.0}, False),
        ({"occupancy": 29.0, "active": 800.0}, True),
        ({"active": 901.0}, True),
        ({"active": 900.0}, False),
    ],
)
def test_only_kernels_with_severe_needs_nest(choice: dict[str, float], is_severe: bool) -> None:
    group = Group(kwhz(), "Z", ("K", "W"), frozenset("H"))
    assert severe(kernel(group, **choice)) == is_severe
    assert (nested(kernel(group, **choice)) is not None) == is_severe


def test_what_several_stages_of_the_kernel_read_stays_in_the_block() -> None:
    base, left, right, both = (hl.Func(name) for name in ("base", "left", "right", "both"))
    base[x, y] = IMAGE[x, y] * 2.0 + 1.0
    left[x, y], right[x, y] = base[x, y] + 1.0, base[x, y] * 3.0
    both[x, y] = left[x, y] * right[x, y]
    group = Group(flow(both), "both", ("base", "left", "right"))
    found = nested(kernel(group))
    assert found is not None and found.group.members == ("base",) and found.in_rows == ()


def columns_and_rows() -> Group:
    """Columns are shared along x only: a row of them per row of the result. Sums of rows are shared along y."""
    columns, sums, rows = hl.Func("columns"), hl.Func("sums"), hl.Func("rows")
    sums[x, y] = IMAGE[x, y] * 3.0 + IMAGE[x + 1, y]
    columns[x, y] = IMAGE[x, y] * 2.0 + IMAGE[x + 1, y]
    rows[x, y] = columns[x, y] + columns[x + 1, y] + columns[x + 2, y] + sums[x, y] + sums[x, y + 1]
    return Group(flow(rows), "rows", ("columns", "sums"))


def test_a_stage_shared_along_x_only_is_in_the_loop_over_rows() -> None:
    group = columns_and_rows()
    found = nested(kernel(group))
    assert found is not None and (found.moved, found.in_rows, found.walked) == ((), ("columns",), 0)
    assert found.group == group and set(found.wholes) == {(), ("sums",)}
    assert nested(kernel(group), rows=False) is None


def test_a_stage_that_needs_a_row_of_another_is_not_computed_for_the_whole_tile() -> None:
    """K in the loop over y of W, which Z reuses along y: W is a sliding window, as it needs K in every step."""
    k, w, z = hl.Func("k"), hl.Func("w"), hl.Func("z")
    k[x, y] = IMAGE[x, y] * 2.0 + IMAGE[x, y + 1]
    w[x, y] = k[x, y] + k[x + 1, y]
    z[x, y] = w[x, y] + w[x, y + 1] * 3.0
    found = nested(kernel(Group(flow(z), "z", ("k", "w"))))
    assert found is not None and (found.in_rows, found.wholes) == (("k",), ((),))


def test_dimensions_of_few_iterations_are_loops_inside_x() -> None:
    """Rows of unsharp's blurred image are shared by its colours and along x: still one row per row of the result."""
    group = Group(dataflow(pipeline_program("unsharp")), "unsharp", ("gray", "blur_y"),
                  frozenset(("ratio", "sharpen", "blur_x")))  # fmt: skip
    found = nested(kernel(group))
    assert found is not None and (found.in_rows, found.walked) == (("blur_y",), 1)
    assert set(found.wholes) == {(), ("gray",)}


@pytest.mark.parametrize("device", [RTX_2080_TI, CPU])
def test_blocks_with_stages_in_the_loop_over_rows_keep_a_step_of_them(device: CostDevice) -> None:
    """Both variants are there. The model knows the bytes of a step, as they are stored."""
    data = dataflow(pipeline_program("unsharp", "full"))
    made = greedy_plans(data, device, count=30).groupings
    [inside] = [one for one in made if one.note]
    assert inside.note == "blur_y, ratio in the loop over rows of the threads that read them"
    [one] = inside.kernels
    assert one.step is not None and one.step[0] == 1 and one.tile[1] > one.step[1] and one.block[1] <= one.step[1]
    width, rows = one.tile[2], one.step[1]
    shared = next(term.value for term in one.cost.terms if term.name == "shared memory")
    gray, blur_y, ratio = (width + 6) * ring_rows(rows + 6), (width + 6) * ring_rows(rows), width * ring_rows(rows)
    assert shared == 4 * (gray + blur_y + ratio), "seven taps each, and a ratio for all colours"
    assert one.tile[1] <= 128, "no space has higher tiles of such blocks"
    assert not device.host or (rows, one.whole) == (STEPS[0], ()), "all ways cost the same there"
    assert any(not other.note and other.kernels[0].group.members == ("gray", "blur_y", "ratio") for other in made)


def summed_per_point() -> Dataflow:
    """Sums of five elements, each for one point of the output: a reduction, which the greedy steps do not inline."""
    total, out, r = hl.Func("total"), hl.Func("out"), hl.RDom([(0, 5)], "r")
    total[x, y] = 0.0
    total[x, y] += IMAGE[x + r.x, y]
    out[x, y] = hl.sqrt(total[x, y]) + IMAGE[x, y]
    return flow(out)


@pytest.mark.parametrize("count", [2, 12])
def test_the_schedule_comes_with_overlapped_tiles_and_with_nested_stages(count: int) -> None:
    made = greedy_plans(summed_per_point(), RTX_2080_TI, count=count).groupings
    [nested_one] = [one for one in made if one.note]
    assert nested_one.note == "total in the threads that read it"
    assert [one.group.inlined for one in nested_one.kernels] == [{"total"}]
    overlapped = [one for one in made if not one.note]
    assert overlapped and all(one.group.members == ("total",) for one in overlapped[0].kernels)


def test_nested_stages_are_among_the_plans_although_all_others_cost_less() -> None:
    group = Group(summed_per_point(), "out", ("total",))
    cheap = [Grouping((Choice(group, (8, n), (8, n), Cost(float(n), ())),)) for n in (8, 16, 32)]
    dear = Grouping((Choice(group, (8, 64), (8, 64), Cost(64.0, ())),), "nested")
    assert kept([*cheap, dear], 3) == (*cheap[:2], dear)
    assert kept([dear, *cheap], 4) == (*cheap, dear) and kept([*cheap, dear], 1) == (cheap[0],)
    assert kept(cheap, 2) == tuple(cheap[:2])
