"""Each lesson gives the same under both languages; those that numpy can say in a line are what it says."""

from __future__ import annotations

import numpy as np
import pytest

from antune import halide as hl
from tests.support import lessons
from tests.support.halide_wheel import Case, as_in_halide, values
from tests.support.slow import few

FAST = (lessons.l04_print_while_it_runs, lessons.l09_histograms_and_sums, lessons.l14_types)


@pytest.mark.parametrize("lesson", few(lessons.LESSONS, FAST), ids=lambda lesson: lesson.__name__)
def test_a_lesson_is_the_same_in_halide(lesson: Case) -> None:
    as_in_halide(lesson)


def test_lessons_are_what_numpy_says() -> None:
    y, x = np.mgrid[:12, :16]
    (ramp,) = values(hl, lessons.l01_a_first_func)
    assert np.array_equal(ramp, (3 * x - y)[:7, :9])
    (bright,) = values(hl, lessons.l02_brighten_an_image)
    assert np.array_equal(bright, np.minimum(lessons.COLOURS * 1.25, 255).astype(np.uint8))
    histogram, sums, most, places = values(hl, lessons.l09_histograms_and_sums)
    image = lessons.COLOURS[0]
    assert np.array_equal(histogram, np.bincount(image.ravel(), minlength=256))
    assert np.array_equal(sums, image.sum(1)) and np.array_equal(most, image.max(1))
    assert np.array_equal(places, image.argmin(1))
    *_, column, row, value = values(hl, lessons.l13_tuples)
    last = lessons.COLOURS[2]
    assert (row * 16 + column, value) == (last.argmax(), last.max())


@pytest.mark.slow
def test_schedules_change_nothing() -> None:
    for lesson in (lessons.l05_vectorize_parallelize_tile, lessons.l08_where_stages_are_computed):
        first, *others = values(hl, lesson)
        assert all(np.array_equal(first, other) for other in others)
