"""The quick estimate of what a block computes of its stages stands beside the exact boxes."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.suites.image_pipelines import PIPELINES, Pipeline
from generator.polyhedral.memory.boxes import stage_boxes
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.rough_boxes import block_bytes
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.program import ELEMENT_BYTES
from graph.pipeline import openings
from tests.support.plans import TARGET
from tests.support.slow import few
from tests.support.suite import small_problem

TILES, INNER = (1, 2, 4, 8, 16), (1, 4, 8)
NEAR = 3.0
"""Boxes of a few elements may be that much larger: each is longer by up to two where subscripts are divided."""


@pytest.mark.parametrize("program", few(PIPELINES, PIPELINES[:5]), ids=lambda p: p.name)
def test_it_is_near_the_exact_boxes_and_rarely_below(program: Pipeline) -> None:
    rng = np.random.default_rng(1)
    found = small_problem(program)[0].program
    below = kernels = 0
    for kernel in kernels_of(found, openings(stage_facts(found), TARGET)[1]):
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
