"""The greatest value in a disc around each element of an RGB image, edges repeated.

Running maxima of 1, 2, 4, ... elements along y make any column of the disc out of two of them.
"""

from __future__ import annotations

from functools import reduce

from antune import halide as hl


def build(radius: int = 26) -> hl.Func:
    """The filtered image, for any size; the disc holds (dx, dy) with dx^2 + dy^2 < (radius + 1/4)^2."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_estimate(0, 3)
    running = [hl.BoundaryConditions.repeat_edge(image)]
    while 2 ** len(running) <= 2 * radius + 1:
        step, before, wider = 2 ** (len(running) - 1), running[-1], hl.Func(f"running_{len(running)}")
        wider[x, y, c] = hl.max(before[x, y, c], before[x, y + step, c])
        running.append(wider)

    def column(dx: int) -> hl.Expr:
        height = max(dy for dy in range(radius + 1) if dx * dx + dy * dy < (radius + 0.25) ** 2)
        level = (2 * height + 1).bit_length() - 1
        part = running[level]
        return hl.max(part[x + dx, y - height, c], part[x + dx, y + height + 1 - 2**level, c])

    filtered = hl.Func("filtered")
    filtered[x, y, c] = reduce(hl.max, (column(dx) for dx in range(-radius, radius + 1)))
    filtered.bound(c, 0, 3)
    return filtered
