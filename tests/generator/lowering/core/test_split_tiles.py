"""Tiles of warps that lie in shared memory and in registers: values, text, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from antune import halide as hl
from generator.decisions.fractions import in_registers
from generator.errors import IllegalPlan, InputError
from generator.explain import explain
from generator.expr import Binary, Int, Name
from generator.frontend_py.problem import program_of
from generator.lowered_kernel import LoweredKernel
from generator.lowering import lower
from generator.lowering.core.held_stages import held_stages
from generator.lowering.memory.sub_tiles import HeldStage, most_words
from generator.lowering.memory.tile_rows import Span
from generator.nest import Declare, For, If, Node, Receive, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.memory.lanes import LaneCheck, SharedBox, Way
from generator.polyhedral.pipelines.sections import kernels_of
from generator.program import Program
from tests.support.faults import Fault, faults
from tests.support.interpreter import Device, run_original
from tests.support.lanes import random_chain, row_chain, split_plan, three_stages, with_tenths
from tests.support.orders import differences
from tests.support.plans import lowered_kernels
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET
from tests.support.targets import HOPPER
from tests.support.teams import chain, chain_plan

BLOCKS: dict[int, list[tuple[int, ...]]] = {
    1: [(32,), (64,)],
    2: [(1, 32), (2, 32), (4, 8), (2, 16), (4, 16), (2, 64), (32, 1)],
    3: [(1, 1, 32), (2, 2, 8), (2, 1, 16)],
}


def differing(program: Program, plan: Plan, kernels: tuple[LoweredKernel, ...], seed: int) -> list[str]:
    """What is wrong once the kernels have run in Python, every access checked."""
    variant = lower(program, plan, HOPPER)
    device = Device(program.with_arrays(variant.scratch), kernels, np.random.default_rng(seed))
    device.run(variant.host, {})
    return list(map(str, differences(program, device.memory, run_original(program))))


@pytest.mark.parametrize("seed", few(range(100), (2,)))
def test_random_stages_are_right(seed: int) -> None:
    """Warps of 32, 16 and 8 lanes along x, all fractions, distances of up to 40 points."""
    rng = np.random.default_rng(seed)
    dims = 3 if seed % 10 == 9 else int(rng.integers(1, 3))
    program = random_chain(rng, dims, (2, 2, 40)[int(rng.integers(3))]).program
    for _ in range(2 if seed < 3 else 4):
        block = BLOCKS[dims][int(rng.integers(len(BLOCKS[dims])))]
        points = tuple(map(int, rng.integers(1, [2, 3, 6][3 - dims :])))
        plan = split_plan(program, block, points, int(rng.integers(1, 11)))
        assert not differing(program, plan, lowered_kernels(program, plan, "cuda"), seed), plan.to_json()


@pytest.mark.parametrize("seed", few(range(60), 3))
def test_rows_that_follow_the_tile_in_other_ways_are_right(seed: int) -> None:
    """Twice as fast, half as fast, the same one; where lanes take turns with rows that is refused."""
    rng = np.random.default_rng(seed)
    program = row_chain(rng).program
    block = ((1, 32), (2, 32), (1, 64))[int(rng.integers(3))]
    plan = split_plan(program, block, (2 << int(rng.integers(2)), int(rng.integers(1, 4))), int(rng.integers(1, 11)))
    assert not differing(program, plan, lowered_kernels(program, plan, "cuda"), seed), plan.to_json()


@pytest.mark.parametrize("tenths", few(range(1, 11), (5,)))
def test_what_overlaps_is_in_shared_memory_and_the_rest_by_tenths(tenths: int) -> None:
    """4 points of 32 lanes; `one` is needed 2 + 1 points beyond the tile, `two` 1."""
    program = three_stages().program
    [kernel] = lowered_kernels(program, split_plan(program, (2, 32), (2, 4), tenths), "cuda")
    shared = 4 - in_registers(4, tenths)
    assert {box.name: box.sizes for box in kernel.shared} == {
        "one_here": (2, 3, shared * 32 + 3),
        "two_here": (2, 3, shared * 32 + 1),
    }


def test_the_fraction_is_rounded_to_whole_points() -> None:
    assert [in_registers(4, tenths) for tenths in range(11)] == [0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4]
    assert [in_registers(16, 5), in_registers(1, 10), in_registers(10, 3)] == [8, 1, 3]


def test_overlap_is_that_of_the_longest_way() -> None:
    """Section 1.3 of the specification: maxima in reverse order of the stages."""
    program = chain()
    schedule = chain_plan("block").schedule
    assert schedule is not None
    [kernel] = kernels_of(program, schedule)
    one, two = held_stages(kernel.section.program, kernel.part, (1, 32), (4, 2))
    assert (one.array, one.left, one.right, one.readers) == ("one", 0, 2, ("", "two"))
    assert (two.array, two.left, two.right, two.readers) == ("two", 0, 0, ("",))
    assert one.spans == (Span(0, 4, 0, 5), Span(1, 64, 0, 66)) and two.spans == (Span(0, 4, 0, 5), Span(1, 64, 0, 64))


def test_registers_are_counted_while_they_are_alive() -> None:
    def stage(name: str, *readers: str) -> HeldStage:
        return HeldStage(name, (Span(0, 32, 0, 32),), 0, 0, 0, readers)

    row = [stage("a", "b"), stage("b", "c"), stage("c", "")]
    assert most_words(row, [4, 4, 4]) == 8
    assert most_words([stage("a", "b", ""), *row[1:]], [4, 4, 4]) == 12
    assert most_words([], []) == 0


def nodes_under_conditions(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, If):
            yield from walk((*node.then, *node.otherwise))
        elif isinstance(node, For):
            yield from walk(node.body)


def test_the_text_has_named_scalars_and_shuffles_that_all_lanes_run() -> None:
    program = three_stages(320).program
    plan = split_plan(program, (2, 32), (2, 4), 5)
    [kernel] = lowered_kernels(program, plan, "cuda")
    assert not any(node.sizes for node in walk(kernel.body) if isinstance(node, Declare))
    [inside] = [node.then for node in kernel.body if isinstance(node, If)]  # warps with a tile of their own
    assert sum(isinstance(node, Receive) for node in inside) == sum(isinstance(n, Receive) for n in walk(kernel.body))
    assert not any(isinstance(node, Receive) for node in nodes_under_conditions(inside))
    cuda = lower(program, plan, HOPPER).source
    assert "two_k3_r1; // two, sub-tile 3: one point per lane" in cuda
    assert "__shfl_sync(0xffffffffu, one_k2_r0, (t1 + 30) % 32)" in cuda and "__syncthreads" not in cuda
    opencl = lower(program, plan, replace(TARGET, sub_group=32)).source
    assert "sub_group_shuffle(one_k2_r0, (t1 + 30) % 32)" in opencl
    hip = lower(program, plan, replace(HOPPER, dialect="hip", capability=None)).source
    assert "__shfl(one_k2_r0, (t1 + 30) % 32, 32)" in hip
    assert "tenths of the tile in registers 5, tiles shared by a sub-group" in explain(program, plan, HOPPER)


@pytest.mark.slow
def test_faults_are_seen_by_those_who_run_it() -> None:
    """Each shuffle that asks another lane, and each barrier that is gone."""
    program = three_stages(128, 3).program
    plan = split_plan(program, (1, 32), (1, 4), 5)
    [kernel] = lowered_kernels(program, plan, "cuda")
    wrong = [fault for fault in faults(kernel) if fault.kind in ("other lane", "barrier dropped")]
    assert len(wrong) > 10
    assert not [fault for fault in wrong if not _is_seen(program, plan, fault)]


def _is_seen(program: Program, plan: Plan, fault: Fault) -> bool:
    try:
        return bool(differing(program, plan, (fault.kernel,), 3))
    except AssertionError:
        return True


LANE = Name("t0")
BEFORE = Binary("%", Binary("+", LANE, Int(31)), Int(32))
PLACE = Binary("+", Binary("*", Int(64), Name("b0")), Binary("+", LANE, Int(32)))


def lane_check(width: int = 32) -> LaneCheck:
    """Of `a`, a box of 32 elements before what lanes hold in `r`: one each."""
    check = LaneCheck({"a": (256,)}, [("b0", 0, 2)], [("t0", 0, 31)],
                      {"a_here": SharedBox("a", (Binary("*", Int(64), Name("b0")),), (width,))})  # fmt: skip
    check.hold("r", "a", (PLACE,), None)
    return check


def ways(lane: Binary = BEFORE, bound: int = 1, subscript: int = 31) -> list[Way]:
    return [Way(None, "r", "", (lane,)),
            Way(Binary("<", LANE, Int(bound)), "", "a_here", (Binary("+", LANE, Int(subscript)),))]  # fmt: skip


def test_right_lanes_pass_the_check() -> None:
    lane_check().read("a", (Binary("-", PLACE, Int(1)),), None, ways())


@pytest.mark.parametrize(("width", "wrong"), [
    (32, ways(Binary("%", Binary("+", LANE, Int(30)), Int(32)))),
    (32, ways(Binary("+", LANE, Int(31)))),
    (32, ways(bound=0)),
    (32, ways(bound=2)),
    (32, ways(subscript=30)),
    (31, ways()),
    (32, [Way(None, "s", "", (BEFORE,)), ways()[1]]),
    (32, [replace(ways()[0], when=Binary(">", LANE, Int(1))), ways()[1]]),
])  # fmt: skip
def test_lanes_that_get_something_else_are_refused(width: int, wrong: list[Way]) -> None:
    """The lane, the lanes for which it is, the subscript, the size of the box, the variable, lanes without any."""
    with pytest.raises(IllegalPlan, match="a lane would"):
        lane_check(width).read("a", (Binary("-", PLACE, Int(1)),), None, wrong)


def test_rows_twice_as_fast_are_refused_where_lanes_take_turns_with_them() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image, one, out = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("one"), hl.Func("out")
    one[x, y] = image[x, y] + 1
    out[x, y] = one[x, 2 * y] + one[x + 1, y // 2]
    program = program_of([out], [64, 8])
    with pytest.raises(IllegalPlan, match="reads `one` at distances that are not constant"):
        lower(program, split_plan(program, (4, 8), (1, 2), 5), HOPPER)
    with pytest.raises(IllegalPlan, match="reads `one` at distances that are not constant"):
        lower(program, split_plan(program, (1, 32), (2, 2), 5), HOPPER)  # one of them moves by 4, the other by 1


def test_lanes_that_hold_nothing_are_refused() -> None:
    check = lane_check()
    check.hold("r", "a", (PLACE,), Binary("<", LANE, Int(20)))
    with pytest.raises(IllegalPlan, match="a lane would not get"):
        check.read("a", (PLACE,), None, [Way(None, "r", "", (LANE,))])
    check.read("a", (PLACE,), Binary("<", LANE, Int(20)), [Way(None, "r", "", (LANE,))])


@pytest.mark.parametrize("way", [
    Way(None, "r", "", (Binary("+", LANE, Int(1)),)),
    Way(None, "", "a_here", (LANE,)),
])  # fmt: skip
def test_a_value_with_one_way_is_read_under_the_guard(way: Way) -> None:
    """The last lane has no neighbour, and no element in a box of 31; only where it does not read is that right."""
    check = lane_check(31)
    wanted = Binary("+", PLACE, Int(1)) if way.register else Binary("+", Binary("*", Int(64), Name("b0")), LANE)
    check.read("a", (wanted,), Binary("<", LANE, Int(31)), [way])
    with pytest.raises(IllegalPlan, match="a lane would not get"):
        check.read("a", (wanted,), None, [way])


def test_rows_of_lanes_beyond_the_tile_read_nothing() -> None:
    """Whole sub-tiles further to the left all is in shared memory: there is one way, and the last rows have none."""
    x, y = hl.Var("x"), hl.Var("y")
    image, one, two, out = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("one"), hl.Func("two"), hl.Func("out")
    one[x, y] = image[x, y] + 1
    two[x, y] = one[x, y] + one[x + 8, y]
    out[x, y] = two[x, y + 1] + two[x, y] + two[x + 8, y]
    program = program_of([out], [100, 9])
    plan = split_plan(program, (4, 8), (1, 4), 5)
    assert not differing(program, plan, lowered_kernels(program, plan, "cuda"), 1)


def stages(kind: str) -> Program:
    """Two stages at distances that are not constant, or not along x."""
    x, y = hl.Var("x"), hl.Var("y")
    image, one, out = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("one"), hl.Func("out")
    if kind == "column":
        one[y] = image[0, y]
        out[x, y] = one[y] + one[y + 1]
    elif kind == "half":
        one[x, y] = hl.cast(hl.Float(16), image[x, y])
        out[x, y] = hl.i32(hl.f32(one[x, y]))
    else:
        one[x, y] = image[x, y] + 1
        at = {"faster": (2 * x, y), "turned": (y, x), "data": (hl.clamp(image[x, y], 0, 9), y)}[kind]
        out[x, y] = one[at] + one[x, y] if kind != "faster" else one[at]
    return program_of([out], [64, 64] if kind == "turned" else [64, 8])


@pytest.mark.parametrize(("kind", "words"), [
    ("faster", "reads `one` at distances that are not constant"),
    ("turned", "reads `one` at distances that are not constant"),
    ("data", "reads `one` at distances that are not constant"),
    ("column", "`one` is the same for all points along x"),
    ("half", "`one` has elements of 16 bits"),
])  # fmt: skip
def test_stages_that_lanes_cannot_hold_are_refused(kind: str, words: str) -> None:
    program = stages(kind)
    plan = split_plan(program, (1, 32), (1, 2), 5)
    lower(program, with_tenths(plan, 0), HOPPER)
    with pytest.raises(IllegalPlan, match=words):
        lower(program, plan, HOPPER)


def test_a_constant_column_lies_along_y_alone() -> None:
    """A stage without some dimension of the output but x is there once for all."""
    x, y = hl.Var("x"), hl.Var("y")
    image, one, out = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("one"), hl.Func("out")
    one[x] = image[x] * 3
    out[x, y] = one[x] + one[x + 1] + y
    program = program_of([out], [150, 8])
    for block, tenths in product(((2, 32), (4, 8)), (5, 10)):
        plan = split_plan(program, block, (2, 4), tenths)
        assert not differing(program, plan, lowered_kernels(program, plan, "cuda"), 1)


@pytest.mark.parametrize(("change", "words"), [
    ({"level": "block"}, "only tiles of sub-groups have lanes"),
    ({"shared": True}, "decides nothing but tile, block, order"),
    ({"walk": 2, "tile": (8, 128)}, "decides nothing but tile, block, order"),
    ({"vector": 4}, "decides nothing but tile, block, order"),
    ({"tile": (64, 512)}, "sub-tiles in registers would be as many pieces of text"),
])  # fmt: skip
def test_plans_that_want_more_are_refused(change: dict[str, object], words: str) -> None:
    plan = with_tenths(chain_plan("sub-group", (8, 128), (4, 32)), 5)
    [kernel] = plan.kernels
    wrong = replace(plan, kernels=(replace(kernel, **change),))  # type: ignore[arg-type]  # parameters are of any type
    with pytest.raises(IllegalPlan, match=words):
        lower(chain(), wrong, HOPPER)


def test_plans_are_stored() -> None:
    plan = with_tenths(chain_plan("sub-group"), 5)
    assert "in_registers" not in chain_plan("sub-group").to_json() and '"in_registers":5' in plan.to_json()
    assert plan_from_json(plan.to_json()) == plan and plan.digest != chain_plan("sub-group").digest
    for bad in ("11", "-1", "0.5", "true"):
        with pytest.raises(InputError, match="use a number of tenths from 0 to 10"):
            plan_from_json(plan.to_json().replace('"in_registers":5', f'"in_registers":{bad}'))


@in_turn
def test_order_padding_and_exchange_go_with_it() -> None:
    program = three_stages(150, 9).program
    plan = split_plan(program, (1, 32), (2, 3), 5)
    for change in ({"padding": 1}, {"exchange": True}, {"unroll": 2}, {"columns": True}, {"order": (1, 0)}):
        kernel: KernelPlan = replace(plan.kernels[0], **change)
        changed = replace(plan, kernels=(kernel,))
        assert not differing(program, changed, lowered_kernels(program, changed, "cuda"), 1), change
