"""What is decided once per kernel agrees with the exact check of each mapped tree."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.plan import KernelPlan
from generator.polyhedral.dependences.model import model
from generator.polyhedral.kit.tree import Band, Leaf, Tree, from_isl
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.mapped import check_mapped, legal_for_all_sizes
from generator.polyhedral.memory.mapping import map_kernel
from generator.polyhedral.schedules.kernels import KernelPart, dimension, schedule_kernels
from generator.polyhedral.schedules.legality import check_kernel, check_threads
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.programs import isl_schedule, program_of, scop
from tests.support.slow import few
from tests.support.suite import ALL_NAMES, polybench_program
from tests.support.trees import faulty

QUICK = ("gemm", "jacobi-2d", "lu", "adi", "covariance")
TRIANGLE = "for (i = 0; i < 9; i++) for (j = 0; j < 9 - i; j++) for (k = 0; k < 5; k++) A[i][j] += B[i][k] * A[i][j];"

BOX = "for (i = 1; i < 7; i++) for (j = 1; j < 7; j++) for (k = 1; k < 5; k++) A[j][i] += A[j][i] * B[k][i] + A[j][i];"


def mapped(program: Program, part: KernelPart, rng: np.random.Generator) -> tuple[KernelPlan, Tree]:
    """The tree of a kernel with random sizes."""
    blocks = [int(rng.integers(1, 7)) for _ in part.parallel]
    tiles = [block * int(rng.integers(1, 4)) for block in blocks]
    plan = KernelPlan(part.statements, tuple(tiles), tuple(blocks), shared=bool(rng.integers(2)),
                      inner_tile=int(rng.integers(1, 6)), points_inside=bool(rng.integers(2)))
    return plan, map_kernel(part, plan, fill_points(program, part)).tree


def exactly(part: KernelPart, tree: Tree) -> bool:
    try:
        check_threads(tree, part.dependences)
        check_kernel(tree, part.dependences)
    except IllegalPlan:
        return False
    return True


@pytest.mark.parametrize("name", few(ALL_NAMES, QUICK[:3]))
def test_what_is_legal_for_all_sizes_is_legal_for_each(name: str) -> None:
    program, rng = polybench_program(name), np.random.default_rng(3)
    parts = schedule_kernels(program, ScheduleChoice()).kernels
    sure = [part for part in parts if legal_for_all_sizes(part)]
    assert 2 * len(sure) > len(parts)
    for part in sure:
        for _ in range(4):
            plan, tree = mapped(program, part, rng)
            assert exactly(part, tree), plan


@pytest.mark.parametrize("body", few([TRIANGLE, BOX], 1))
def test_faults_in_a_part_are_never_taken_for_legal(body: str) -> None:
    """Loops reversed, swapped or taken for parallel: what is accepted for all sizes is right for random ones."""
    program, rng, counts = program_of(scop(body)), np.random.default_rng(1), Counter[tuple[bool, bool]]()
    part, = schedule_kernels(program, ScheduleChoice()).kernels
    for _ in range(120):
        wrong = replace(part, tree=faulty(part.tree, rng))
        if isinstance(wrong.tree, Band) and rng.integers(3) == 0:
            loops = tuple(dimension(member, part.domain) for member in wrong.tree.members)
            wrong = replace(wrong, parallel=(*part.parallel, *loops), tree=wrong.tree.child)
        plan, tree = mapped(program, wrong, rng)
        sure, legal = legal_for_all_sizes(wrong), exactly(wrong, tree)
        assert legal or not sure, plan
        counts[sure, legal] += 1
    assert counts[True, True] and counts[False, False], counts


def test_a_tile_may_be_legal_for_some_sizes_only() -> None:
    """The second loop goes back by one where the first goes on: tiles of both break that, the loops alone do not."""
    program = program_of(scop("for (i = 1; i < 9; i++) for (j = 0; j < 8; j++) A[i][j] = A[i - 1][j + 1];"))
    outer = from_isl(isl_schedule(program.schedule))
    assert isinstance(outer, Band) and isinstance(outer.child, Band)
    loops = Band((*outer.members, *outer.child.members), (False, False), True, Leaf())
    domain, dependences = model(program).domain, model(program).dependences
    part = KernelPart(("S0",), domain, (), (), loops, dependences)
    assert not legal_for_all_sizes(part)
    for size, legal in ((1, True), (3, False)):
        tree = map_kernel(part, KernelPlan(("S0",), (), (), inner_tile=size), fill_points(program, part)).tree
        assert exactly(part, tree) == legal


def test_what_is_legal_for_no_size_is_refused_as_ever() -> None:
    program = program_of(scop("for (i = 1; i < 9; i++) x[i] = x[i - 1];"))
    part, = schedule_kernels(program, ScheduleChoice()).kernels
    assert isinstance(part.tree, Band)
    wrong = replace(part, parallel=(dimension(part.tree.members[0], part.domain),), tree=part.tree.child)
    plan = KernelPlan(part.statements, (4,), (2,))
    with pytest.raises(IllegalPlan, match="crosses"):
        check_mapped(wrong, map_kernel(wrong, plan, ()).tree)
