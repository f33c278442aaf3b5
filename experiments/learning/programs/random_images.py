"""A random program of a kind that people write for images: corners, sharpening, denoising by patches, long chains of
stencils, maxima of discs, pyramids; with colours, sums that are not stored, and products. All follows from `seed`.

The parts, their order and their sizes are drawn: no program of the suite is among these.
"""

from __future__ import annotations

import random  # noqa: TID251 (a generator of its own per seed; numpy may change what a seed draws)
from collections.abc import Callable
from functools import reduce

from antune import halide as hl


class Images:
    """Makes the stages of a program."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.x, self.y, self.c = hl.Var("x"), hl.Var("y"), hl.Var("c")
        self.count = 0
        self.colours = hl.ImageParam(hl.Float(32), 3, "image")
        self.colours.dim(2).set_estimate(0, 3)
        self.source = hl.BoundaryConditions.repeat_edge(self.colours)
        self.end: tuple[hl.Var, ...] = ()

    # lines that define Funcs keep their numbers: these are part of a program, to which measured plans belong
    def func(self) -> hl.Func:
        """A new Func."""
        self.count += 1
        return hl.Func(f"stage_{self.count}")

    def plane(self, value: hl.Expr) -> hl.Func:
        """A new stage of x and y, or of the colours, too."""
        made = self.func()
        made[(self.x, self.y, *self.end)] = value
        if self.end:
            made.bound(self.c, 0, 3)
        return made

    def at(self, f: hl.Func, x: hl.Expr, y: hl.Expr) -> hl.Expr:
        """An element of a stage."""
        return f[(x, y, *self.end)]

    def first(self) -> hl.Func:
        """The image, with one or with all colours, from now on."""
        if self.draw.random() < 0.6:
            return self.gray()
        self.end = (self.c,)
        return self.plane(self.source[self.x, self.y, self.c] * 0.5) if self.draw.random() < 0.5 else self.source

    def gray(self) -> hl.Func:
        """The mean of the colours, with weights."""
        first = self.draw.choice((0.299, 0.25, 0.4))
        return self.plane(first * self.source[self.x, self.y, 0] + 0.5 * self.source[self.x, self.y, 1]
                          + (0.5 - first) * self.source[self.x, self.y, 2])

    def moved(self, f: hl.Func, dx: int, dy: int) -> hl.Expr:
        """The element so many columns and rows away."""
        return self.at(f, self.x + dx, self.y + dy)

    def weighted(self, f: hl.Func, places: list[tuple[int, int]]) -> hl.Func:
        """A sum of elements around, with weights."""
        terms = [self.moved(f, dx, dy) * ((1.0 + 0.25 * (k % 3)) / len(places)) for k, (dx, dy) in enumerate(places)]
        return self.plane(reduce(lambda one, other: one + other, terms))

    def blurred(self, f: hl.Func) -> hl.Func:
        """A blur along y and x, in one of the two orders, or of a box at once."""
        reach = range(-self.draw.choice((1, 2, 3)), self.draw.choice((2, 3, 4)))
        lines = [[(0, k) for k in reach], [(k, 0) for k in reach]]
        self.draw.shuffle(lines)
        if self.draw.random() < 0.3:
            return self.weighted(f, [(dx, dy) for dy in range(-1, 2) for dx in range(-1, 2)])
        return self.weighted(self.weighted(f, lines[0]), lines[1])

    def summed(self, f: hl.Func) -> hl.Func:
        """The sum of a box, written out or as a reduction that is not stored."""
        size = self.draw.choice((3, 3, 5))
        if self.draw.random() < 0.6:
            corner = self.draw.choice((0, -(size // 2)))
            return self.weighted(f, [(corner + k % size, corner + k // size) for k in range(size * size)])
        r = hl.RDom([(-(size // 2), size)] * 2, f"box_{self.count}")
        return self.plane(hl.sum(self.at(f, self.x + r.x, self.y + r.y), f"sum_{self.count}"))

    def corners(self) -> hl.Func:
        """Gradients, products of them, sums of these, and a response."""
        f = self.gray() if self.draw.random() < 0.7 else self.blurred(self.gray())
        step = self.draw.choice((1, 2))
        across = [(self.moved(f, step, k) - self.moved(f, 0, k)) * w for k, w in enumerate((0.25, 0.5, 0.25))]
        along = [(self.moved(f, k, step) - self.moved(f, k, 0)) * w for k, w in enumerate((0.25, 0.5, 0.25))]
        gx, gy = self.plane(across[0] + across[1] + across[2]), self.plane(along[0] + along[1] + along[2])
        x, y = self.x, self.y
        products = [self.plane(one[x, y] * other[x, y]) for one, other in ((gx, gx), (gy, gy), (gx, gy))]
        s, t, u = ((self.blurred if self.draw.random() < 0.3 else self.summed)(one) for one in products)
        det, trace = self.plane(s[x, y] * t[x, y] - u[x, y] * u[x, y]), self.plane(s[x, y] + t[x, y])
        ends = (lambda: det[x, y] - 0.05 * trace[x, y] * trace[x, y], lambda: det[x, y] / (trace[x, y] + 0.125),
                lambda: hl.sqrt(hl.abs(det[x, y])) + trace[x, y])
        return self.plane(self.draw.choice(ends)())

    def coloured(self, value: Callable[[hl.Expr], hl.Expr]) -> hl.Func:
        """A new stage of three colours."""
        made = self.func()
        made[self.x, self.y, self.c] = value(self.source[self.x, self.y, self.c])
        made.bound(self.c, 0, 3)
        return made

    def sharpened(self) -> hl.Func:
        """What a blur takes away is added to each colour, as a ratio or as a difference."""
        x, y, f = self.x, self.y, self.gray()
        smooth = self.blurred(f)
        for _ in range(self.draw.choice((0, 0, 1))):
            smooth = self.blurred(smooth)
        detail = self.plane(self.draw.choice((1.5, 2.0)) * f[x, y] - smooth[x, y])
        if self.draw.random() < 0.5:
            ratio = self.plane(detail[x, y] / (f[x, y] + 0.125))
            return self.coloured(lambda colour: ratio[x, y] * colour)
        return self.coloured(lambda colour: hl.clamp(colour + detail[x, y] - f[x, y], 0.0, 1.0))

    def chained(self) -> hl.Func:
        """A chain of stencils, all of one kind or of two."""
        f, length = self.first(), self.draw.randint(4, 14)
        ways = self.draw.sample((self.blurred, self.summed, self.opened), self.draw.choice((1, 2)))
        for k in range(length // (1 if ways[0] == self.summed else 2)):
            f = ways[k % len(ways)](f)
        return self.plane(self.at(f, self.x, self.y) * 0.5)

    def opened(self, f: hl.Func) -> hl.Func:
        """The greatest or the least of a line or a cross."""
        places = self.draw.choice(([(0, k) for k in range(-2, 3)], [(k, 0) for k in range(-2, 3)],
                                   [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]))
        pick = self.draw.choice((hl.max, hl.min))
        return self.plane(reduce(pick, [self.moved(f, dx, dy) for dx, dy in places]))

    def patches(self) -> hl.Func:
        """A mean of elements around, weighted by how alike their neighbourhoods are: sums within sums."""
        x, y, dx, dy = self.x, self.y, hl.Var("dx"), hl.Var("dy")
        patch, search = self.draw.choice((3, 3, 5)), self.draw.choice((3, 3, 5))
        f, n = self.gray(), self.count
        near, far = hl.RDom([(-(patch // 2), patch)], "near"), hl.RDom([(-(search // 2), search)] * 2, "far")
        apart, alike, weight, total = self.func(), self.func(), self.func(), self.func()
        apart[x, y, dx, dy] = (f[x, y] - f[x + dx, y + dy]) * (f[x, y] - f[x + dx, y + dy])
        if self.draw.random() < 0.6:
            column = self.func()
            column[x, y, dx, dy] = hl.sum(apart[x, y + near, dx, dy], f"column_{n}")
            alike[x, y, dx, dy] = hl.sum(column[x + near, y, dx, dy], f"row_{n}")
        else:
            both = hl.RDom([(-(patch // 2), patch)] * 2, "both")
            alike[x, y, dx, dy] = hl.sum(apart[x + both.x, y + both.y, dx, dy], f"box_{n}")
        weight[x, y, dx, dy] = hl.exp(alike[x, y, dx, dy] * (-4.0 / (patch * patch)))
        total[x, y] = 0.0
        total[x, y] += weight[x, y, far.x, far.y] * f[x + far.x, y + far.y]
        if self.draw.random() < 0.5:
            return self.plane(total[x, y] / (search * search))
        weights = self.plane(hl.sum(weight[x, y, far.x, far.y], f"weights_{n}"))
        return self.plane(total[x, y] / weights[x, y])

    def disc(self) -> hl.Func:
        """The greatest element of a disc or a box, from running maxima of 1, 2, 4, ... elements of a column."""
        x, y, radius = self.x, self.y, self.draw.choice((3, 5, 9, 14))
        pick, running = self.draw.choice((hl.max, hl.min)), [self.first()]
        while 2 ** len(running) <= 2 * radius + 1:
            step = 2 ** (len(running) - 1)
            running.append(self.plane(pick(self.at(running[-1], x, y), self.at(running[-1], x, y + step))))
        flat = self.draw.random() < 0.4

        def column(dx: int) -> hl.Expr:
            height = radius if flat else max(k for k in range(radius + 1) if dx * dx + k * k <= radius * radius)
            level = (2 * height + 1).bit_length() - 1
            part = running[level]
            return pick(self.at(part, x + dx, y - height), self.at(part, x + dx, y + height + 1 - 2**level))

        return self.plane(reduce(pick, (column(dx) for dx in range(-radius, radius + 1))))

    def halved(self, f: hl.Func) -> hl.Func:
        """Half the size, along x and then along y."""
        x, y = self.x, self.y
        wide = self.plane(0.25 * self.at(f, 2 * x - 1, y) + 0.5 * self.at(f, 2 * x, y)
                          + 0.25 * self.at(f, 2 * x + 1, y))
        return self.plane(0.25 * self.at(wide, x, 2 * y - 1) + 0.5 * self.at(wide, x, 2 * y)
                          + 0.25 * self.at(wide, x, 2 * y + 1))

    def doubled(self, f: hl.Func) -> hl.Func:
        """Twice the size, between two elements of each line."""
        x, y = self.x, self.y
        wide = self.plane((self.at(f, x // 2, y) + self.at(f, x // 2 + x % 2, y)) * 0.5)
        return self.plane((self.at(wide, x, y // 2) + self.at(wide, x, y // 2 + y % 2)) * 0.5)

    def pyramid(self) -> hl.Func:
        """Two to four levels down and up again, with details of each level."""
        x, y, levels, mean = self.x, self.y, [self.first()], self.draw.random() < 0.5
        for _ in range(self.draw.choice((1, 2, 3))):
            levels.append(self.halved(levels[-1]))
        found = levels[-1]
        for fine in reversed(levels[:-1]):
            rough, detail = self.at(self.doubled(found), x, y), self.at(fine, x, y)
            found = self.plane(rough * 0.75 + detail * 0.25 if mean else hl.max(rough, detail * 0.5))
        return found


def build(seed: int = 0) -> hl.Func:
    """One kind of program, or the values of two joined, for any size."""
    made = Images(seed)
    kinds = [made.corners, made.sharpened, made.chained, made.patches, made.disc, made.pyramid]
    first = made.draw.choice(kinds)()
    if first.dimensions() == 3 or made.draw.random() < 0.7:
        return first
    second = made.draw.choice([kind for kind in kinds if kind != made.sharpened])()
    return made.plane(first[made.x, made.y] + 0.5 * made.at(second, made.x, made.y))
