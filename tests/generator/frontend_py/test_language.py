"""What pipelines compute: updates, reductions, tuples, boundary conditions, bounds; by the interpreter and by C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from antune import halide as hl
from generator.frontend_py.realize import bounds_of
from tests.support.reading import problem_of
from tests.support.slow import in_turn

x, y = hl.Var("x"), hl.Var("y")
RANDOM = np.random.default_rng(3)


def computed(output: hl.Func, sizes: Sequence[int]) -> NDArray[Any]:
    """The output's values, after sequential C has agreed with the interpreter."""
    problem = problem_of([output], sizes, "test")
    assert not [w for w in problem.reference.warnings if "sequential C" in w]
    (values,) = problem.reference.outputs.values()
    assert np.array_equal(values, np.asarray(output.realize(sizes))) or output.estimates
    return values


def image(shape: tuple[int, ...], kind: Any = np.int32, name: str = "image") -> hl.Buffer:
    return hl.Buffer(RANDOM.integers(0, 100, shape).astype(kind), name)


def test_a_definition_for_halide_runs_after_changing_the_import() -> None:
    """Schedules are accepted and have no effect; a Buffer's last axis is its first dimension."""
    source = image((10, 12), np.uint8)
    blur, xo, yo, xi, yi = hl.Func("blur"), hl.Var("xo"), hl.Var("yo"), hl.Var("xi"), hl.Var("yi")
    blur[x, y] = hl.cast(hl.UInt(8), (hl.cast(hl.UInt(16), source[x, y]) + source[x + 1, y]) / 2)
    blur.tile(x, y, xo, yo, xi, yi, 8, 8).vectorize(xi, 8).parallel(yo)
    blur.compute_root().update(0).unroll(x)
    data = np.asarray(source).astype(int)
    assert (np.asarray(blur.realize([11, 10])) == (data[:, :-1] + data[:, 1:]) // 2).all()


def test_histogram_scan_and_lookup() -> None:
    source = image((13, 17), np.uint8)
    histogram, cdf, out, r, s = (
        hl.Func("histogram"),
        hl.Func("cdf"),
        hl.Func("out"),
        hl.RDom(source, "r"),
        hl.RDom([(1, 99)], "s"),
    )
    histogram[x] += 0
    histogram[hl.min(source[r.x, r.y], 99)] += 1
    cdf[x] = histogram[0]
    cdf[s] = cdf[s - 1] + histogram[s]
    out[x, y] = cdf[hl.min(source[x, y], 99)]
    data = np.asarray(source)
    expected = np.bincount(data.ravel(), minlength=100).cumsum()[data]
    assert (computed(out, [17, 13]) == expected).all()


def test_updates_run_in_order_and_in_parts() -> None:
    """An update of a row, one over an RDom with a condition, and a recurrence that goes down."""
    f, r = hl.Func("f"), hl.RDom([(0, 6), (0, 5)], "r")
    r.where(r.x + r.y < 6)
    q = hl.RDom([(1, 5)], "q")
    f[x, y] = x + 10 * y
    f[x, 0] = f[x, 0] * 3
    f[r.x, r.y] -= 1
    f[5 - q, y] = f[5 - q, y] + f[6 - q, y]
    expected = np.array([[i + 10 * j for i in range(6)] for j in range(5)])
    expected[0] *= 3
    for j in range(5):
        for i in range(6):
            expected[j, i] -= i + j < 6
    for k in range(1, 6):
        expected[:, 5 - k] += expected[:, 6 - k]
    assert (computed(f, [6, 5]) == expected).all()


def test_a_condition_on_data_leaves_points_out() -> None:
    source = image((40,))
    count, r = hl.Func("count"), hl.RDom([(0, 40)], "r")
    r.where(source[r] > 50)
    count[x] = 0
    count[r % 4] += source[r]
    data = np.asarray(source)
    assert computed(count, [4]).tolist() == [int(data[k::4][data[k::4] > 50].sum()) for k in range(4)]


def test_reductions_inside_expressions() -> None:
    source = image((6, 20), np.int16)
    r = hl.RDom([(0, 20)], "r")
    out = hl.Func("out")
    best = hl.argmax(source[r, y])
    out[x, y] = hl.mux(x, [hl.i32(hl.sum(hl.i32(source[r, y]))), hl.i32(hl.maximum(source[r, y])),
                           hl.i32(hl.minimum(source[r, y])), best[0], hl.i32(best[1])])
    data = np.asarray(source)
    expected = np.stack([data.sum(1), data.max(1), data.min(1), data.argmax(1), data.max(1)], 1)
    assert (computed(out, [5, 6]) == expected).all()


def test_a_reduction_over_one_of_two_domains() -> None:
    source, f, r, q = image((20,)), hl.Func("f"), hl.RDom([(0, 5)], "r"), hl.RDom([(0, 3)], "q")
    f[x] = 0
    f[q] += hl.sum(r, source[q * 2 + r]) - hl.argmin(r, source[q + r])[0]
    data = np.asarray(source)
    assert computed(f, [3]).tolist() == [int(data[2 * k:2 * k + 5].sum() - data[k:k + 5].argmin()) for k in range(3)]


def test_the_condition_of_a_reduction_may_use_vars() -> None:
    source, f, r = image((20,)), hl.Func("f"), hl.RDom([(0, 20)], "r")
    r.where(r < x)
    f[x] = hl.sum(source[r])
    assert computed(f, [8]).tolist() == [int(np.asarray(source)[:k].sum()) for k in range(8)]


def test_a_condition_on_the_func_itself_is_decided_before_its_values_are_stored() -> None:
    pair, r, out = hl.Func("pair"), hl.RDom([(0, 4)], "r"), hl.Func("out")
    pair[x] = (x, x)
    r.where(pair[r][0] < 2)
    pair[r] = (pair[r][0] + 5, pair[r][1] + 1)
    out[x, y] = hl.mux(y, pair[x])
    assert computed(out, [4, 2]).tolist() == [[5, 6, 2, 3], [1, 2, 2, 3]]


@pytest.mark.parametrize("extent", [0, 1])
def test_reductions_over_no_point_and_over_one(extent: int) -> None:
    source, f, r = image((4,)), hl.Func("f"), hl.RDom([(2, extent)], "r")
    f[()] = 7
    f[()] += source[r]
    out = hl.Func("out")
    out[x] = f[()] + x
    first = 7 + int(np.asarray(source)[2]) * extent
    assert computed(out, [3]).tolist() == [first, first + 1, first + 2]


def test_points_that_are_left_out_need_no_elements() -> None:
    """The region is that of the points where the condition holds; nothing outside of it is read."""
    source, f, total, r, q = (
        image((6,)),
        hl.Func("f"),
        hl.Func("total"),
        hl.RDom([(0, 6), (0, 3)], "r"),
        hl.RDom([(0, 6)], "q"),
    )
    r.where(r.x > 0)
    q.where(q > 0)
    f[x, y] = source[x] * y
    f[r.x, r.y] += f[r.x - 1, r.y]
    total[x] = x
    total[q % 2] += source[q - 1] + f[q, 2]
    data = np.asarray(source)
    assert bounds_of([f], [6, 3]).regions[id(f)] == ((0, 6), (0, 3))
    assert computed(total, [2]).tolist() == [
        k + sum(int(data[i - 1] + 2 * data[: i + 1].sum()) for i in range(1, 6) if i % 2 == k) for k in range(2)
    ]


def test_words_for_schedules_are_accepted() -> None:
    f, xo, xi = hl.Func("f"), hl.Var("xo"), hl.Var("xi")
    f[x] = hl.strict_float(hl.f32(x))
    f.split(x, xo, xi, 8, hl.TailStrategy.GuardWithIf).store_in(hl.MemoryType.Stack).specialize(x > 3)
    assert np.asarray(f.realize([3])).tolist() == [0, 1, 2]


def test_tuples_are_stored_together() -> None:
    """Fibonacci and a swap: no value is stored before all are computed."""
    pair, r, out = hl.Func("pair"), hl.RDom([(1, 9)], "r"), hl.Func("out")
    pair[x] = (0, 1)
    pair[r] = (pair[r - 1][1], pair[r - 1][0] + pair[r - 1][1])
    pair[x] = (pair[x][1], pair[x][0])
    out[x, y] = hl.select(y == 0, pair[x][0], pair[x][1])
    assert computed(out, [10, 2]).tolist() == [[1, 1, 2, 3, 5, 8, 13, 21, 34, 55], [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]]


@in_turn
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("repeat_edge", "edge"),
        ("repeat_image", "wrap"),
        ("mirror_image", "symmetric"),
        ("mirror_interior", "reflect"),
        ("constant_exterior", "constant"),
    ],
)
def test_boundary_conditions(name: str, mode: Any) -> None:
    source, out = image((6, 7)), hl.Func("out")
    more = (9,) if mode == "constant" else ()
    out[x, y] = getattr(hl.BoundaryConditions, name)(source, *more)[x - 4, y - 3]
    padded = np.pad(np.asarray(source), ((3, 3), (4, 4)), mode=mode, **({"constant_values": 9} if more else {}))
    assert (computed(out, [15, 12]) == padded).all()


def test_negative_coordinates_divide_downwards() -> None:
    source, out = image((9,)), hl.Func("out")
    f = hl.Func("f")
    f[x] = source[hl.clamp(x + 4, 0, 8)] * 100 + x // 3 * 10 + x % 3
    out[x] = f[x - 4] + f[(x - 7) // 2]
    data = np.asarray(source)

    def value(i: int) -> int:
        return int(data[min(max(i + 4, 0), 8)]) * 100 + i // 3 * 10 + i % 3

    assert computed(out, [9]).tolist() == [value(i - 4) + value((i - 7) // 2) for i in range(9)]


def test_a_region_is_exactly_what_is_read() -> None:
    """Affine coordinates are followed exactly, clamped ones that depend on data by their interval."""
    source = hl.ImageParam(hl.UInt(8), 1, "source")
    f, g, table, out = hl.Func("f"), hl.Func("g"), hl.Func("table"), hl.Func("out")
    f[x] = source[x]
    g[x] = f[2 * x - 1] + f[x // 2 - x % 2]
    table[x] = x * x
    out[x] = g[x + 5] + hl.u8(table[hl.clamp(hl.i32(source[x]) - 3, 0, 100)]) + hl.u8(table[hl.i32(source[x]) // 8])
    bounds = bounds_of([out], [10])
    found = {bounds.collected.names[key]: region for key, region in bounds.regions.items()}
    assert found == {"out": ((0, 10),), "g": ((5, 10),), "f": ((1, 27),), "table": ((0, 101),), "source": ((0, 28),)}


def test_an_update_grows_the_region_of_its_own_func() -> None:
    f, r, out = hl.Func("f"), hl.RDom([(1, 7)], "r"), hl.Func("out")
    f[x, y] = y
    f[x, r] = f[x, r - 1] + 1
    out[x] = f[x, 3]
    bounds = bounds_of([out], [4])
    assert bounds.regions[id(f)] == ((0, 4), (0, 8))


def test_the_least_coordinate_of_an_input_is_that_of_its_estimates() -> None:
    source, out = hl.ImageParam(hl.Int(16), 2, "source"), hl.Func("out")
    source.set_estimates([(-3, 99), (2, 99)])
    out[x, y] = source[x + source.left(), y + 2]
    bounds = bounds_of([out], [12, 9])
    assert bounds.regions[id(source)] == ((-3, 12), (0, 11))


def test_inputs_get_the_size_that_is_needed_or_asked_for() -> None:
    free, sized = hl.ImageParam(hl.Float(32), 2, "free"), hl.ImageParam(hl.Float(32), 2, "sized")
    edge, out = hl.BoundaryConditions.repeat_edge(sized), hl.Func("out")
    out[x, y] = free[x + 2, y] + edge[x - 1, y]
    bounds = bounds_of([out], [8, 5])
    assert bounds.regions[id(free)] == ((0, 10), (0, 5))
    assert bounds.regions[id(sized)] == ((0, 8), (0, 5))


def test_promised_bounds_of_an_input_hold_for_every_size() -> None:
    """Estimates give way to the size that is asked for, what `set_bounds` promises does not."""
    image, out, c = hl.ImageParam(hl.UInt(8), 3, "image"), hl.Func("out"), hl.Var("c")
    image.dim(2).set_bounds(0, 3).dim(0).set_bounds(-2, 40)
    image.dim(1).set_estimate(0, 99)
    out[x, y, c] = image[x, y, c] + hl.u8(image.width() + image.height() + image.channels())
    assert bounds_of([out], [16, 8, 2]).regions[id(image)] == ((-2, 40), (0, 8), (0, 3))


def test_other_extents_that_a_pipeline_asks_for_are_estimates_or_those_asked_for() -> None:
    """Layers of a network have their channels first: the rows of an image are dimension 2."""
    for estimate, expected in ((None, 4), (7, 7)):
        image, out, n = hl.ImageParam(hl.Float(32), 3, "image"), hl.Func("out"), hl.Var("n")
        if estimate is not None:
            image.dim(2).set_estimate(0, estimate)
        zero = (hl.Expr(), hl.Expr())
        padded = hl.BoundaryConditions.constant_exterior(image, 0.0, [zero, zero, (0, image.dim(2).extent())])
        out[x, y, n] = padded[x, y, n + 1]
        assert bounds_of([out], [3, 5, 4]).regions[id(image)] == ((0, 3), (0, 5), (0, expected))


def test_promised_starts_and_extents_may_come_one_by_one() -> None:
    image, free, out = hl.ImageParam(hl.UInt(8), 2, "image"), hl.ImageParam(hl.UInt(8), 1, "free"), hl.Func("out")
    image.dim(0).set_min(3)
    image.dim(0).set_extent(20)
    image.dim(1).set_extent(7)
    free.dim(0).set_min(2)
    out[x, y] = image[x + 4, y] + free[x + 5]
    bounds = bounds_of([out], [16, 7])
    assert bounds.regions[id(image)] == ((3, 20), (0, 7))
    assert bounds.regions[id(free)] == ((2, 19),)


def test_the_interpreter_keeps_the_coordinates_of_bounded_outputs() -> None:
    f = hl.Func("f")
    f[x] = x * x
    f.bound(x, 3, 4)
    found = f.realize([4])
    assert np.asarray(found).tolist() == [9, 16, 25, 36] and found[6] == 36
