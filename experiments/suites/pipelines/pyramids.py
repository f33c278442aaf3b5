"""Steps that the pyramid pipelines share; coordinates after the first two are passed on."""

from __future__ import annotations

from collections.abc import Sequence

from antune import halide as hl


def separable(source: hl.Func, taps: dict[int, float], name: str) -> hl.Func:
    """Half the size: the weighted sum of the elements 2x + k for the `taps` {k: weight}, along x, then along y."""
    args = source.args()
    x, y, rest = args[0], args[1], args[2:]
    along_x, along_y = hl.Func(f"{name}_x"), hl.Func(name)
    along_x[(x, y, *rest)] = weighted([(w, source[(2 * x + k, y, *rest)]) for k, w in taps.items()])
    along_y[(x, y, *rest)] = weighted([(w, along_x[(x, 2 * y + k, *rest)]) for k, w in taps.items()])
    return along_y


def weighted(terms: Sequence[tuple[float, hl.Expr]]) -> hl.Expr:
    """The sum of value times weight."""
    total = terms[0][1] * terms[0][0]
    for weight, value in terms[1:]:
        total = total + value * weight
    return total


def doubled(source: hl.Func, name: str) -> hl.Func:
    """Twice the size: elements between two others are their mean."""
    args = source.args()
    x, y, rest = args[0], args[1], args[2:]
    along_x, along_y = hl.Func(f"{name}_x"), hl.Func(name)
    along_x[(x, y, *rest)] = (source[(x // 2, y, *rest)] + source[(x // 2 + x % 2, y, *rest)]) * 0.5
    along_y[(x, y, *rest)] = (along_x[(x, y // 2, *rest)] + along_x[(x, y // 2 + y % 2, *rest)]) * 0.5
    return along_y
