"""How many threads work at the same time, against counts of all instances, thread by thread."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import product
from statistics import fmean, median
from time import process_time

import islpy as isl
import pytest

from generator.lowering.analysis import parallelism as counting
from generator.lowering.analysis.parallelism import (
    BlockCounts,
    active_threads,
    block_counts,
    busy_threads,
    mean,
    parallelism,
)
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.kit.tree import Leaf
from generator.polyhedral.memory.diagonals import with_inner_tiles
from generator.polyhedral.schedules.kernels import KernelPart, dimension, schedule_kernels
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.time_tiles import TimeTiles
from tests.support.hyperplanes import SEIDEL_TILES
from tests.support.suite import ODD_SIZES, TARGET, large_program, polybench_program

STEPS, N = 5, 20


def seidel() -> Program:
    return polybench_program("seidel-2d", (f"TSTEPS={STEPS}", f"N={N}"))


def tiles_of(sizes: tuple[int, int, int]) -> dict[int, set[tuple[int, ...]]]:
    """By launch the tiles that hold an instance of seidel-2d."""
    found = defaultdict(set)
    for t, i, j in product(range(STEPS), range(1, N - 1), range(1, N - 1)):
        tile = tuple(row // size for row, size in zip((t, t + i, 2 * t + i + j), sizes, strict=True))
        found[sum(tile)].add(tile)
    return found


@pytest.mark.parametrize("sizes", [(2, 8, 16), (1, 4, 4), (4, 4, 8)])
def test_blocks_with_work(sizes: tuple[int, int, int]) -> None:
    tiles, schedule = tiles_of(sizes), Hyperplanes((replace(SEIDEL_TILES, wavefront=sizes),))
    [alone] = parallelism(seidel(), Plan(schedule, (KernelPlan(("S0",), (1, 1), (1, 1)),)))
    [inside] = parallelism(seidel(), Plan(schedule, (KernelPlan(("S0",), (1, 1), (1, 2), diagonals=True),)))
    assert alone.launches == inside.launches == len(tiles) and alone.threads == 1
    assert alone.blocks == inside.blocks == sum(map(len, tiles.values())) / len(tiles)
    numbers = sorted(map(len, tiles.values()))
    expected = BlockCounts(tuple(numbers), len(tiles))
    assert expected.median == median(numbers) and expected.mean(2) == fmean(min(number, 2) for number in numbers)
    assert alone.counts == inside.counts == expected and expected.least < expected.most


def test_blocks_of_many_launches_are_counted_for_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_LAUNCHES", 5)
    [found] = parallelism(seidel(), Plan(Hyperplanes((SEIDEL_TILES,)), (KernelPlan(("S0",), (1, 1), (1, 1)),)))
    assert found.counts is not None and found.counts.launches <= 5 < found.launches


def test_millions_of_launches_are_not_enumerated() -> None:
    """A hundred million launches of 1 to 4 blocks, and every other value of the host loop runs nothing."""
    domain = isl.UnionSet("{ S[t, i] : 0 <= t < 100000000 and t mod 2 = 0 and 0 <= i <= (t mod 8) / 2 }")
    members = [isl.UnionPwAff(f"{{ S[t, i] -> [({name})] }}") for name in "ti"]
    row = dimension(members[1], domain)
    part = KernelPart(("S",), domain, (members[0],), (row,), Leaf(), isl.UnionMap("{ }"))
    start = process_time()
    found = block_counts(part, KernelPlan(("S",), (1,), (1,)))
    assert process_time() - start < 10
    assert found is not None and (found.least, found.most) == (1, 4) and 400 < found.launches < 600
    assert found.mean() == pytest.approx(2.5, rel=0.1)


@pytest.mark.parametrize(("sizes", "block", "inner"), [
    ((2, 8, 16), (2, 8), 1), ((2, 8, 16), (2, 3), 1), ((4, 4, 4), (1, 1), 1), ((8, 4, 2), (3, 2), 1),
    ((2, 8, 16), (1, 4), 2), ((4, 8, 16), (2, 2), 4)])
def test_threads_of_a_tile(sizes: tuple[int, int, int], block: tuple[int, int], inner: int) -> None:
    """All three rows are summed up; the longest, the first of equal ones, follows from the others."""
    [whole] = schedule_kernels(seidel(), Hyperplanes((replace(SEIDEL_TILES, wavefront=sizes),))).kernels
    part, free = with_inner_tiles(whole, inner), [row for row in range(3) if row != sizes.index(max(sizes))]
    sizes = (sizes[0] // min(inner, sizes[0]), sizes[1] // inner, sizes[2] // inner) if inner > 1 else sizes
    work: dict[int, dict[tuple[int, ...], int]] = defaultdict(lambda: defaultdict(int))
    for place in product(*map(range, sizes)):
        work[sum(place)][tuple(place[row] % count for row, count in zip(free, block, strict=True))] += 1
    longest = sum(max(threads.values()) for threads in work.values())
    plan = KernelPlan(("S0",), (1, 1), block, diagonals=True)
    assert busy_threads(part, plan) == pytest.approx(sizes[0] * sizes[1] * sizes[2] / longest)
    assert active_threads(part, plan) == pytest.approx(sum(map(len, work.values())) / len(work))


def test_boxes_are_counted_exactly() -> None:
    """Two sweeps of 35 x 35 points in tiles of 32 x 32, with 16 x 32 threads in a full one."""
    found = polybench_program("jacobi-2d", ODD_SIZES["jacobi-2d"])
    plan = default_plan(found, TARGET)
    kernels = [one for one in parallelism(found, plan) if one.blocks > 1]
    assert kernels and all(one.exact and one.total <= one.blocks * 512 for one in kernels)
    assert parallelism(found, Plan(TimeTiles(2), plan.kernels)) == ()


def test_seidel_fills_a_gpu() -> None:
    """At LARGE, in tiles of 8 x 32 x 32: docs/schedules.md has the numbers."""
    schedule = Hyperplanes((replace(SEIDEL_TILES, wavefront=(8, 32, 32)),))
    alone, inside = (mean(parallelism(large_program("seidel-2d"), Plan(schedule, (kernel,)))) for kernel in (
        KernelPlan(("S0",), (1, 32), (1, 32)), KernelPlan(("S0",), (1, 1), (8, 32), diagonals=True)))
    assert round(alone) == 868 and round(inside) == 101630
