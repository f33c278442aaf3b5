"""Bilateral grid: a grey image is summed into a coarse grid of place and brightness, blurred there, and looked up
again.
"""

from __future__ import annotations

from antune import halide as hl


def build(spatial: int = 8, bins: int = 10) -> hl.Func:
    """The filtered image, for any size; a cell is `spatial` elements wide and 1 / `bins` of the brightness deep."""
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    clamped = hl.BoundaryConditions.repeat_edge(image)

    histogram, blur_z, blur_x, blur_y = (hl.Func(name) for name in ("histogram", "blur_z", "blur_x", "blur_y"))
    r = hl.RDom([(0, spatial), (0, spatial)], "r")
    value = hl.clamp(clamped[x * spatial + r.x - spatial // 2, y * spatial + r.y - spatial // 2], 0.0, 1.0)
    histogram[x, y, z, c] = 0.0
    histogram[x, y, hl.i32(value * float(bins) + 0.5), c] += hl.select(c == 0, value, 1.0)

    def blurred(at: list[hl.Expr]) -> hl.Expr:
        return at[0] + at[1] * 4 + at[2] * 6 + at[3] * 4 + at[4]

    blur_z[x, y, z, c] = blurred([histogram[x, y, z + k, c] for k in range(-2, 3)])
    blur_x[x, y, z, c] = blurred([blur_z[x + k, y, z, c] for k in range(-2, 3)])
    blur_y[x, y, z, c] = blurred([blur_x[x, y + k, z, c] for k in range(-2, 3)])

    level = hl.clamp(image[x, y], 0.0, 1.0) * float(bins)
    zi = hl.i32(level)
    zf, xf, yf = level - hl.f32(zi), hl.f32(x % spatial) / spatial, hl.f32(y % spatial) / spatial
    xi, yi = x // spatial, y // spatial

    def plane(depth: hl.Expr) -> hl.Expr:
        return hl.lerp(hl.lerp(blur_y[xi, yi, depth, c], blur_y[xi + 1, yi, depth, c], xf),
                       hl.lerp(blur_y[xi, yi + 1, depth, c], blur_y[xi + 1, yi + 1, depth, c], xf), yf)

    interpolated, filtered = hl.Func("interpolated"), hl.Func("filtered")
    interpolated[x, y, c] = hl.lerp(plane(zi), plane(zi + 1), zf)
    filtered[x, y] = interpolated[x, y, 0] / interpolated[x, y, 1]
    return filtered
