"""Copies a tile ahead: where they are, and that what kernels compute stays the same, checked in Python."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.nest import Barrier, Declare, Node, walk
from generator.plan import KernelPlan
from tests.support.plans import check_plan, lowered_kernels, planned
from tests.support.slow import few

PRODUCT = "for (i = 0; i < 8; i++) for (j = 0; j < 12; j++) for (k = 0; k < {n}; k++) A[i][j] += B[i][k] * C[k][j];"
DECLARED = "float A[8][12], B[8][20], C[20][12], T[12][12], s[12], t[12];"
TILES = KernelPlan((), (4, 8), (2, 4), shared=True, inner_tile=4, ahead=True)


def body(text: str, kernel: KernelPlan) -> tuple[Node, ...]:
    """The only kernel of a program by a plan, which computes what the original does, without a race."""
    program, plan = planned(text, DECLARED, kernel)
    check_plan(program, plan, seeds=2)
    [lowered] = lowered_kernels(program, plan)
    return lowered.body


def held(nodes: tuple[Node, ...]) -> dict[str, tuple[int, ...]]:
    """What threads hold for the next tile."""
    return {node.name: node.sizes for node in walk(nodes) if isinstance(node, Declare) and node.name.endswith("_next")}


@pytest.mark.parametrize("inside", few([False, True], 1))
@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("n", few([20, 4, 10], 1))
def test_products(n: int, registers: bool, inside: bool) -> None:
    kernel = replace(TILES, registers=registers, points_inside=inside)
    made = body(PRODUCT.format(n=n), kernel)
    assert held(made) == ({"B_shared_next": (2,), "C_shared_next": (4,)} if n > 4 else {}), "one tile has no next one"
    before = body(PRODUCT.format(n=n), replace(kernel, ahead=False))
    assert sum(node == Barrier() for node in walk(made)) == sum(node == Barrier() for node in walk(before)) == 2


def test_vectors_are_held_as_vectors() -> None:
    assert held(body(PRODUCT.format(n=20), replace(TILES, vector=4))) == {
        "B_shared_next": (1, 4), "C_shared_next": (1, 4)}


def test_threads_without_a_part() -> None:
    """12 elements of a copy among 8 threads."""
    kernel = replace(TILES, tile=(4, 8), inner_tile=3)
    assert held(body(PRODUCT.format(n=9), kernel)) == {"B_shared_next": (2,), "C_shared_next": (3,)}


def test_what_the_kernel_writes_is_not_read_earlier() -> None:
    """Each step reads a row of A that the step before wrote."""
    text = "for (k = 1; k < 8; k++) for (j = 0; j < 12; j++) A[k][j] = A[k - 1][j] * t[j] + s[k];"
    kernel = replace(TILES, tile=(4,), block=(2,))
    assert not any(name.startswith("A") for name in held(body(text, kernel)))


def test_more_than_threads_hold_stays() -> None:
    assert held(body(PRODUCT.format(n=20), replace(TILES, tile=(8, 8), block=(1, 2), inner_tile=20))) == {}


def test_loops_that_begin_anywhere() -> None:
    """A triangle, in blocks of rows."""
    text = "for (i = 0; i < 12; i++) for (j = 0; j < 12; j++) for (k = 2; k < 12; k++) T[i][j] += C[k][i] * C[k][j];"
    assert held(body(text, replace(TILES, tile=(4, 4), block=(2, 2))))
