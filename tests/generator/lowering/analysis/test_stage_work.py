"""How often kernels compute the elements of stages, against what tiles and stencils say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.lowering.analysis.stage_work import StageWork, stage_work
from generator.lowering.heuristics.default import default_plan
from generator.program import Program
from generator.schedules.stages import Stages
from tests.support.suite import TARGET, small_problem

INLINE = ("ix", "iy", "ixx", "iyy", "ixy", "sxx", "syy", "sxy", "det", "trace")


def program(name: str) -> Program:
    return small_problem(pipeline(name))[0].program


def works(given: Program, places: dict[str, str], tile: tuple[int, ...] = ()) -> dict[str, StageWork]:
    """What the last kernel of a plan computes besides, with these tiles."""
    schedule = Stages(tuple(places.items()))  # type: ignore[arg-type]  # places are words
    plan = default_plan(given, TARGET, choice=schedule)
    if tile:
        last = replace(plan.kernels[-1], tile=tile, block=(1, 1))
        plan = replace(plan, kernels=(*plan.kernels[:-1], last))
    return dict(stage_work(given, plan, TARGET.language)[plan.kernels[-1].statements])


def extents(given: Program, array: str) -> tuple[int, ...]:
    return given.array(array).extents


def test_inline_each_reader_counts() -> None:
    blur = program("blur")
    found = works(blur, {"blur_x": "inline"})["blur_x"]
    (rows, row), (out_rows, out_row) = extents(blur, "blur_x"), extents(blur, "blur_y")
    assert found.evaluations == 3 * out_rows * out_row and found.needed == rows * row and found.box == ()
    assert found.times == pytest.approx(3 * out_rows / rows)


@pytest.mark.parametrize("tile", [(8, 8), (4, 20), (5, 7)])
def test_in_blocks_what_overlaps_is_computed_by_both(tile: tuple[int, int]) -> None:
    """Blur_y reads three rows of blur_x: each block computes two more rows than it has."""
    blur = program("blur")
    found = works(blur, {"blur_x": "block"}, tile)["blur_x"]
    out_rows, out_row = extents(blur, "blur_y")
    assert found.box == (tile[0] + 2, tile[1])
    blocks = [(-(-out_rows // tile[0])), (-(-out_row // tile[1]))]
    whole = out_rows + 2 * blocks[0]
    assert whole * out_row <= round(found.evaluations) <= blocks[0] * blocks[1] * (tile[0] + 2) * tile[1]


def test_windows_that_slide_from_a_clamped_place_are_counted() -> None:
    """Where a box begins is a variable there, on which bounds of loops depend."""
    harris = program("harris")
    schedule = dict.fromkeys(("gray", *INLINE), "inline") | {"syy": "block"}
    plan = default_plan(harris, TARGET, choice=Stages(tuple(schedule.items())))  # type: ignore[arg-type]  # as above
    last = replace(plan.kernels[-1], tile=(16, 64), block=(8, 32), walk=8, points_inside=False)
    work = stage_work(harris, replace(plan, kernels=(*plan.kernels[:-1], last)), TARGET.language)
    found = dict(work[last.statements])["syy"]
    assert found.box == (8, 36) and found.needed <= found.evaluations <= 1.2 * found.needed


def test_an_element_that_two_readers_need_at_one_point_is_computed_once() -> None:
    harris = program("harris")
    found = works(harris, dict.fromkeys(INLINE, "inline"))
    pixels = extents(harris, "harris")[0] * extents(harris, "harris")[1]
    assert {name: found[name].evaluations / pixels for name in ("ix", "ixx", "ixy", "sxx", "det")} == {
        "ix": 9, "ixx": 9, "ixy": 9, "sxx": 1, "det": 1}


def test_what_is_inline_in_a_box_is_computed_for_the_box() -> None:
    harris = program("harris")
    found = works(harris, {"ix": "inline", "ixx": "block", "ixy": "block"}, ())
    assert "sxx" not in found  # it has a kernel of its own, as the last kernel's other inputs have
    boxes = works(harris, {"gray": "inline", "ix": "block", "ixx": "inline", "sxx": "inline", "det": "inline"}, ())
    assert all(work.evaluations >= work.needed for work in boxes.values() if work.evaluations)


def test_time_steps_have_no_stages() -> None:
    blur = program("blur")
    plan = default_plan(blur, TARGET, choice=Stages())
    assert all(not found for found in stage_work(blur, plan, TARGET.language).values())
