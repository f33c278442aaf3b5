"""The O1 space: every plan it can make keeps the limits of the device and of the space, and none is a dead end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.benchmarks.explorer_speed import TwoDimensional
from generator.decisions.candidate_sizes import caps, geometry
from generator.decisions.room import has_few_threads
from generator.decisions.shape import Shape
from generator.decisions.size_lists import HOST, PAPER, WIDE, CandidateSizes, InnerTiles, smallest_inner
from generator.errors import IllegalPlan
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.target import Target
from graph.o1 import make_o1_space
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer, uniform
from graph.prefixes import PrefixTree
from graph.reaching import Reachable, walk_to
from graph.space import Space
from graph.walk import Walk
from tests.support.slow import few

GPU = Target("gpu", "opencl", 1024, (1024, 1024, 64), 48 * 1024, 8, True, False)


class FakeShape(TwoDimensional):
    """A kernel whose shared copies are as large as its tile, 4 bytes a point."""

    def next_copies(self, inner_tile: InnerTiles, uncopied: tuple[str, ...]) -> tuple[int, ...]:
        return (4,)

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int = 0,
                     registers: bool = False, copies: bool = True, private: bool = False,
                     uncopied: tuple[str, ...] = ()) -> int:
        return 4 * math.prod(tile) * smallest_inner(inner_tile) * copies + 1024 * private


def same_for_all(*shapes: FakeShape) -> Reachable:
    return make_o1_space(lambda choice: shapes, GPU)


def random_walks(space: Space, count: int) -> list[Walk]:
    graph = OptimizationGraph()
    walks = [graph.walk(space, uniform(np.random.default_rng(seed))) for seed in range(count)]
    return [walk for walk in walks if walk is not None]


def largest_block(extents: tuple[int, ...], candidates: CandidateSizes, target: Target) -> int:
    """By trying everything: the most threads that a block of the space's sizes can have."""
    states = [(1, 1)]
    for cap, sizes, limit in zip(caps(extents[::-1], candidates), candidates.sizes, target.max_block, strict=False):
        tiles = [size for size in sizes if size <= cap] or [cap]
        states = [(p * t, b * c) for p, b in states for t in tiles for c in tiles if c <= min(t, limit)]
    return max((b for p, b in states if p <= candidates.max_points and b <= target.max_threads), default=0)


powers = st.integers(0, 12).map(lambda n: 1 << n)
targets = st.builds(
    Target, st.just("t"), st.just("opencl"), powers, st.tuples(powers, powers, powers), st.integers(0, 1 << 17),
    st.just(4), st.booleans(), st.booleans(),
)
extents = st.lists(st.one_of(st.integers(1, 40), st.integers(1, 5000)), max_size=3).map(tuple)


@settings(max_examples=150)
@given(extents, targets, st.booleans(), st.booleans(), st.integers(0, 1 << 30))
def test_every_plan_keeps_all_limits(
    extents: tuple[int, ...], target: Target, wide: bool, sequential: bool, seed: int
) -> None:
    ours = HOST if target.shares_host_cores else WIDE
    candidates = ours if wide else PAPER
    shape = FakeShape(("S",), extents, sequential=sequential)
    space, graph = make_o1_space(lambda choice: (shape,), target, wide), OptimizationGraph()
    for k in range(5):
        walk = graph.walk(space, uniform(np.random.default_rng((seed, k))))
        assert walk is not None
        [kernel] = walk.plan.kernels
        turned = shape.ordered(kernel.order)
        check_sizes(kernel, turned, target, candidates)
        threads = math.prod(kernel.block)
        most = largest_block(turned.extents, candidates, target)
        least = 8 if wide and has_few_threads(turned, target) else 32
        assert threads >= (1 if wide and target.shares_host_cores else min(least, most))
        assert wide or not kernel.points_inside
        assert not kernel.points_inside or (sequential and kernel.tile != kernel.block)
        loops = sequential or (kernel.tile != kernel.block and not (wide and target.shares_host_cores))
        assert kernel.unroll in ((1, 2, 4, 8) if loops else (1,))
        assert kernel.inner_tile == 1 or (sequential and smallest_inner(kernel.inner_tile) > kernel.unroll)
        assert wide or (kernel.order, kernel.padding, kernel.registers) == ((), 0, False)
        if kernel.shared:
            assert turned.shared_bytes(kernel.tile, kernel.inner_tile, kernel.padding) <= target.local_bytes
    assert not any(node.pruned.any() for node in graph.nodes.values())


def test_tiles_of_sums_in_registers_may_be_between_powers_of_two() -> None:
    shape = FakeShape(("S",), (1000, 1100), kept=((0, 1),))
    kernels = [kernel for walk in random_walks(make_o1_space(lambda choice: (shape,), GPU), 60)
               for kernel in walk.plan.kernels]
    assert any(tile % 3 == 0 for kernel in kernels for tile in kernel.tile)
    assert any(kernel.unroll == kernel.inner_tile == 16 for kernel in kernels)
    for kernel in kernels:
        assert all(tile % block == 0 for tile, block in zip(kernel.tile, kernel.block, strict=True)), kernel
        assert math.prod(kernel.tile) <= WIDE.max_points and 32 <= math.prod(kernel.block) <= GPU.max_threads
    plain = make_o1_space(lambda choice: (replace(shape, kept=((0,),)),), GPU)
    assert all(tile & (tile - 1) == 0 for walk in random_walks(plain, 20) for tile in walk.plan.kernels[0].tile)


def check_sizes(kernel: KernelPlan, shape: TwoDimensional, target: Target, candidates: CandidateSizes) -> None:
    assert len(kernel.tile) == len(kernel.block) == len(shape.extents)
    assert math.prod(kernel.tile) <= candidates.max_points
    assert math.prod(kernel.block) <= target.max_threads
    for tile, block, extent in zip(kernel.tile, kernel.block, shape.extents, strict=True):
        assert tile % block == 0
        assert tile & (tile - 1) == 0
        assert tile < 2 * extent or tile == 1
    for block, limit in zip(reversed(kernel.block), target.max_block, strict=False):
        assert block <= limit


@pytest.mark.parametrize("wide", [True, False])
def test_the_order_of_blocks_is_decided_where_it_makes_a_difference(wide: bool) -> None:
    shapes = [
        FakeShape((f"S{n}",), extents)
        for n, extents in enumerate([(100, 100), (7, 40, 50), (100, 1), (3, 1, 9), (500,), ()])
    ]
    walks = random_walks(make_o1_space(lambda choice: shapes, GPU, wide), 60)
    chosen = set()
    for shape, kernel in (pair for walk in walks for pair in zip(shapes, walk.plan.kernels, strict=True)):
        ends = zip(shape.ordered(kernel.order).extents[-2:], kernel.tile[-2:], strict=True)
        chosen.add((len(kernel.tile) > 1 and all(extent > size for extent, size in ends), kernel.columns))
    assert chosen == {(False, False), (True, False), *([(True, True)] if wide else [])}


@given(st.lists(st.integers(64, 5000), min_size=1, max_size=3).map(tuple))
def test_the_papers_sizes(extents: tuple[int, ...]) -> None:
    shape = FakeShape(("S",), extents)
    for walk in random_walks(make_o1_space(lambda choice: (shape,), GPU, wide=False), 5):
        [kernel] = walk.plan.kernels
        assert math.prod(kernel.tile) <= 1024
        assert math.prod(kernel.block) >= 32
        for size, offered in zip(reversed(kernel.tile), PAPER.sizes, strict=False):
            assert size in offered
        for size, offered in zip(reversed(kernel.block), PAPER.sizes, strict=False):
            assert size in offered


@pytest.mark.parametrize(("extent", "x"), few([(10, (8, 16)), (20, (8, 16, 32)), (40, (8, 16, 32, 64))], 1))
def test_all_sizes_that_fit_are_reached(extent: int, x: tuple[int, ...]) -> None:
    shape = FakeShape(("S",), (6, extent), shareable=(), sequential=False)
    space = make_o1_space(lambda choice: (shape,), GPU)
    found, graph, tree = set(), OptimizationGraph(), PrefixTree()
    while (walk := graph.walk(space, first, tree)) is not None:
        tree.close(graph.path(walk))
        if not walk.plan.kernels[0].order:
            found.add((walk.plan.kernels[0].tile, walk.plan.kernels[0].block))
    y = (1, 2, 4, 8)
    sizes = [((ty, tx), (by, bx)) for ty in y for tx in x for by in y for bx in x if by <= ty and bx <= tx]
    assert found == {(tile, block) for tile, block in sizes if math.prod(block) >= 32}


def test_tiny_kernels_run_with_the_threads_they_have() -> None:
    [walk] = random_walks(same_for_all(FakeShape(("S",), (3, 2))), 1)
    assert sorted(walk.plan.kernels[0].tile) == sorted(walk.plan.kernels[0].block) == [2, 4]
    [walk] = random_walks(same_for_all(FakeShape(("S",), ())), 1)
    assert walk.plan.kernels[0].tile == walk.plan.kernels[0].block == ()


def test_a_device_with_one_thread_per_block_is_served() -> None:
    single = Target("single", "opencl", 1, (1, 1, 1), 0, 1, True, True)
    shape = FakeShape(("S",), (100, 100))
    for walk in random_walks(make_o1_space(lambda choice: (shape,), single), 10):
        assert walk.plan.kernels[0].block == (1, 1)
        assert not walk.plan.kernels[0].shared


def test_order_of_decisions() -> None:
    space = same_for_all(FakeShape(("T",), (100,)), FakeShape(("S",), (100, 100)))
    wanted = {("serialize SCCs", ()): False, ("outer tile size x", ("S",)): 16, ("outer tile size y", ("S",)): 8}
    walk = OptimizationGraph().walk(space, prefer(wanted, first))
    assert walk is not None
    names = [choice.decision.name for choice in walk.choices]
    assert names[:4] == ["algorithm", "serialize SCCs", "maximize band depth", "outer coincidence"]
    of_s = [choice.decision.name for choice in walk.choices if choice.decision.subject == ("S",)]
    assert of_s == ["x dimension", "outer tile size x", "thread block size x", "outer tile size y",
                    "thread block size y", "neighbours in a row", "unroll factor", "points inside sequential loops",
                    "shared memory", "inner tile size", "atomic store", "blocks along columns"]
    assert [kernel.statements for kernel in walk.plan.kernels] == [("S",), ("T",)]


def test_band_depth_is_asked_only_where_components_are_not_serialized() -> None:
    for walk in random_walks(same_for_all(FakeShape(("S",), (100,))), 40):
        asked = {choice.decision.name for choice in walk.choices}
        assert isinstance(walk.plan.schedule, ScheduleChoice)
        assert ("maximize band depth" in asked) != walk.plan.schedule.serialize_sccs
        assert walk.plan.schedule.maximize_band_depth or not walk.plan.schedule.serialize_sccs


def test_a_kernel_shares_its_nodes_between_schedules_and_splits_them_where_its_shape_differs() -> None:
    def shapes(choice: Schedule) -> Sequence[Shape]:
        assert isinstance(choice, ScheduleChoice)
        outer = 8 if choice.algorithm == "feautrier" else 1000
        return (FakeShape(("S",), (outer, 1000)), FakeShape(("T",), (1000,)))

    graph, space = OptimizationGraph(), make_o1_space(shapes, GPU)
    for seed in range(30):
        graph.walk(space, uniform(np.random.default_rng(seed)))
    first_of_t = [d for d in graph.nodes if d.subject == ("T",) and d.name == "outer tile size x"]
    first_of_s = [d for d in graph.nodes if d.subject == ("S",) and d.name == "outer tile size x"]
    assert (len(first_of_t), len(first_of_s)) == (1, 2)
    assert len([d for d in graph.nodes if d.subject == ("S",) and d.name == "unroll factor"]) == 1


def test_a_schedule_that_isl_does_not_find_is_a_dead_end() -> None:
    def shapes(choice: Schedule) -> Sequence[Shape]:
        assert isinstance(choice, ScheduleChoice)
        if choice.algorithm == "feautrier" and choice.outer_coincidence:
            raise IllegalPlan("isl gave up")
        return (FakeShape(("S",), (100,)),)

    walks = random_walks(make_o1_space(shapes, GPU), 60)
    assert len(walks) == 60
    schedules = {walk.plan.schedule for walk in walks if isinstance(walk.plan.schedule, ScheduleChoice)}
    assert all(not s.outer_coincidence for s in schedules if s.algorithm == "feautrier")
    assert any(s.outer_coincidence for s in schedules if s.algorithm == "pluto")
    assert any(s.algorithm == "feautrier" for s in schedules)


def test_a_plan_leads_back_to_its_walk() -> None:
    space = same_for_all(FakeShape(("S", "T"), (500, 64, 100)), FakeShape(("U",), (1000,)))
    for walk in random_walks(space, 20):
        assert walk_to(space, walk.plan) == walk


def test_the_default_sizes_are_in_the_wide_space() -> None:
    kernels = (KernelPlan(("S",), (32, 32), (16, 32)), KernelPlan(("T",), (32,), (32,)))
    plan = Plan(ScheduleChoice(), kernels)
    space = same_for_all(FakeShape(("S",), (500, 500)), FakeShape(("T",), (500,)))
    assert walk_to(space, plan).plan == plan


@pytest.mark.parametrize(("extent", "cap"), [(1, 1), (2, 2), (3, 4), (64, 64), (65, 128), (100_000, 512), (0, 1)])
def test_tiles_that_cover_the_extent_twice_are_not_offered(extent: int, cap: int) -> None:
    assert caps((extent,), WIDE) == (cap,)
    assert max(geometry((cap,), GPU, WIDE).tiles[0]) == cap
