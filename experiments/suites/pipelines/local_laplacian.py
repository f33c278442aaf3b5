"""Local Laplacian filter: tone mapping of an RGB image by pyramids of its grey values at several intensities."""

from __future__ import annotations

from pyramids import separable

from antune import halide as hl

DOWN = {-1: 1 / 8, 0: 3 / 8, 1: 3 / 8, 2: 1 / 8}


def up(source: hl.Func, name: str) -> hl.Func:
    """Twice the size: three quarters of the nearer element and a quarter of the other one, along x and y."""
    args = source.args()
    x, y, rest = args[0], args[1], args[2:]
    along_x, along_y = hl.Func(f"{name}_x"), hl.Func(name)
    along_x[(x, y, *rest)] = hl.lerp(source[((x + 1) // 2, y, *rest)], source[((x - 1) // 2, y, *rest)],
                                     hl.f32((x % 2) * 2 + 1) / 4)
    along_y[(x, y, *rest)] = hl.lerp(along_x[(x, (y + 1) // 2, *rest)], along_x[(x, (y - 1) // 2, *rest)],
                                     hl.f32((y % 2) * 2 + 1) / 4)
    return along_y


def build(levels: int = 8, intensities: int = 8, beta: float = 1.0) -> hl.Func:
    """The filtered image, for any size; `levels` of the pyramids, `intensities` at which the image is remapped."""
    x, y, c, k = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Var("k")
    last, alpha = intensities - 1, 1.0 / (intensities - 1)
    image = hl.ImageParam(hl.Float(32), 3, "image")
    image.dim(2).set_estimate(0, 3)
    clamped = hl.BoundaryConditions.repeat_edge(image)
    gray, remap, first = hl.Func("gray"), hl.Func("remap"), hl.Func("remapped_0")
    gray[x, y] = 0.299 * clamped[x, y, 0] + 0.587 * clamped[x, y, 1] + 0.114 * clamped[x, y, 2]
    remap[x] = alpha * (hl.f32(x) / 256.0) * hl.exp(-(hl.f32(x) / 256.0) * (hl.f32(x) / 256.0) / 2.0)
    level = hl.f32(k) * (1.0 / last)
    index = hl.clamp(hl.i32(gray[x, y] * float(last) * 256.0), 0, last * 256)
    first[x, y, k] = beta * (gray[x, y] - level) + level + remap[index - 256 * k]

    remapped, plain = [first], [gray]
    for j in range(1, levels):
        remapped.append(separable(remapped[-1], DOWN, f"remapped_{j}"))
        plain.append(separable(plain[-1], DOWN, f"gray_{j}"))

    result: hl.Func | None = None
    for j in reversed(range(levels)):
        laplacian, chosen, collapsed = hl.Func(f"laplacian_{j}"), hl.Func(f"chosen_{j}"), hl.Func(f"collapsed_{j}")
        fine = hl.Expr(remapped[j][x, y, k])
        laplacian[x, y, k] = fine if j == levels - 1 else fine - up(remapped[j + 1], f"up_remapped_{j}")[x, y, k]
        scaled = plain[j][x, y] * float(last)
        li = hl.clamp(hl.i32(scaled), 0, last - 1)
        lf = scaled - hl.f32(li)
        chosen[x, y] = (1.0 - lf) * laplacian[x, y, li] + lf * laplacian[x, y, li + 1]
        collapsed[x, y] = chosen[x, y] if result is None else up(result, f"up_collapsed_{j}")[x, y] + chosen[x, y]
        result = collapsed

    assert result is not None
    out = hl.Func("filtered")
    out[x, y, c] = hl.clamp(clamped[x, y, c] * (result[x, y] + 0.01) / (gray[x, y] + 0.01), 0.0, 1.0)
    out.bound(c, 0, 3)
    return out
