"""Harris corners of an RGB image that is four elements larger than the result in each direction."""

from __future__ import annotations

from antune import halide as hl


def build() -> hl.Func:
    """The corner response, for any size."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_estimate(0, 3)

    def func(name: str, value: hl.Expr) -> hl.Func:
        made = hl.Func(name)
        made[x, y] = value
        return made

    def sum3x3(f: hl.Func) -> hl.Expr:
        return sum((f[x + i, y + j] for j in range(3) for i in range(3) if (i, j) != (0, 0)), hl.Expr(f[x, y]))

    gray = func("gray", 0.299 * image[x, y, 0] + 0.587 * image[x, y, 1] + 0.114 * image[x, y, 2])
    across = [(gray[x + 2, y + j] - gray[x, y + j]) * weight for j, weight in enumerate((1 / 12, 2 / 12, 1 / 12))]
    along = [(gray[x + i, y + 2] - gray[x + i, y]) * weight for i, weight in enumerate((1 / 12, 2 / 12, 1 / 12))]
    ix = func("ix", across[0] + across[1] + across[2])
    iy = func("iy", along[0] + along[1] + along[2])
    ixx, iyy = func("ixx", ix[x, y] * ix[x, y]), func("iyy", iy[x, y] * iy[x, y])
    ixy = func("ixy", ix[x, y] * iy[x, y])
    sxx, syy, sxy = func("sxx", sum3x3(ixx)), func("syy", sum3x3(iyy)), func("sxy", sum3x3(ixy))
    det = func("det", sxx[x, y] * syy[x, y] - sxy[x, y] * sxy[x, y])
    trace = func("trace", sxx[x, y] + syy[x, y])
    return func("harris", det[x, y] - 0.04 * trace[x, y] * trace[x, y])
