"""Two RGB images blended by a mask, level by level of their Laplacian pyramids."""

from __future__ import annotations

from pyramids import doubled, separable

from antune import halide as hl

DOWN = {-2: 1 / 16, -1: 4 / 16, 0: 6 / 16, 1: 4 / 16, 2: 1 / 16}


def build(levels: int = 4) -> hl.Func:
    """The blended image, for any size."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    images = [hl.ImageParam(hl.Float(32), 3, name) for name in ("left", "right")]
    mask = hl.ImageParam(hl.Float(32), 2, "mask")
    for image in images:
        image.dim(2).set_estimate(0, 3)

    def pyramid(source: hl.ImageParam, name: str) -> list[hl.Func]:
        found = [hl.BoundaryConditions.repeat_edge(source)]
        for level in range(1, levels):
            found.append(separable(found[-1], DOWN, f"{name}_{level}"))
        return found

    left, right = (pyramid(image, image.name()) for image in images)
    weights = pyramid(mask, "mask")
    result: hl.Func | None = None
    for level in reversed(range(levels)):
        details = []
        for name, gaussian in (("left", left), ("right", right)):
            detail = hl.Func(f"detail_{name}_{level}")
            here = hl.Expr(gaussian[level][x, y, c])
            detail[x, y, c] = (
                here if level == levels - 1 else here - doubled(gaussian[level + 1], f"up_{name}_{level}")[x, y, c]
            )
            details.append(detail)
        mixed, collapsed = hl.Func(f"mixed_{level}"), hl.Func(f"collapsed_{level}")
        share = weights[level][x, y]
        mixed[x, y, c] = details[0][x, y, c] * share + details[1][x, y, c] * (1.0 - share)
        collapsed[x, y, c] = (
            mixed[x, y, c] if result is None else doubled(result, f"up_{level}")[x, y, c] + mixed[x, y, c]
        )
        result = collapsed
    assert result is not None
    result.bound(c, 0, 3)
    return result
