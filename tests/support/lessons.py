"""Lessons 1 to 14 of Halide's tutorial, as short pipelines. Files and schedules that only print or compile have no
result; if a lesson is about a schedule, the schedule is given and must change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.halide_wheel import Wanted

COLOURS: NDArray[np.uint8] = np.random.default_rng(7).integers(0, 256, (3, 12, 16)).astype(np.uint8)


def l01_a_first_func(hl: Any) -> Wanted:
    ramp, x, y = hl.Func("ramp"), hl.Var("x"), hl.Var("y")
    ramp[x, y] = 3 * x - y
    return [(ramp, [9, 7])]


def l02_brighten_an_image(hl: Any) -> Wanted:
    image, bright, x, y, c = hl.Buffer(COLOURS), hl.Func("bright"), hl.Var("x"), hl.Var("y"), hl.Var("c")
    value = hl.f32(image[x, y, c]) * 1.25
    bright[x, y, c] = hl.u8(hl.min(value, 255.0))
    return [(bright, [image.width(), image.height(), image.channels()])]


def l03_look_at_values(hl: Any) -> Wanted:
    """The lesson prints text; the computed values do not change."""
    wave, x, y = hl.Func("wave"), hl.Var("x"), hl.Var("y")
    wave[x, y] = hl.sin(hl.f32(x) * 0.25) + hl.f32(y)
    wave.compute_root()
    return [(wave, [8, 4])]


def l04_print_while_it_runs(hl: Any) -> Wanted:
    f, g, x, y = hl.Func("f"), hl.Func("g"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.print(x * y, "at", x, y)
    g[x, y] = hl.print_when(f[x, y] == 6, f[x, y] + 1, "is next to six")
    return [(g, [4, 3])]


def l05_vectorize_parallelize_tile(hl: Any) -> Wanted:
    xo, yo, xi, yi, tiles = (hl.Var(n) for n in ("xo", "yo", "xi", "yi", "tiles"))
    x, y, made = hl.Var("x"), hl.Var("y"), []
    for kind in range(4):
        f = hl.Func(f"gradient{kind}")
        f[x, y] = x + 2 * y
        if kind == 1:
            f.reorder(y, x)
        elif kind == 2:
            f.tile(x, y, xo, yo, xi, yi, 4, 4).fuse(xo, yo, tiles).parallel(tiles)
        elif kind == 3:
            f.split(x, xo, xi, 4).vectorize(xi).unroll(y, 2)
        made.append((f, [16, 8]))
    return made


def l06_over_a_shifted_domain(hl: Any) -> Wanted:
    f, moved, x, y = hl.Func("f"), hl.Func("moved"), hl.Var("x"), hl.Var("y")
    f[x, y] = x * x - y
    part = hl.Buffer(hl.Int(32), [5, 4])
    part.set_min([100, -50])
    f.realize(part)
    moved[x, y] = part[x + 100, y - 50] + 0
    return [(moved, [5, 4])]


def l07_stages_and_edges(hl: Any) -> Wanted:
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    edge = hl.BoundaryConditions.repeat_edge(hl.Buffer(COLOURS))
    wide, across, down, out = hl.Func("wide"), hl.Func("across"), hl.Func("down"), hl.Func("out")
    wide[x, y, c] = hl.u16(edge[x, y, c])
    across[x, y, c] = (wide[x - 1, y, c] + 2 * wide[x, y, c] + wide[x + 1, y, c]) / 4
    down[x, y, c] = (across[x, y - 1, c] + 2 * across[x, y, c] + across[x, y + 1, c]) / 4
    out[x, y, c] = hl.u8(down[x, y, c])
    return [(out, [16, 12, 3])]


def l08_where_stages_are_computed(hl: Any) -> Wanted:
    x, y, made = hl.Var("x"), hl.Var("y"), []
    for place in ("inline", "root", "row", "window"):
        f, g = hl.Func("f"), hl.Func("g")
        f[x, y] = hl.sin(hl.f32(x * y))
        g[x, y] = (f[x, y] + f[x + 1, y] + f[x, y + 1] + f[x + 1, y + 1]) / 4
        if place == "root":
            f.compute_root()
        elif place == "row":
            f.compute_at(g, y)
        elif place == "window":
            f.store_root().compute_at(g, y)
        made.append((g, [8, 8]))
    return made


def l09_updates(hl: Any) -> Wanted:
    x, y, f, grown = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.Func("grown")
    f[x, y] = x + y
    f[x, 0] = f[x, 3] * 2
    f[1, y] = f[2, y] + 5
    r, s = hl.RDom([(0, 9), (2, 4)]), hl.RDom([(1, 9)])
    f[r.x, r.y] *= 3
    grown[x] = hl.f32(1.0)
    grown[s.x] = grown[s.x - 1] * 1.5
    return [(f, [10, 8]), (grown, [10])]


def l09_histograms_and_sums(hl: Any) -> Wanted:
    x, image = hl.Var("x"), hl.Buffer(COLOURS[0])
    histogram, rows, r, s = hl.Func("histogram"), hl.Func("rows"), hl.RDom([(0, 16), (0, 12)]), hl.RDom([(0, 16)])
    histogram[x] = 0
    histogram[image[r.x, r.y]] += 1
    rows[x] = (hl.sum(hl.i32(image[s.x, x])), hl.maximum(image[s.x, x]), hl.argmin(image[s.x, x])[0])
    return [(histogram, [256]), (rows, [12])]


def l10_to_l11_with_parameters(hl: Any) -> Wanted:
    """These lessons compile ahead of time: the image and the number are given later."""
    x, y = hl.Var("x"), hl.Var("y")
    image, offset, out = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.UInt(8), "offset"), hl.Func("out")
    out[x, y] = image[x, y] + offset
    image.set(hl.Buffer(COLOURS[1]))
    offset.set(77)
    return [(out, [16, 12])]


def l12_a_pipeline_for_gpus(hl: Any) -> Wanted:
    """A table of levels, and a sharpened image through it."""
    x, y, c, i = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("i")
    edge, table = hl.BoundaryConditions.repeat_edge(hl.Buffer(COLOURS)), hl.Func("table")
    wide, blur, sharp, out = hl.Func("wide"), hl.Func("blur"), hl.Func("sharp"), hl.Func("out")
    table[i] = hl.u8(hl.clamp(hl.i32(i) * hl.i32(i) / 255, 0, 255))
    wide[x, y, c] = hl.i16(edge[x, y, c])
    blur[x, y, c] = (wide[x - 1, y, c] + wide[x + 1, y, c] + wide[x, y - 1, c] + wide[x, y + 1, c]) / 4
    sharp[x, y, c] = hl.u8_sat(2 * wide[x, y, c] - blur[x, y, c])
    out[x, y, c] = table[sharp[x, y, c]]
    table.compute_root()
    out.reorder(c, x, y).bound(c, 0, 3)
    return [(out, [16, 12, 3])]


def l13_tuples(hl: Any) -> Wanted:
    x, y, both, far = hl.Var("x"), hl.Var("y"), hl.Func("both"), hl.Func("far")
    image, r = hl.Buffer(COLOURS[2]), hl.RDom([(0, 16), (0, 12)])
    both[x, y] = (x + y, hl.f32(x) * 0.5)
    far[()] = (0, 0, hl.u8(image[0, 0]))
    best = far[()]
    closer = image[r.x, r.y] > best[2]
    far[()] = (hl.select(closer, r.x, best[0]), hl.select(closer, r.y, best[1]),
               hl.select(closer, image[r.x, r.y], best[2]))
    return [(both, [6, 4]), (far, [])]


def l14_types(hl: Any) -> Wanted:
    """The types of operations on two types, and errors."""
    x, image = hl.Var("x"), hl.Buffer(COLOURS[0, 0])
    kinds = [hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16), hl.UInt(32), hl.Int(32), hl.Float(32), hl.Float(64)]
    made = []
    for one in kinds:
        f = hl.Func("f")
        f[x] = tuple(hl.cast(one, image[x] / 16) + hl.cast(other, image[x] / 9) for other in kinds)
        made.append((f, [16]))
    return made


LESSONS = (
    l01_a_first_func, l02_brighten_an_image, l03_look_at_values, l04_print_while_it_runs,
    l05_vectorize_parallelize_tile, l06_over_a_shifted_domain, l07_stages_and_edges, l08_where_stages_are_computed,
    l09_updates, l09_histograms_and_sums, l10_to_l11_with_parameters, l12_a_pipeline_for_gpus, l13_tuples, l14_types)
