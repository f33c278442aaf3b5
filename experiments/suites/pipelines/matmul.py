"""Matrix multiplication of float32 matrices: product[x, y] = sum over k of a[k, y] b[x, k]."""

from __future__ import annotations

from antune import halide as hl


def build(depth: int = 1024) -> hl.Func:
    """The product, for any size; `depth` is the length of its sums."""
    x, y = hl.Var("x"), hl.Var("y")
    a, b = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b")
    k = hl.RDom([(0, depth)], "k")
    product = hl.Func("product")
    product[x, y] = 0.0
    product[x, y] += a[k, y] * b[x, k]
    return product
