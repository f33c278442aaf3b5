"""Histogram equalisation of an 8-bit RGB image by its brightness: a histogram per row, their sum, a running sum, a
table.
"""

from __future__ import annotations

from antune import halide as hl


def build() -> hl.Func:
    """The equalised image, for any size."""
    x, y, c, b = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("b")
    image = hl.ImageParam(hl.UInt(8), 3, "image")
    image.dim(2).set_estimate(0, 3)
    width, height = image.width(), image.height()
    luma, cr, cb = hl.Func("luma"), hl.Func("cr"), hl.Func("cb")
    red, green, blue = (hl.f32(image[x, y, k]) for k in range(3))
    luma[x, y] = 0.299 * red + 0.587 * green + 0.114 * blue
    cr[x, y] = (red - luma[x, y]) * 0.713 + 128.0
    cb[x, y] = (blue - luma[x, y]) * 0.564 + 128.0

    rows, histogram, cdf = hl.Func("rows"), hl.Func("histogram"), hl.Func("cdf")
    rx, ry, rb = hl.RDom([(0, width)], "rx"), hl.RDom([(0, height)], "ry"), hl.RDom([(1, 255)], "rb")
    rows[b, y] = 0
    rows[hl.i32(hl.clamp(luma[rx, y], 0.0, 255.0)), y] += 1
    histogram[b] = 0
    histogram[b] += rows[b, ry]
    cdf[b] = histogram[0]
    cdf[rb.x] = cdf[rb - 1] + histogram[rb]

    equal, out = hl.Func("equal"), hl.Func("equalized")
    level = hl.i32(hl.clamp(luma[x, y], 0.0, 255.0))
    equal[x, y] = hl.clamp(hl.f32(cdf[level]) * (255.0 / hl.f32(height * width)), 0.0, 255.0)
    e, r, g = equal[x, y], cr[x, y] - 128.0, cb[x, y] - 128.0
    shade = hl.select(c == 0, e + 1.4 * r, c == 1, e - 0.343 * g - 0.711 * r, e + 1.765 * g)
    out[x, y, c] = hl.u8(hl.clamp(shade, 0.0, 255.0))
    out.bound(c, 0, 3)
    return out
