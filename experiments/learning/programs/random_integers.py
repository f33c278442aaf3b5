"""A random image pipeline in integers of 8, 16 and 32 bits, as cameras have: mosaics, tables, medians and differences.

All follows from `seed`.
"""

from __future__ import annotations

from random_dag import Maker, Plane

from antune import halide as hl

KINDS = ("pointwise", "looked_up", "combined", "chosen", "stencil", "halved", "doubled", "reduced")
CHANCES = (2, 1, 2.5, 2, 4, 1, 1, 0.8)


class IntegerMaker(Maker):
    """Makes stages of integers."""

    def wide(self, value: hl.Expr) -> hl.Expr:
        """The value with 32 bits."""
        return hl.i32(value)

    def stored(self, value: hl.Expr, level: int) -> Plane:
        """A new stage of a random type."""
        ways = (lambda: hl.i16(value), lambda: hl.i16(value), lambda: hl.u8_sat(value), lambda: value)
        return self.plane(self.draw.choice(ways)(), level)

    def pointwise(self) -> Plane:
        """One element from one element."""
        a = self.pick()
        value = self.wide(a.func[self.x, self.y])
        ways = (
            lambda: value * 3 // 4 + 16,
            lambda: hl.absd(value, 100),
            lambda: value & 1023,
            lambda: hl.min(hl.max(value, 16), 235),
            lambda: hl.select(value > 128, value - 64, value * 2),
            lambda: (value * 77 + 1000) // 256,
        )
        return self.stored(self.draw.choice(ways)(), a.level)

    def looked_up(self) -> Plane:
        """An element of a table, at a place that another element tells."""
        a, size = self.pick(), self.draw.choice((256, 1024))
        table = hl.Func(f"table_{self.count}")
        table[self.x] = hl.i16((self.x * self.x) // size + self.x % 7)
        self.count += 1
        return self.plane(table[hl.clamp(self.wide(a.func[self.x, self.y]), 0, size - 1)], a.level)

    def combined(self) -> Plane:
        """One element from one of each of two planes."""
        a = self.pick()
        b = self.pick(a.level)
        left, right = self.wide(a.func[self.x, self.y]), self.wide(b.func[self.x, self.y])
        ways = (
            lambda: (left + right + 1) // 2,
            lambda: hl.max(left, right) - hl.min(left, right),
            lambda: left - right,
            lambda: left + (left - right) // 2,
            lambda: (left * 3 + right * 5) // 8,
        )
        return self.stored(self.draw.choice(ways)(), a.level)

    def chosen(self) -> Plane:
        """The mean along the direction in which neighbours differ less."""
        a, step = self.pick(), self.draw.choice((1, 2))
        f, x, y = a.func, self.x, self.y
        ends = [[self.wide(f[x - step, y]), self.wide(f[x + step, y])],
                [self.wide(f[x, y - step]), self.wide(f[x, y + step])]]
        means = [(one + other + 1) // 2 for one, other in ends]
        return self.stored(hl.select(hl.absd(*ends[0]) < hl.absd(*ends[1]), *means), a.level)

    def stencil(self) -> Plane:
        """A mean of neighbours, or the largest or smallest of them, along x, along y, or of a box."""
        a, size = self.pick(), self.draw.choice((3, 3, 3, 5))
        reach, way = range(-(size // 2), size // 2 + 1), self.draw.choice(("x", "y", "box"))
        places = {"x": [(i, 0) for i in reach], "y": [(0, j) for j in reach],
                  "box": [(i, j) for j in reach for i in reach]}[way]
        terms = [self.wide(a.func[self.x + i, self.y + j]) for i, j in places]
        total, kind = terms[0], self.draw.choice(("mean", "mean", "max", "min"))
        for term in terms[1:]:
            total = total + term if kind == "mean" else hl.max(total, term) if kind == "max" else hl.min(total, term)
        return self.stored(total // len(terms) if kind == "mean" else total, a.level)

    def halved(self) -> Plane:
        """Half the size: one of four sites of a mosaic, or their mean."""
        a = self.draw.choice([one for one in self.planes if one.level < 2])
        self.unread = [one for one in self.unread if one is not a]
        f, x, y = a.func, 2 * self.x, 2 * self.y
        if self.draw.random() < 0.5:
            return self.plane(f[x + self.draw.choice((0, 1)), y + self.draw.choice((0, 1))], a.level + 1)
        total = self.wide(f[x, y]) + self.wide(f[x + 1, y]) + self.wide(f[x, y + 1]) + self.wide(f[x + 1, y + 1])
        return self.stored(total // 4, a.level + 1)

    def doubled(self, a: Plane) -> Plane:
        """Twice the size: sites of one or two planes in turns."""
        others = [one for one in self.planes if one.level == a.level]
        b = self.draw.choice(others)
        self.unread = [one for one in self.unread if one is not a and one is not b]
        x, y = self.x, self.y
        at = [self.wide(one.func[x // 2, y // 2]) for one in (a, b)]
        which = self.draw.choice((x % 2 == 0, (x + y) % 2 == 0))
        return self.stored(hl.select(which, at[0], at[1]), a.level - 1)

    def reduced(self) -> Plane:
        """A sum, or a maximum, over a box."""
        a, size = self.pick(), self.draw.choice((3, 5, 7, 9))
        func = hl.Func(f"stage_{self.count}")
        self.count += 1
        r = hl.RDom([(0, size), (0, self.draw.choice((1, 3, size)))])
        value = self.wide(a.func[self.x + r.x - size // 2, self.y + r.y])
        func[self.x, self.y] = 0
        if self.draw.random() < 0.7:
            func[self.x, self.y] += value
        else:
            func[self.x, self.y] = hl.max(func[self.x, self.y], value)
        return self.keep(Plane(func, a.level))


def build(seed: int = 0) -> hl.Func:
    """A pipeline of 3 to about 18 stages, for any size."""
    maker = IntegerMaker(seed)
    image = hl.ImageParam(maker.draw.choice((hl.UInt(8), hl.UInt(16))), 2, "image")
    if maker.draw.random() < 0.5:
        maker.keep(Plane(hl.BoundaryConditions.repeat_edge(image), 0))
    else:  # an image that is larger than the result
        maker.plane(hl.i16(maker.wide(image[maker.x + 64, maker.y + 64]) & 1023), 0)
    wanted = maker.draw.randint(3, 13)
    while maker.count < wanted:  # as in random_dag, whose lines must stay: measured plans belong to them
        kind = maker.draw.choices(KINDS, CHANCES)[0]
        coarse = [one for one in maker.planes if one.level > 0]
        if kind == "doubled" and coarse:
            maker.doubled(maker.draw.choice(coarse))
        elif kind != "doubled":
            getattr(maker, kind)()
    while any(one.level for one in maker.unread):
        maker.doubled(next(one for one in maker.unread if one.level))
    ends = maker.unread or [maker.planes[-1]]
    total = maker.wide(ends[0].func[maker.x, maker.y]) // 2
    for one in ends[1:]:
        total = total + maker.wide(one.func[maker.x, maker.y])
    return maker.plane(hl.i16(total), 0).func
