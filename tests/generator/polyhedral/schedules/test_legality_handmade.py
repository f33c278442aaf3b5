"""Illegal plans made by hand are refused, with the violated dependence or rule in words."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl
import pytest

from generator.errors import IllegalPlan
from generator.expr import Binary, Int, Load, Name
from generator.lowering.memory.barriers import check_barriers
from generator.lowering.memory.staging import CopiedBox, copied_boxes
from generator.nest import Barrier, For, If, Instance
from generator.plan import KernelPlan
from generator.polyhedral.dependences.model import model
from generator.polyhedral.kit.tree import Band, Launch, Leaf, Mapping, Sequence, Tree, from_isl
from generator.polyhedral.memory.copied import Copied, check_copied
from generator.polyhedral.memory.entries import corner_values
from generator.polyhedral.memory.extents import Extent
from generator.polyhedral.memory.footprint import FillPoint, StagedArray, fill_points
from generator.polyhedral.memory.mapping import map_kernel
from generator.polyhedral.schedules.kernels import KernelPart, dimension, schedule_kernels
from generator.polyhedral.schedules.legality import check_host, check_kernel, check_threads
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.programs import isl_schedule, program_of, scop

PREFIX = program_of(scop("for (i = 1; i < 6; i++) x[i] = x[i - 1] + y[i];"))
CHAIN = program_of(scop("for (i = 0; i < 6; i++) x[i] = i;\nfor (i = 1; i < 6; i++) y[i] = x[i - 1];"))
GEMM = program_of(scop("for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) { A[i][j] = 0; for (k = 0; k < 8; k++) "
                       "A[i][j] += B[i][k] * C[k][j]; }", "double A[16][16], B[16][16], C[16][16];"))


def refusal(tree: Tree, dependences: object) -> str:
    with pytest.raises(IllegalPlan) as caught:
        check_threads(tree, dependences)
        check_kernel(tree, dependences)
    return str(caught.value)


def member(text: str) -> object:
    return isl.UnionPwAff(text)


def band(text: str, child: Tree | None = None) -> Band:
    return Band((member(text),), (False,), False, child or Leaf())


def original(program: Program) -> Tree:
    return from_isl(isl_schedule(program.schedule))


def test_the_original_order_is_legal() -> None:
    for program in (PREFIX, CHAIN, GEMM):
        check_threads(original(program), model(program).dependences)
        check_kernel(original(program), model(program).dependences)


def test_a_reversed_loop() -> None:
    message = refusal(band("{ S0[i] -> [(-i)] }"), model(PREFIX).dependences)
    assert message == "a loop runs a dependence backwards: S0(i=2) depends on S0(i=1)"


def test_no_loop_at_all() -> None:
    assert refusal(Leaf(), model(PREFIX).dependences).startswith("nothing orders two dependent instances: S0(i=")


def test_a_loop_that_merges_iterations() -> None:
    message = refusal(band("{ S0[i] -> [(floor(i / 2))] }"), model(PREFIX).dependences)
    assert message.startswith("nothing orders two dependent instances: S0(i=")


def test_statements_in_the_wrong_order() -> None:
    tree = original(CHAIN)
    assert isinstance(tree, Sequence)
    swapped = Sequence(tree.filters[::-1], tree.children[::-1])
    assert refusal(swapped, model(CHAIN).dependences).startswith(
        "the order of statements runs a dependence backwards: S1(i=")


def test_fused_too_early() -> None:
    tree = band("{ S0[i] -> [(i)]; S1[i] -> [(i - 2)] }")
    assert "S1(i=" in refusal(tree, model(CHAIN).dependences)


@pytest.mark.parametrize("block", [1, 2])
def test_a_parallel_loop_that_carries_a_dependence(block: int) -> None:
    part = schedule_kernels(PREFIX, ScheduleChoice()).kernels[0]
    loop = part.tree
    assert isinstance(loop, Band)
    assert part.parallel == ()
    wrong = KernelPart(part.statements, part.domain, (), (dimension(loop.members[0], part.domain),), Leaf(),
                       model(PREFIX).dependences)
    mapped = map_kernel(wrong, KernelPlan(part.statements, (4,), (block,)), ())
    assert refusal(mapped.tree, wrong.dependences).startswith("a dependence crosses blocks of one launch: S0(i=")
    one_block = map_kernel(wrong, KernelPlan(part.statements, (8,), (8,)), ())
    assert refusal(one_block.tree, wrong.dependences).startswith("a dependence crosses threads of one launch: S0(i=")


def test_a_loop_inside_the_kernel_orders_within_a_thread_only() -> None:
    """`for k: parallel i: y[i] = x[i+1]; x[i] = y[i]` needs two launches per k."""
    stencil = program_of(scop("for (k = 0; k < 3; k++) for (i = 0; i < 6; i++) A[k + 1][i + 1] = A[k][i];"))
    tree = Band((member("{ S0[k, i] -> [(k)] }"),), (False,), False,
                Mapping("thread", ("t0",), (member("{ S0[k, i] -> [(i)] }"),), Leaf()))
    assert refusal(tree, model(stencil).dependences).startswith(
        "a dependence crosses threads of one launch: S0(k=1, i=")


def test_parts_of_a_kernel_in_different_threads() -> None:
    """A sequence inside a kernel orders nothing between threads, even where every part is parallel by itself."""
    first, second = (isl.UnionSet(CHAIN.statement(name).domain) for name in ("S0", "S1"))

    def threads(text: str) -> Mapping:
        return Mapping("thread", ("t0",), (member(text),), Leaf())

    tree = Sequence((first, second), (threads("{ S0[i] -> [(i)] }"), threads("{ S1[i] -> [(i)] }")))
    assert refusal(tree, model(CHAIN).dependences).startswith("a dependence crosses threads of one launch: S1(i=")
    legal = Sequence((first, second), (threads("{ S0[i] -> [(i)] }"), threads("{ S1[i] -> [(i - 1)] }")))
    check_threads(legal, model(CHAIN).dependences)
    check_kernel(legal, model(CHAIN).dependences)


def test_launches_in_the_wrong_order() -> None:
    first, second = (isl.UnionSet(CHAIN.statement(name).domain) for name in ("S0", "S1"))
    with pytest.raises(IllegalPlan, match=r"the launch order runs a dependence backwards: S1\(i="):
        check_host(Sequence((second, first), (Launch(0), Launch(1))), model(CHAIN).dependences, {})
    with pytest.raises(IllegalPlan, match=r"a host loop runs a dependence backwards: S0\(i=2\) depends on S0\(i=1\)"):
        check_host(band("{ S0[i] -> [(-i)] }", Launch(0)), model(PREFIX).dependences, {})
    left = check_host(Launch(0), model(PREFIX).dependences, {})
    assert left[0].is_equal(model(PREFIX).dependences)


def gemm_part() -> KernelPart:
    part, = schedule_kernels(GEMM, ScheduleChoice()).kernels
    return part


def copies_of(part: KernelPart, plan: KernelPlan, points: tuple[FillPoint, ...]) -> list[CopiedBox]:
    return list(copied_boxes(GEMM, part, plan, points, set(), ()))


def check(part: KernelPart, plan: KernelPlan, point: FillPoint, copied: Copied) -> None:
    mapped = map_kernel(part, plan, fill_points(GEMM, part))
    check_copied(GEMM, part, point, copied, corner_values(part, plan, point, mapped, ()))


def test_a_shared_copy_of_an_array_written_in_the_launch() -> None:
    part, points = gemm_part(), fill_points(GEMM, gemm_part())
    plan = KernelPlan(part.statements, (4, 4), (2, 2), shared=True, inner_tile=4)
    corner = (Binary("*", Int(4), Name("b0")), Binary("*", Int(4), Name("b1")))
    staged = StagedArray("A", (Extent((1, 0), (0,), 0, 0), Extent((0, 1), (0,), 0, 0)), ())
    with pytest.raises(IllegalPlan, match=r"`A` has a shared copy but S\d writes it in the same launch"):
        check(part, plan, points[-1], Copied(staged, corner, (4, 4), (False, False), (False, False)))


@pytest.mark.parametrize("inner_tile", [1, 4])
def test_a_shared_copy_that_is_too_small(inner_tile: int) -> None:
    part, points = gemm_part(), fill_points(GEMM, gemm_part())
    plan = KernelPlan(part.statements, (4, 4), (2, 2), shared=True, inner_tile=inner_tile)
    found = copies_of(part, plan, points)
    assert found
    for box in found:
        point, copied = points[box.point], box.copied
        check(part, plan, point, copied)
        for dim in range(2):
            less = tuple(size - (d == dim) for d, size in enumerate(copied.sizes))
            with pytest.raises(IllegalPlan, match=rf"reads `{box.array}` outside its shared copy: local subscript "
                                                  rf"{dim} goes from 0 to {less[dim]}"):
                check(part, plan, point, replace(copied, sizes=less))
        moved = replace(copied, corner=tuple(Binary("+", first, Int(1)) for first in copied.corner))
        with pytest.raises(IllegalPlan, match="outside its shared copy: local subscript 0 goes from -1"):
            check(part, plan, point, moved)


def test_a_shared_copy_that_leaves_its_array() -> None:
    """Of 16 x 16 elements, blocks copy those at 0 or 4 at first; longer boxes reach 20."""
    part, points = gemm_part(), fill_points(GEMM, gemm_part())
    plan = KernelPlan(part.statements, (4, 4), (2, 2), shared=True, inner_tile=4)
    box = copies_of(part, plan, points)[0]
    longer = replace(box.copied, sizes=(16, 16))
    with pytest.raises(IllegalPlan, match=f"the shared copy of `{box.array}` leaves it: subscript 0 goes from 0 to 19"):
        check(part, plan, points[box.point], longer)
    check(part, plan, points[box.point], replace(longer, above=(True, True)))


def loop(iterator: str, end: Binary | Int | Name, *body: For | If | Barrier | Instance) -> For:
    return For(iterator, Int(0), Binary("<", Name(iterator), end), 1, body)


def test_barriers() -> None:
    threads = ("t0",)
    uniform = loop("c", Name("b0"), Instance("S0", ()), Barrier())
    check_barriers((uniform, Barrier(), loop("d", Name("t0"), Instance("S0", ()))), threads)
    with pytest.raises(IllegalPlan, match="a barrier would stand under a condition"):
        check_barriers((loop("c", Int(3), If(Binary("<", Name("c"), Int(2)), (Barrier(),))),), threads)
    with pytest.raises(IllegalPlan, match="a barrier would stand under a condition"):
        check_barriers((If(Name("b0"), (), (loop("c", Int(3), Barrier()),)),), threads)
    with pytest.raises(IllegalPlan, match="in a loop whose bounds differ between threads"):
        check_barriers((loop("c", Binary("-", Int(9), Name("t0")), Barrier()),), threads)
    for condition, uniform_one in (
        (Binary(">=", Name("b0"), Name("c")), True),
        (Binary("<", Name("t0"), Int(3)), False),
        (Binary("<", Load("A", (Name("b0"),)), Int(3)), False),
    ):
        body = (loop("c", Int(3), If(condition, (Barrier(),))),)
        if uniform_one:
            check_barriers(body, threads, branches=True)
        else:
            with pytest.raises(IllegalPlan, match="a barrier would stand under a condition"):
                check_barriers(body, threads, branches=True)
    inside = If(Name("b0"), (loop("c", Name("t0"), Barrier()),))
    with pytest.raises(IllegalPlan, match="in a loop whose bounds differ between threads"):
        check_barriers((inside,), threads, branches=True)
    derived = loop("c", Name("t0"), loop("d", Name("c"), Barrier()))
    with pytest.raises(IllegalPlan, match="in a loop whose bounds differ between threads"):
        check_barriers((derived,), threads)
