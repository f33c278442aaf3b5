"""A random image pipeline: stencils, resampling, reductions and arithmetic in a random directed acyclic graph.

Building blocks as in Adams et al. 2019 (section 5) and Anderson et al. 2021 (section 6.2); all follows from `seed`.
"""

from __future__ import annotations

import random  # noqa: TID251 (a generator of its own per seed; numpy may change what a seed draws)
from collections.abc import Callable
from dataclasses import dataclass

from antune import halide as hl

COARSEST = 2
"""Halvings of the image at most."""


@dataclass(frozen=True)
class Plane:
    """A Func of two dimensions; `level` halvings smaller than the image."""

    func: hl.Func
    level: int


class Maker:
    """Makes stage after stage."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.x, self.y = hl.Var("x"), hl.Var("y")
        self.count = 0
        self.planes: list[Plane] = []
        self.unread: list[Plane] = []

    def plane(self, value: hl.Expr, level: int) -> Plane:
        """A new stage."""
        func = hl.Func(f"stage_{self.count}")
        self.count += 1
        func[self.x, self.y] = value
        return self.keep(Plane(func, level))

    def keep(self, made: Plane) -> Plane:
        """It may be read from now on."""
        self.planes.append(made)
        self.unread.append(made)
        return made

    def pick(self, level: int | None = None) -> Plane:
        """Something to read, what nobody reads yet first; of this level only, where one is given."""
        unread = [one for one in self.unread if level is None or one.level == level]
        others = [one for one in self.planes if level is None or one.level == level]
        found = self.draw.choice(unread if unread and self.draw.random() < 0.7 else others)
        self.unread = [one for one in self.unread if one is not found]
        return found

    def pointwise(self) -> Plane:
        """One element from one element."""
        a = self.pick()
        value = a.func[self.x, self.y]
        ways = (
            lambda: value * 0.75 + 0.125,
            lambda: hl.abs(value - 0.5),
            lambda: hl.min(hl.max(value, 0.1), 0.9),
            lambda: hl.select(value > 0.5, value * 0.5, value + 0.25),
            lambda: hl.sqrt(hl.abs(value) + 0.01),
            lambda: value / (hl.abs(value) + 1.0),
            lambda: hl.exp(value * -0.5),
        )
        return self.plane(self.draw.choice(ways)(), a.level)

    def combined(self) -> Plane:
        """One element from one of each of two planes."""
        a = self.pick()
        b = self.pick(a.level)
        left, right = a.func[self.x, self.y], b.func[self.x, self.y]
        ways = (
            lambda: left * 0.5 + right * 0.5,
            lambda: left * right + 0.125,
            lambda: hl.max(left, right) - hl.min(left, right),
            lambda: left - right,
            lambda: left / (hl.abs(right) + 1.0),
            lambda: hl.select(left > right, left, right * 0.5),
        )
        return self.plane(self.draw.choice(ways)(), a.level)

    def stencil(self) -> Plane:
        """A weighted sum of neighbours along x, along y, or of a box."""
        a, size = self.pick(), self.draw.choice((3, 3, 3, 5, 7))
        way = self.draw.choice(("x", "y", "box", "cross"))
        reach = range(-(size // 2), size // 2 + 1)
        if way == "box":
            reach = range(-1, 2) if size < 7 else range(-2, 3)
        places = {
            "x": [(i, 0) for i in reach],
            "y": [(0, j) for j in reach],
            "box": [(i, j) for j in reach for i in reach],
            "cross": [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)],
        }[way]
        scale = 1.0 / len(places)
        terms = [a.func[self.x + i, self.y + j] * (scale * (1.0 + 0.125 * (k % 3))) for k, (i, j) in enumerate(places)]
        total = terms[0]
        for term in terms[1:]:
            total = hl.max(total, term) if way == "cross" else total + term
        return self.plane(total, a.level)

    def halved(self) -> Plane:
        """Half the size: the mean of two by two elements, or of two along each dimension, one after the other."""
        fine = [one for one in self.planes if one.level < COARSEST]
        a = self.draw.choice(fine)
        self.unread = [one for one in self.unread if one is not a]
        f, x, y = a.func, self.x, self.y
        if self.draw.random() < 0.5:
            return self.plane((f[2 * x, 2 * y] + f[2 * x + 1, 2 * y] + f[2 * x, 2 * y + 1] + f[2 * x + 1, 2 * y + 1])
                              * 0.25, a.level + 1)
        along = hl.Func(f"stage_{self.count}")
        self.count += 1
        along[x, y] = f[2 * x - 1, y] * 0.25 + f[2 * x, y] * 0.5 + f[2 * x + 1, y] * 0.25
        return self.plane(along[x, 2 * y - 1] * 0.25 + along[x, 2 * y] * 0.5 + along[x, 2 * y + 1] * 0.25, a.level + 1)

    def doubled(self, a: Plane) -> Plane:
        """Twice the size: nearest element, or between two."""
        self.unread = [one for one in self.unread if one is not a]
        f, x, y = a.func, self.x, self.y
        if self.draw.random() < 0.4:
            return self.plane(f[x // 2, y // 2] * 1.0, a.level - 1)
        along = hl.Func(f"stage_{self.count}")
        self.count += 1
        along[x, y] = (f[x // 2, y] + f[x // 2 + x % 2, y]) * 0.5
        return self.plane((along[x, y // 2] + along[x, y // 2 + y % 2]) * 0.5, a.level - 1)

    def reduced(self) -> Plane:
        """A sum of products, or a maximum, over a box."""
        a, size = self.pick(), self.draw.choice((3, 5, 7))
        func = hl.Func(f"stage_{self.count}")
        self.count += 1
        r = hl.RDom([(0, size), (0, self.draw.choice((1, 3, size)))])
        value = a.func[self.x + r.x - size // 2, self.y + r.y]
        if self.draw.random() < 0.7:
            func[self.x, self.y] = 0.0
            func[self.x, self.y] += value * 0.0625
        else:
            func[self.x, self.y] = 0.0
            func[self.x, self.y] = hl.max(func[self.x, self.y], value)
        return self.keep(Plane(func, a.level))


def pipeline(maker: Maker, kinds: tuple[str, ...], chances: tuple[float, ...]) -> hl.Func:
    """Stages of these kinds until there are enough, and what joins those that nobody reads."""
    # lines that define Funcs keep their numbers: these are part of a program, to which measured plans belong
    for k in range(maker.draw.choice((1, 1, 2))):
        image = hl.ImageParam(hl.Float(32), 2, f"image_{k}")
        clamped = hl.BoundaryConditions.repeat_edge(image)
        maker.plane(clamped[maker.x, maker.y] * 1.0, 0) if maker.draw.random() < 0.5 else maker.keep(Plane(clamped, 0))
    wanted = maker.draw.randint(2, 11)
    while maker.count < wanted:
        kind = maker.draw.choices(kinds, chances)[0]
        coarse = [one for one in maker.planes if one.level > 0]
        if kind == "doubled" and coarse:
            maker.doubled(maker.draw.choice(coarse))
        elif kind != "doubled":
            getattr(maker, kind)()
    while any(one.level for one in maker.unread):
        maker.doubled(next(one for one in maker.unread if one.level))
    ends = maker.unread or [maker.planes[-1]]
    total = ends[0].func[maker.x, maker.y] * 0.5
    for one in ends[1:]:
        total = total + one.func[maker.x, maker.y]
    return maker.plane(total, 0).func


class BankMaker(Maker):
    """Makes banks of filters, too: sums of products over channels, as layers of neural networks are. Whether such sums
    are kept in registers decides how fast they are.
    """

    def filtered(self) -> Plane:
        """A bank of filters, or two layers of them; their channels become one plane again."""
        a, channels, first = self.pick(), self.draw.choice((4, 8)), self.draw.random() < 0.5
        func = self.bank(lambda _, x, y: a.func[x, y], 1, channels, first)
        if self.draw.random() < 0.5:
            before = func
            func = self.bank(lambda c, x, y: before[(c, x, y) if first else (x, y, c)], channels, channels, first)
        found = [func[(c, self.x, self.y) if first else (self.x, self.y, c)] for c in range(channels)]
        total = found[0] * 1.0
        for one in found[1:]:
            total = hl.max(total, one)
        return self.plane(total, a.level)

    def bank(self, read: Callable[[hl.Expr, hl.Expr, hl.Expr], hl.Expr], inputs: int, channels: int,
             first: bool) -> hl.Func:
        """Each channel is a sum over all inputs and boxes of 3 by 3, with weights. `first`: channels are the fastest
        dimension, otherwise the slowest one.
        """
        func, weights = hl.Func(f"stage_{self.count}"), hl.ImageParam(hl.Float(32), 4, f"weights_{self.count}")
        self.count += 1
        c, r = hl.Var("c"), hl.RDom([(0, inputs), (0, 3), (0, 3)])
        place = (c, self.x, self.y) if first else (self.x, self.y, c)
        weight = weights[c, r.x, r.y, r.z] if first else weights[r.y, r.z, r.x, c]
        func[place] = 0.0
        func[place] += weight * 0.125 * read(r.x, self.x + r.y - 1, self.y + r.z - 1)
        func.bound(c, 0, channels)
        return func


KINDS = ("pointwise", "combined", "stencil", "halved", "doubled", "reduced")
CHANCES = (2.5, 2.5, 4, 1, 1, 0.8)


def build(seed: int = 0, banks: int = 0) -> hl.Func:
    """A pipeline of 2 to about 16 stages, for any size; with `banks` (1) of filters among them, or without (0)."""
    if banks:
        return pipeline(BankMaker(seed), (*KINDS, "filtered"), (*CHANCES, 1.0))
    return pipeline(Maker(seed), KINDS, CHANCES)
