"""Multiscale interpolation: holes of an RGBA image are filled from coarser and coarser versions of it."""

from __future__ import annotations

from pyramids import doubled, separable

from antune import halide as hl

DOWN = {-1: 1 / 4, 0: 1 / 2, 1: 1 / 4}
NARROWED = 4


def build(levels: int = 10) -> hl.Func:
    """The filled RGB image, for any size; at the input of level 4, coordinates are limited to those of the image."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_estimate(0, 4)
    clamped = hl.BoundaryConditions.repeat_edge(image)
    first = hl.Func("down_0")
    first[x, y, c] = hl.select(c < 3, clamped[x, y, c] * clamped[x, y, 3], clamped[x, y, 3])
    down = [first]
    for level in range(1, levels):
        before = down[-1]
        if level == NARROWED:
            narrow = hl.Func("narrowed")
            narrow[x, y, c] = before[hl.clamp(x, 0, image.width() // 8), hl.clamp(y, 0, image.height() // 8), c]
            before = narrow
        down.append(separable(before, DOWN, f"down_{level}"))
    filled = down[-1]
    for level in reversed(range(levels - 1)):
        finer, coarse = hl.Func(f"filled_{level}"), doubled(filled, f"up_{level}")
        finer[x, y, c] = down[level][x, y, c] + (1.0 - down[level][x, y, 3]) * coarse[x, y, c]
        filled = finer
    out = hl.Func("normalized")
    out[x, y, c] = filled[x, y, c] / filled[x, y, 3]
    out.bound(c, 0, 3)
    return out
