"""A 3x3 box blur in two steps, on 16-bit images; the input is two elements larger than the output in each direction."""

from __future__ import annotations

from antune import halide as hl


def build() -> hl.Func:
    """The blurred image, for any size."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.UInt(16), 2, "image")
    blur_x, blur_y = hl.Func("blur_x"), hl.Func("blur_y")
    blur_x[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) // 3
    blur_y[x, y] = (blur_x[x, y] + blur_x[x, y + 1] + blur_x[x, y + 2]) // 3
    return blur_y
