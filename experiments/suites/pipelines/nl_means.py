"""Non-local means: every element of an RGB image becomes a mean of those around it whose neighbourhoods look alike."""

from __future__ import annotations

from antune import halide as hl


def build(patch: int = 7, search: int = 7, sigma: float = 0.12) -> hl.Func:
    """The smoothed image, for any size; neighbourhoods of `patch`^2 elements are compared, `search`^2 of them."""
    x, y, c, dx, dy = (hl.Var(name) for name in ("x", "y", "c", "dx", "dy"))
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_estimate(0, 3)
    clamped = hl.BoundaryConditions.repeat_edge(image)
    near, far = hl.RDom([(-(patch // 2), patch)], "near"), hl.RDom([(-(search // 2), search)] * 2, "far")
    channels = hl.RDom([(0, 3)], "channels")

    distance, column, box, weight = (hl.Func(name) for name in ("distance", "column", "box", "weight"))
    difference = clamped[x, y, channels] - clamped[x + dx, y + dy, channels]
    distance[x, y, dx, dy] = hl.sum(difference * difference, "difference")
    column[x, y, dx, dy] = hl.sum(distance[x, y + near, dx, dy], "column_sum")
    box[x, y, dx, dy] = hl.sum(column[x + near, y, dx, dy], "box_sum")
    weight[x, y, dx, dy] = hl.fast_exp(box[x, y, dx, dy] * (-1.0 / (sigma * sigma * patch * patch)))

    summed, smooth = hl.Func("summed"), hl.Func("smooth")
    value = hl.select(c == 3, 1.0, clamped[x + far.x, y + far.y, hl.min(c, 2)])
    summed[x, y, c] = 0.0
    summed[x, y, c] += weight[x, y, far.x, far.y] * value
    smooth[x, y, c] = hl.clamp(summed[x, y, c] / summed[x, y, 3], 0.0, 1.0)
    smooth.bound(c, 0, 3)
    return smooth
