"""Unsharp mask: an RGB image minus a Gaussian blur of its grey values, edges repeated."""

from __future__ import annotations

from math import exp, pi, sqrt

from antune import halide as hl


def build(sigma: float = 1.5) -> hl.Func:
    """The sharpened image, for any size; `sigma` is the width of the blur."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_estimate(0, 3)
    kernel = [exp(-i * i / (2 * sigma * sigma)) / (sqrt(2 * pi) * sigma) for i in range(4)]
    clamped = hl.BoundaryConditions.repeat_edge(image)
    gray, blur_y, blur_x = hl.Func("gray"), hl.Func("blur_y"), hl.Func("blur_x")
    sharpen, ratio, unsharp = hl.Func("sharpen"), hl.Func("ratio"), hl.Func("unsharp")
    gray[x, y] = 0.299 * clamped[x, y, 0] + 0.587 * clamped[x, y, 1] + 0.114 * clamped[x, y, 2]
    blur_y[x, y] = kernel[0] * gray[x, y] + sum(kernel[i] * (gray[x, y - i] + gray[x, y + i]) for i in (1, 2, 3))
    blur_x[x, y] = kernel[0] * blur_y[x, y] + sum(kernel[i] * (blur_y[x - i, y] + blur_y[x + i, y]) for i in (1, 2, 3))
    sharpen[x, y] = 2.0 * gray[x, y] - blur_x[x, y]
    ratio[x, y] = sharpen[x, y] / gray[x, y]
    unsharp[x, y, c] = ratio[x, y] * image[x, y, c]
    unsharp.bound(c, 0, 3)
    return unsharp
