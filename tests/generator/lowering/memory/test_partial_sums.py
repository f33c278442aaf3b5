"""Sums that a block combines in shared memory: their text, layout, barriers and results in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import pytest

from generator.decisions.base import Known
from generator.decisions.combine import Combine
from generator.decisions.deciding import nearest
from generator.decisions.parts import THREAD_BYTES, parts_of
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import Barrier, For, walk
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.target import Dialect
from tests.support.plans import check_plan, lowered_kernels
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

COLUMNS = "for (int i = 0; i < 37; i++) for (int j = 0; j < 150; j++) v[j] += z[i] * A[i][j];"
ROWS = "for (int i = 0; i < 37; i++) for (int j = 0; j < 150; j++) w[i] += A[i][j] * x[j];"
TWO = "for (int i = 0; i < 37; i++) for (int j = 0; j < 150; j++) { w[i] += A[i][j]; v[j] += A[i][j]; }"
ALL = "for (int i = 0; i < 37; i++) for (int j = 0; j < 150; j++) s[0] += A[i][j];"


def program(body: str, kind: str = "float") -> Program:
    return program_of(scop(body, f"{kind} A[37][150], v[150], w[37], x[150], z[37], s[1];"))


def planned(body: str, tile: tuple[int, ...], block: tuple[int, ...], run: int = 1, vector: int = 1,
            combine: Combine = "shared") -> Plan:
    names = ("S0", "S1") if body is TWO else ("S0",)
    schedule = Partition((Group(names),), names) if body is TWO else ScheduleChoice(reductions=names)
    return Plan(schedule, (KernelPlan(names, tile, block, registers=True, run=run, vector=vector, combine=combine),))


@pytest.mark.parametrize("dialect", ["cuda", "opencl", "hip"])
def test_their_text(dialect: Dialect, golden: Callable[[str, str], None]) -> None:
    """Eight rows of threads store sums of four columns each as vectors, and wait once; each thread adds up a column."""
    plan, suffix = planned(COLUMNS, (32, 128), (8, 32), 4, 4), {"cuda": "cu", "opencl": "cl", "hip": "hip"}[dialect]
    golden(f"partial-sums.{suffix}", lower(program(COLUMNS), plan, replace(TARGET, dialect=dialect)).source)


@pytest.mark.parametrize(("body", "tile", "block", "barriers"), [
    (COLUMNS, (32, 256), (8, 32), 1),
    (ROWS, (8, 32), (8, 32), 2),  # 32 parts of each element: in two steps
    (TWO, (16, 16), (8, 8), 1),  # two arrays, the same barrier
    (ALL, (1, 64), (1, 64), 2),
    (COLUMNS, (8, 576), (8, 32), 5)])  # 18 sums per thread: six at a time
def test_barriers(body: str, tile: tuple[int, ...], block: tuple[int, ...], barriers: int) -> None:
    [kernel] = lowered_kernels(program(body), planned(body, tile, block), "cuda")
    loops = [node for node in walk(kernel.body) if isinstance(node, For)]
    inside = {id(one): loop.unroll for loop in loops for one in walk(loop.body) if isinstance(one, Barrier)}
    assert sum(inside.get(id(node), 1) for node in walk(kernel.body) if isinstance(node, Barrier)) == barriers


@pytest.mark.parametrize("kind", few(["int", "unsigned int", "long", "double", "float"], 2))
@pytest.mark.parametrize(("body", "tile", "block", "run", "vector"), few([
    (COLUMNS, (16, 128), (8, 8), 4, 4), (COLUMNS, (33, 36), (33, 2), 3, 1), (COLUMNS, (6, 240), (3, 5), 8, 4),
    (COLUMNS, (5, 64), (5, 8), 2, 1), (COLUMNS, (8, 98), (4, 7), 7, 1), (ROWS, (16, 64), (2, 64), 1, 1),
    (ROWS, (36, 17), (3, 17), 1, 1), (TWO, (12, 21), (4, 7), 3, 1), (TWO, (22, 24), (11, 4), 2, 1),
    (ALL, (1, 96), (1, 96), 1, 1), (ALL, (5, 40), (5, 20), 1, 1)], 4))
def test_results(body: str, kind: str, tile: tuple[int, ...], block: tuple[int, ...], run: int, vector: int) -> None:
    """Odd blocks and tiles, runs that are combined in parts, many rounds, 8 bytes per element."""
    check_plan(program(body, kind), planned(body, tile, block, run, vector))


@pytest.mark.parametrize(("block", "owned"), [
    ((8, 32), (1,)), ((8, 32), (0,)), ((16, 8), (1,)), ((16, 8), (0,)), ((4, 16), (1,)), ((4, 16), (0,)), ((64, 1), ()),
    ((256,), ()), ((4, 4, 32), (0, 2)), ((32, 4), (0,))])
@pytest.mark.parametrize("points", [1, 2, 4, 8])
def test_threads_of_a_warp_use_different_banks(block: tuple[int, ...], owned: tuple[int, ...], points: int) -> None:
    """When they store the parts of their first points; columns are read along rows."""
    parts = parts_of(block, owned, [(owned[-1], points)] if owned else [], 4)
    places = []
    for thread in product(*map(range, block)):
        lane, column = 0, 0
        for d, index in enumerate(thread):
            lane = lane if d in owned else lane * block[d] + index
        for d, size in zip(owned, parts.sizes, strict=True):
            column = column * size + thread[d]
        places.append(lane * parts.row + column)
    assert len(set(places)) == len(places) and max(places) < parts.lanes * parts.row
    assert all(len({place % 32 for place in places[k : k + 32]}) == 32 for k in range(0, prod(block), 32))


@pytest.mark.parametrize("points", [1, 2, 7, 12, 36, 64])
def test_parts_of_a_thread_are_limited(points: int) -> None:
    for size in (4, 8):
        parts = parts_of((8, 32), (1,), [(1, points)], size)
        assert parts.at_once[0] * size <= THREAD_BYTES and points % parts.at_once[0] == 0


@pytest.mark.parametrize("lanes", [2, 16, 17, 32, 48, 100, 256, 1000, 1024])
def test_many_rows_are_added_up_in_steps(lanes: int) -> None:
    left, steps = lanes, parts_of((lanes,), (), [], 4).steps
    for fewer in steps:
        assert fewer < left <= 16 * fewer
        left = fewer
    assert steps[-1] == 1 and len(steps) <= 3


@pytest.mark.parametrize(("body", "tile", "block"), [(COLUMNS, (16, 128), (8, 16)), (ROWS, (16, 64), (2, 64))])
@pytest.mark.parametrize("kind", ["double", "float"])
def test_they_fit_where_they_are_offered(body: str, tile: tuple[int, ...], block: tuple[int, ...], kind: str) -> None:
    """To the byte with doubles; parts of smaller elements need no more."""
    found, plan = program(body, kind), planned(body, tile, block)
    [kernel] = plan.kernels
    [lowered] = lowered_kernels(found, plan, "cuda")
    [shape] = kernel_shapes(found, plan.scheduled)

    def offered(room: int) -> bool:
        return nearest(kernel, Known(shape, replace(HOPPER, local_bytes=room), True)).combine == "shared"

    needed = next(room for room in range(lowered.local_bytes, 1 << 15, 8) if offered(room))
    assert not offered(lowered.local_bytes - 1) and (kind == "float" or lowered.local_bytes == needed)


@pytest.mark.parametrize(("body", "copies"), [(COLUMNS, False), (ROWS, True)])
def test_no_barrier_after_the_last_use_of_shared_memory(body: str, copies: bool) -> None:
    """A tile of terms that all fit is copied in one round: nothing waits after it."""
    plan = planned(body, (8, 32), (8, 32), combine="shared")
    plan = replace(plan, kernels=tuple(replace(one, shared=copies) for one in plan.kernels))
    source = lower(program(body), plan, replace(TARGET, dialect="cuda")).source
    last = source.rindex("__syncthreads")
    assert re.search(r"\w+_(parts|shared)\[", source[last:])


@in_turn
@pytest.mark.parametrize(("body", "tile", "block", "run"), few([
    (COLUMNS, (32, 128), (8, 32), 4), (ROWS, (8, 64), (4, 32), 1), (TWO, (22, 24), (11, 4), 2),
    (COLUMNS, (8, 288), (4, 16), 3)], 2))
def test_they_have_no_races(body: str, tile: tuple[int, ...], block: tuple[int, ...], run: int,
                            watched_gpu: WatchedGpu, tmp_path: Path) -> None:
    """Also with vectors and in rounds; without any of their barriers there are some."""
    text = scop(body, "float A[37][150], v[150], w[37], x[150], z[37], s[1];")
    found = read_untimed(write_c(text, tmp_path), Compilation(), None, None, {}, 1)
    plan = planned(body, tile, block, run, 4)
    watched_gpu.check(found, [plan])
    for number in range(lower(found.program, plan, watched_gpu.target).source.count("__syncthreads();")):
        watched_gpu.check_fault(found, plan, "race in shared memory", "__syncthreads();", number=number)
