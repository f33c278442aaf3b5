"""Pipelines with stages that blocks compute for their whole tile, before their loops over steps and inner tiles."""

from __future__ import annotations

from antune import halide as hl

x, y = hl.Var("x"), hl.Var("y")


def chain(width: int = 37, height: int = 26) -> hl.Func:
    """Two stencils, one after the other; the first one is read by the output, too."""
    source, one, two, out = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("one"), hl.Func("two"), hl.Func("out")
    one[x, y] = hl.u16(source[x, y]) * 3 + hl.u16(source[x + 1, y])
    two[x, y] = one[x, y - 1] + one[x, y] * 5 + one[x, y + 1]
    out[x, y] = two[x, y] - two[x + 1, y + 1] + one[x, y]
    return out


def window(width: int = 13, height: int = 11) -> hl.Func:
    """A sum over a window of a stage, which inner tiles read in part, and a stage that none of its loops moves."""
    source, one, row, out = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("one"), hl.Func("row"), hl.Func("out")
    r = hl.RDom([(0, 6), (0, 5)])
    one[x, y] = hl.u32(source[x, y]) * 3
    row[x] = hl.u32(source[x, 0]) + 1
    out[x, y] = hl.u32(0)
    out[x, y] += one[x + r.x, y + r.y] * row[r.x + 2 * r.y]
    return out
