"""Sioutas' model against the examples of the paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from antune import halide as hl
from generator.frontend_py.problem import program_of
from generator.polyhedral.memory.boxes import ring_rows
from generator.polyhedral.pipelines.dataflow import dataflow
from metrics.costs.groups import Group, stored_rows, tile_work
from metrics.costs.sioutas import Sioutas, cost_of
from metrics.costs.tile_sizes import bounds, cut, tiles
from tests.support.costs import CPU, RTX_2080_TI, kwhz

INLINED = frozenset("H")


def tile(*extents: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([[n] for n in extents])


def test_a_tile_of_4_by_4_needs_8_rows_of_w_and_three_channels_of_them_of_k() -> None:
    work = tile_work(Group(kwhz(), "Z", ("K", "W"), INLINED), tile(4.0, 4.0))
    assert [*work.extents["W"][:, 0]] == [8, 4]
    assert [*work.extents["K"][:, 0]] == [3, 8, 4]
    assert work.points["K"][0] == 3 * 4 * 8 and work.points["W"][0] == 4 * 8
    assert [*work.extents["E"][:, 0]] == [8, 6], "K reads two more along x"
    assert work.loads["W"][0] == 4 * 16 * 5 and work.loads["K"][0] == 4 * 32 * 3


def test_windows_have_the_rows_that_the_generator_stores() -> None:
    rows = range(1, 200)
    assert [*stored_rows(np.array(rows, dtype=float))] == [*map(ring_rows, rows)]


def test_the_example_of_the_paper_has_512_threads_2048_bytes_and_is_fully_occupied() -> None:
    found = Sioutas().evaluate(Group(kwhz(), "Z", ("W",), frozenset("HK")), tile(12.0, 32.0), RTX_2080_TI)
    assert found.threads[0] == 32 * 16
    assert found.shared[0] == 32 * 16 * 4 == 2048
    assert [float(one[0]) for one in Sioutas().occupied(found.threads, found.shared, found.tiles, RTX_2080_TI)] == [
        1.0,
        1024,
        68,
    ]
    assert found.occupancy[0] == 0.75, "Z keeps 32 * 12 threads busy, of which two blocks fit"


def test_the_bounds_of_tiles_are_those_of_the_table() -> None:
    assert [bounds(n, 2) for n in (1536, 2560, 256, 12)] == [(8, 48), (8, 80), (8, 128), (2, 6)]
    assert bounds(1024, 1) == (8, 8) and bounds(1023, 1) == (8, 511) and bounds(2048, 1) == (8, 16)


def test_short_dimensions_are_not_cut_unless_all_are_short() -> None:
    assert cut((3, 2560, 1536)) == (1, 2)
    assert cut((12, 24, 40)) == (1, 2) and cut((3, 4)) == (1,)
    assert cut((100, 200, 300, 400)) == (1, 2, 3)
    assert cut((5000, 9)) == (0, 1), "the innermost dimension is, for coalescing"


def test_three_dimensions_are_cut_at_most_and_one_point_of_those_that_host_loops_run() -> None:
    shape = (7, 80, 96, 128)
    rows_inside, launched = tiles(shape, RTX_2080_TI), tiles(shape, RTX_2080_TI, hosted=1)
    assert {*rows_inside[3]} == {128}, "rows are loops inside a thread"
    assert {*rows_inside[0]} == {7} and {*rows_inside[2]} == {8, 16, 32}
    assert {*launched[0]} == {1} and {*launched[3]} == {8, 16, 32, 64}
    assert {*tiles(shape, CPU)[3]} == {128} and len({*tiles(shape, CPU, hosted=1)[3]}) > 1


@pytest.mark.parametrize(("hosted", "coalesced"), [(0, 1), (1, 16)])
def test_nothing_is_coalesced_if_rows_are_loops_inside_a_thread(hosted: int, coalesced: int) -> None:
    x, y, c, n = (hl.Var(name) for name in ("x", "y", "c", "n"))
    image, out = hl.ImageParam(hl.Float(32), 4, "image"), hl.Func("out")
    out[x, y, c, n] = image[x, y, c, n] + 1.0
    group = Group(dataflow(program_of([out], (64, 64, 64, 2), "four")), "out", hosted=hosted)
    found = Sioutas(final=False).evaluate(group, tile(1.0, 8.0, 8.0, 64.0), RTX_2080_TI)
    region = 8 * 8 * 64 * 4
    assert found.memory[0] == pytest.approx(128 * 2 * region * (200 + 1 + region * 200 / 65536) / coalesced)
    assert group.launches == 1 and replace(group, hosted=2).launches == 2, "the last host loop is part of the grid"


def test_tiles_are_whole_where_they_are_not_cut() -> None:
    found = tiles((3, 2560, 1536), RTX_2080_TI)
    assert {*found[0]} == {3} and {*found[1]} == {8, 16, 32, 64} and {*found[2]} == {8, 16, 32}


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((64.0, 64.0), "more than 1024 threads"),
        ((8.0, 9.0), "not whole warps"),
        ((1280.0, 768.0), "fewer than 68 blocks"),
    ],
)
def test_what_is_impossible_is_said(sizes: tuple[float, float], reason: str) -> None:
    found = Sioutas().evaluate(Group(kwhz(), "Z", (), frozenset("HKW")), tile(*sizes), RTX_2080_TI)
    assert not found.possible[0]
    assert any(reason in wrong.reason for wrong in found.wrongs if wrong.are[0])


def test_whole_warps_are_wanted_in_the_final_phase_only() -> None:
    group = Group(kwhz(), "Z", (), frozenset("HKW"))
    assert Sioutas(final=False).evaluate(group, tile(9.0, 8.0), RTX_2080_TI).possible[0]


def test_shared_memory_is_limited() -> None:
    found = Sioutas().evaluate(Group(kwhz(), "Z", ("K", "W"), INLINED), tile(256.0, 64.0), RTX_2080_TI)
    assert any("65536 bytes of shared memory" in wrong.reason for wrong in found.wrongs if wrong.are[0])
    assert any("occupancy below 10%" in wrong.reason for wrong in found.wrongs), "three stages"


def test_the_terms_of_a_kernel_without_members_by_hand() -> None:
    """Z alone: five loads of W and a store per point; 32x32 points, runs of 16 elements."""
    found = Sioutas(final=False).evaluate(Group(kwhz(), "Z", (), INLINED), tile(32.0, 32.0), RTX_2080_TI)
    region, loaded, stored = 36 * 32 * 4, 32 * 32 * 5 * 4, 32 * 32 * 4
    memory = region * 200 + loaded * (1 + region * 200 / 65536) + stored * 200 + stored * (1 + stored * 200 / 65536)
    blocks = 80 * 48
    assert found.memory[0] == pytest.approx(blocks * memory / 16)
    subscripts = 4  # y + 1 to y + 4
    arithmetic = 5 + 4 + subscripts + 1
    assert found.arithmetic[0] == pytest.approx(blocks * 32 * 32 * arithmetic / (1.0 * 1024))
    assert cost_of(found, 0).number == pytest.approx(found.memory[0] + found.arithmetic[0])


def test_the_final_phase_divides_memory_by_the_active_threads() -> None:
    group = Group(kwhz(), "Z", (), frozenset("HKW"))
    before, after = (Sioutas(final=final).evaluate(group, tile(16.0, 32.0), RTX_2080_TI) for final in (False, True))
    assert after.memory[0] == pytest.approx(before.memory[0] / 1024)


def test_inlining_costs_loads_again() -> None:
    flow = kwhz()

    def cost(output: str, inlined: str = "") -> float:
        return Sioutas().inlined_cost(Group(flow, output, (), frozenset(inlined)), RTX_2080_TI)

    assert cost("W", "H") < cost("W") + cost("H")
    assert cost("Z", "W") > cost("Z")


def test_a_core_runs_a_block_of_any_size_as_far_as_its_cache_holds_what_it_keeps() -> None:
    group = Group(kwhz(), "Z", ("W",), frozenset("HK"))
    assert Sioutas().evaluate(group, tile(9.0, 1536.0), CPU).possible[0]
    assert not Sioutas().evaluate(group, tile(128.0, 1024.0), CPU).possible[0]
    small = replace(CPU, units=100)
    assert not Sioutas().evaluate(group, tile(128.0, 1536.0), small).possible[0]
