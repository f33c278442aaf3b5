"""A recursive blur of an RGB image: down and up each column, transposed, and the same again."""

from __future__ import annotations

from antune import halide as hl


def blur_columns(source: hl.ImageParam | hl.Func, height: hl.Expr, alpha: float, name: str) -> hl.Func:
    """Every column blurred down and up, and the result transposed."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    blur, transposed = hl.Func(f"blur_{name}"), hl.Func(f"transposed_{name}")
    r = hl.RDom([(1, height - 1)], "r")
    up = height - 1 - r
    blur[x, y, c] = source[x, y, c]
    blur[x, r, c] = (1 - alpha) * blur[x, r - 1, c] + alpha * source[x, r, c]
    blur[x, up, c] = (1 - alpha) * blur[x, up + 1, c] + alpha * blur[x, up, c]
    transposed[x, y, c] = blur[y, x, c]
    return transposed


def build(percent: int = 10) -> hl.Func:
    """The blurred image, for any size; `percent` is the weight of each new element."""
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_estimate(0, 3)
    once = blur_columns(image, image.height(), percent / 100, "y")
    twice = blur_columns(once, image.width(), percent / 100, "x")
    twice.bound(twice.args()[2], 0, 3)
    return twice
