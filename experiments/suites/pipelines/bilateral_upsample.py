"""Bilateral guided upsampling: what some slow program made of a small image is carried over to the large one.

A coarse grid of place and brightness gets, per cell, the affine map of colours that fits the small image and its result
best (least squares, by the normal equations); the large image looks up its maps there.
"""

from __future__ import annotations

from antune import halide as hl

Matrix = list[list[hl.Expr]]


def build(width: int = 192, height: int = 320, factor: int = 8, spatial: int = 16, bins: int = 8) -> hl.Func:
    """The large image as the small one of `width` x `height` suggests; `factor` is by how much it is larger.

    A cell is `spatial` elements of the small image wide and 1 / `bins` of the brightness deep.
    """
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    low, made = hl.ImageParam(hl.Float(32), 3, "low"), hl.ImageParam(hl.Float(32), 3, "low_result")
    image = hl.ImageParam(hl.Float(32), 3, "image")
    for small in (low, made):
        for dim, extent in enumerate((width, height, 3)):
            small.dim(dim).set_bounds(0, extent)

    histogram = splat(low, made, spatial, bins)
    blur_z, blur_y, blur_x = (hl.Func(name) for name in ("blur_z", "blur_y", "blur_x"))
    blur_z[x, y, z, c] = blurred([histogram[x, y, z + k, c] for k in range(-3, 4)])
    blur_y[x, y, z, c] = blurred([blur_z[x, y + k, z, c] for k in range(-3, 4)])
    blur_x[x, y, z, c] = blurred([blur_y[x + k, y, z, c] for k in range(-3, 4)])
    maps = hl.Func("maps")
    maps[x, y, z, c] = hl.mux(c, fitted([hl.Expr(blur_x[x, y, z, k]) for k in range(22)]))

    cell = spatial * factor
    level = gray([hl.clamp(image[x, y, k], 0.0, 1.0) for k in range(3)]) * float(bins)
    zi = hl.i32(level)
    zf, xf, yf = level - hl.f32(zi), hl.f32(x % cell) / cell, hl.f32(y % cell) / cell
    xi, yi = x // cell, y // cell

    def plane(depth: hl.Expr) -> hl.Expr:
        return hl.lerp(hl.lerp(maps[xi, yi, depth, c], maps[xi + 1, yi, depth, c], xf),
                       hl.lerp(maps[xi, yi + 1, depth, c], maps[xi + 1, yi + 1, depth, c], xf), yf)

    sliced, upsampled = hl.Func("sliced"), hl.Func("upsampled")
    sliced[x, y, c] = hl.lerp(plane(zi), plane(zi + 1), zf)
    colour = [*(image[x, y, k] for k in range(3)), hl.f32(1.0)]
    upsampled[x, y, c] = hl.clamp(sum((sliced[x, y, 4 * c + k] * colour[k] for k in range(1, 4)),
                                      sliced[x, y, 4 * c] * colour[0]), 0.0, 1.0)
    upsampled.bound(c, 0, 3)
    return upsampled


def splat(low: hl.ImageParam, made: hl.ImageParam, spatial: int, bins: int) -> hl.Func:
    """Per cell: the sums of the products of [R G B 1] with itself (10), and of the result's colours with it (12)."""
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    given, wanted = hl.BoundaryConditions.repeat_edge(low), hl.BoundaryConditions.repeat_edge(made)
    r = hl.RDom([(0, spatial), (0, spatial)], "r")
    sx, sy = x * spatial + r.x - spatial // 2, y * spatial + r.y - spatial // 2
    colour = [*(hl.clamp(given[sx, sy, k], 0.0, 1.0) for k in range(3)), hl.f32(1.0)]
    result = [wanted[sx, sy, k] for k in range(3)]
    products = [colour[i] * colour[j] for i in range(4) for j in range(i, 4)]
    products += [result[i] * colour[j] for i in range(3) for j in range(4)]
    histogram = hl.Func("histogram")
    histogram[x, y, z, c] = 0.0
    histogram[x, y, hl.i32(gray(colour[:3]) * float(bins) + 0.5), c] += hl.mux(c, products)
    return histogram


def gray(colour: list[hl.Expr]) -> hl.Expr:
    """The brightness of a colour."""
    return colour[0] * 0.25 + colour[1] * 0.5 + colour[2] * 0.25


def blurred(at: list[hl.Expr]) -> hl.Expr:
    """The sum of seven neighbours with weights."""
    weights = (1 / 64, 1 / 27, 1 / 8, 1.0, 1 / 8, 1 / 27, 1 / 64)
    return sum((weight * value for weight, value in zip(weights[1:], at[1:], strict=True)), weights[0] * at[0])


def fitted(sums: list[hl.Expr]) -> list[hl.Expr]:
    """The 3 x 4 affine map for the sums of a cell, row by row; near the identity where there are few of them."""
    places = {(i, j): k for k, (i, j) in enumerate((i, j) for i in range(4) for j in range(i, 4))}
    a = [[sums[places[min(i, j), max(i, j)]] + (0.1 if i == j else 0.0) for j in range(4)] for i in range(4)]
    b = [[sums[10 + 4 * row + i] + (0.1 if i == row else 0.0) for i in range(4)] for row in range(3)]
    return [value for right in b for value in solved(a, right)]


def solved(a: Matrix, b: list[hl.Expr]) -> list[hl.Expr]:
    """The solution of a symmetric system, by a = L D L^T with ones in the diagonal of L."""
    lower: dict[tuple[int, int], hl.Expr] = {}
    diagonal: list[hl.Expr] = []
    for i in range(4):
        for j in range(i):
            rest = a[i][j]
            for k in range(j):
                rest = rest - lower[i, k] * lower[j, k] * diagonal[k]
            lower[i, j] = rest / diagonal[j]
        rest = a[i][i]
        for k in range(i):
            rest = rest - lower[i, k] * lower[i, k] * diagonal[k]
        diagonal.append(rest)
    found = list(b)
    for i in range(4):
        for k in range(i):
            found[i] = found[i] - lower[i, k] * found[k]
    found = [value / diagonal[i] for i, value in enumerate(found)]
    for i in reversed(range(4)):
        for k in range(i + 1, 4):
            found[i] = found[i] - lower[k, i] * found[k]
    return found
