"""The quick estimate of what a block computes of its stages stands beside the exact boxes."""

from __future__ import annotations

import numpy as np
import pytest

from antune.parsing import parse_parameters, parse_size
from experiments.suites.image_pipelines import PIPELINES, Pipeline
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of as pipeline_program
from generator.frontend_py.problem import sizes_of
from generator.lowering.memory.computed import computed_boxes
from generator.plan import KernelPlan
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.memory.boxes import ring_rows, stage_boxes
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.rough_boxes import block_bytes
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
from generator.program import ELEMENT_BYTES
from generator.schedules.stages import Stages
from graph.stage_openings import openings
from tests.support.plans import TARGET
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.suite import small_problem

TILES, INNER = (1, 2, 4, 8, 16), (1, 4, 8)
NEAR = 3.0
"""Boxes of a few elements may be that much larger: each is longer by up to two where subscripts are divided."""


@pytest.mark.parametrize("program", few(PIPELINES, PIPELINES[:3]), ids=lambda p: p.name)
def test_it_is_near_the_exact_boxes_and_rarely_below(program: Pipeline) -> None:
    rng = np.random.default_rng(1)
    found = small_problem(program)[0].program
    below = kernels = 0
    for kernel in kernels_of(found, openings(stage_facts(found), TARGET, computed_arrays(found))[1]):
        part, points = kernel.section.program, fill_points(kernel.section.program, kernel.part)
        if not any(point.computed for point in points):
            continue
        for _ in range(3):
            tile, inner = tuple(int(rng.choice(TILES)) for _ in kernel.part.parallel), int(rng.choice(INNER))
            boxes = [box for number, point in enumerate(points) if point.computed
                     for box in stage_boxes(part, kernel.part, tile, inner, number)]
            exact = sum(ELEMENT_BYTES[part.array(box.array).type] * int(np.prod(box.sizes)) for box in boxes)
            rough = block_bytes(part, kernel.part, tile, inner, 0)
            assert 0.5 * exact <= rough <= NEAR * exact
            kernels, below = kernels + 1, below + (rough < exact)
    assert below <= kernels // 2


def test_windows_have_no_ring_of_one_row_nor_one_as_long_as_two() -> None:
    """Compilers keep the first in scalars, and make no vectors of the second."""
    assert [ring_rows(rows) for rows in (1, 2, 3, 4, 5, 8, 9)] == [2, 4, 4, 4, 8, 8, 16]


SCANS = {"columns": "for (i = 1; i < 64; i++) for (j = 0; j < 64; j++) t[i][j] += t[i - 1][j];",
         "rows": "for (i = 0; i < 64; i++) for (j = 1; j < 64; j++) t[i][j] += t[i][j - 1];"}


@pytest.mark.parametrize("lines", SCANS)
@pytest.mark.parametrize(("tile", "walk"), [((8, 16), 2), ((16, 8), 4), ((8, 16), 8)])
def test_whole_lines_take_what_blocks_that_walk_declare(lines: str, tile: tuple[int, ...], walk: int) -> None:
    """Boxes of columns do not move from step to step, those of rows slide: both are rings."""
    text = ("int t[64][64]; for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) t[i][j] = A[i][j];" + SCANS[lines]
            + "for (i = 1; i < 63; i++) for (j = 1; j < 63; j++) out[i][j] = t[i - 1][j - 1] + t[i + 1][j + 1];")
    program = expand(program_of(scop(text, "int A[64][64], out[64][64];")))
    [kernel] = kernels_of(program, Stages((("t", "block"),)))
    plan = KernelPlan(kernel.statements, tile, (2, 2), walk=walk)
    [declared] = computed_boxes(kernel.section.program, kernel.part, plan,
                                fill_points(kernel.section.program, kernel.part), set(), ())
    assert block_bytes(kernel.section.program, kernel.part, tile, 1, 0, walk) == declared.bytes


def test_a_long_chain_of_stages_that_read_every_other_row_is_followed() -> None:
    """Reads that leave out a dimension have conditions whose copies each stage doubled: isl did not return."""
    [found] = [one for one in PIPELINES if one.name == "lens_blur"]
    sizes = dict(parse_parameters(parse_size(found.small))) | {"slices": 4, "focus": 1, "samples": 2, "levels": 4}
    program = pipeline_program(load_pipeline(found.file, sizes), sizes_of(sizes), "lens_blur", str(found.file))
    inline = ("pushed_0", "pushed_1", "repeat_edge_3", "pushed_4", "up_2_x", "pulled_2", "up_1_x", "up_1", "pulled_1",
              "up_0_x", "up_0", "pulled_0")
    names = {facts.array for facts in stage_facts(program)}
    here = sorted({"up_2", *inline} & names)
    stages = Stages(tuple((name, "block" if name == "up_2" else "inline") for name in here))
    [kernel] = [kernel for kernel in kernels_of(program, stages)
                if any(point.computed for point in fill_points(kernel.section.program, kernel.part))]
    [box] = stage_boxes(kernel.section.program, kernel.part, (2, 8), 4, 0)
    assert (box.array, box.sizes) == ("up_2", (2, 4, 3, 4))


@pytest.mark.parametrize(("columns", "images"), [(16, 4), (64, 1)])
def test_boxes_have_the_elements_of_one_launch_only_if_all_of_its_blocks_have_work(columns: int, images: int) -> None:
    """The first two launches have no work in columns from 16 on: blocks there fill their boxes, too."""
    loops = "for (n = 0; n < 4; n++) for (y = 0; y < 8; y++) for (x = 0; x < 64; x++)"
    text = (f"float t[4][8][64]; {loops} t[n][y][x] = A[n][y][x];"
            f"{loops} for (d = 0; d < 4; d++) {{ if (x < 16) out[n][y][x][d] = t[n][y][x];"
            "if (n >= 2) out[n][y][x][d] += t[n][y][x]; }")
    program = expand(program_of(scop(text, "int d, n, x, y; float A[4][8][64], out[4][8][64][4];")))
    [kernel] = kernels_of(program, Stages((("t", "block"),), launches=True))
    part, tile = kernel.section.program, (2, columns, 4)
    [box] = stage_boxes(part, kernel.part, tile, 1, 0)
    assert box.sizes == (images, 2, columns)
    assert block_bytes(part, kernel.part, tile, 1, 0) == 4 * images * 2 * columns


def test_sums_over_stages_are_estimated_too() -> None:
    """A sum begins in the first tile of its loop only, by a statement that reads no stage."""
    text = ("int t[64][64]; for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) t[i][j] = A[i][j];"
            "for (i = 0; i < 57; i++) for (j = 0; j < 64; j++) { out[i][j] = 0;"
            "for (k = 0; k < 8; k++) out[i][j] += t[i + k][j]; }")
    program = expand(program_of(scop(text, "int A[64][64], out[64][64];")))
    [kernel] = kernels_of(program, Stages((("t", "block"),)))
    part, tile, before = kernel.section.program, (4, 8), stage_boxes.cache_info().misses
    rough = [block_bytes(part, kernel.part, tile, inner, 0) for inner in (1, 8)]
    assert stage_boxes.cache_info().misses == before, "no exact boxes were asked for"
    points = fill_points(part, kernel.part)
    exact = [[stage_boxes(part, kernel.part, tile, inner, number) for number in range(len(points))
              if points[number].computed] for inner in (1, 8)]
    assert rough == [sum(4 * int(np.prod(box.sizes)) for boxes in places for box in boxes) for places in exact]
