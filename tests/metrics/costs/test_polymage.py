"""PolyMage-GPU's model against the figures of the paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from generator.dataflow import Dataflow
from generator.nest import Level
from generator.polyhedral.pipelines.dataflow import dataflow
from metrics.costs.groups import Group
from metrics.costs.polymage import GTX_1080_TI as WEIGHTS
from metrics.costs.polymage import Configurations, PolyMage, Weighed, candidates, refusal
from tests.support.costs import CPU, GTX_1080_TI, blur
from tests.support.programs import program_of, scop
from tests.support.suite import pipeline_program

PUBLISHED = PolyMage(WEIGHTS, "sub-group", published=True)


def weighed(model: PolyMage, points: tuple[int, ...], block: tuple[int, ...]) -> Weighed:
    given = Configurations(np.array([points], dtype=float).T, np.array([block], dtype=float).T)
    return model.evaluate(Group(blur(), "rows", ("columns",)), given, GTX_1080_TI)


@pytest.mark.parametrize(("points", "overlap"), [(8, 0.0078), (16, 0.0039)])
def test_the_overlap_of_the_blur_is_that_of_the_paper(points: int, overlap: float) -> None:
    found = weighed(PUBLISHED, (1, 1, points), (1, 4, 64))
    assert found.overlap[0] == pytest.approx(overlap, abs=5e-5)
    assert found.terms[5][0] == pytest.approx(100 * found.overlap[0])


def test_16_points_per_thread_take_16448_bytes_and_leave_62_percent_occupancy() -> None:
    found = weighed(PUBLISHED, (1, 1, 16), (1, 4, 64))
    assert found.shared[0] == 16448
    assert found.occupancy[0] == 0.625
    assert found.terms[1][0] == pytest.approx(0.5 * 0.375)
    assert found.terms[3][0] == pytest.approx(20 * (1 - 5 * 16448 / (96 * 1024)))


def test_what_a_block_shares_overlaps_less_than_what_warps_do() -> None:
    levels: tuple[Level, ...] = ("block", "sub-group", "thread")
    found = [weighed(replace(PUBLISHED, level=level), (1, 1, 8), (1, 4, 64)).overlap[0] for level in levels]
    assert found == [pytest.approx(2 / 512), pytest.approx(2 / 256), pytest.approx(2 / 8)]


def test_transactions_are_counted_per_warp() -> None:
    """Three rows of 32 + 2 / 8 neighbours, 4 bytes each, in segments of 32 bytes; 8 iterations and some overlap."""
    found = weighed(PUBLISHED, (1, 1, 8), (1, 4, 64))
    assert found.terms[0][0] == pytest.approx(50 * 3 * 4 * 258 / 32)


def test_too_much_shared_memory_is_impossible() -> None:
    found = weighed(PUBLISHED, (1, 32, 32), (1, 4, 64))
    assert not found.possible[0]


def test_candidates_fit_the_device() -> None:
    found = candidates((3, 2832, 4256), GTX_1080_TI)
    threads = found.block.prod(axis=0)
    assert (threads <= 512).all() and (threads % 32 == 0).all()
    assert (found.points[0] * found.block[0] == 4).all(), "all three colours"
    assert (candidates((2832, 4256), CPU).block == 1).all()


def flow(body: str, declarations: str) -> Dataflow:
    return dataflow(program_of(scop(body, declarations)))


def test_data_that_decide_about_places_are_refused() -> None:
    found = flow(
        "int t[24]; for (i = 0; i < 24; i++) t[i] = in[i] * 2; for (i = 0; i < 24; i++) out[i] = t[u[i] % 24];",
        "int in[24], out[24]; unsigned char u[24];",
    )
    assert "data decide which elements of `t`" in refusal(Group(found, "out", ("t",)))
    assert refusal(Group(found, "out")) == ""


def test_diagonals_are_refused() -> None:
    found = flow(
        "int t[48]; for (i = 0; i < 48; i++) t[i] = in[i] * 2;"
        "for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) B[i][j] = t[i + j];",
        "int in[48], B[8][8];",
    )
    assert "several of its dimensions" in refusal(Group(found, "B", ("t",)))


def test_reductions_share_no_kernel() -> None:
    found = flow(
        "int t[8]; for (i = 0; i < 8; i++) t[i] = 0; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) "
        "t[i] += B[i][j]; for (i = 0; i < 8; i++) out[i] = t[i] * 2;",
        "int out[8], B[8][8];",
    )
    assert "`t` is a reduction" in refusal(Group(found, "out", ("t",)))


def test_what_is_written_where_data_say_is_no_stage_of_a_model() -> None:
    found = dataflow(pipeline_program("bilateral_grid"))
    assert [node.array for node in found.nodes if node.refusal] == ["histogram"]
