"""A random program of a kind that people write for images of 8 or 16 bits: blurs, sharpening, edges, opening and
closing, raw sensor values, pyramids, differences of two images; mostly in integers of the same few bits.

The parts, their order and their sizes are drawn: no program of the suite is among these.
"""

from __future__ import annotations

import random  # noqa: TID251 (a generator of its own per seed; numpy may change what a seed draws)
from collections.abc import Callable, Sequence
from functools import reduce

from antune import halide as hl


class Pixels:
    """Makes the stages of a program."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.x, self.y, self.c = hl.Var("x"), hl.Var("y"), hl.Var("c")
        self.count = 0
        self.narrow = self.draw.random() < 0.5
        self.colours = self.draw.random() < 0.3
        self.end: tuple[hl.Var, ...] = (self.c,) if self.colours else ()

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

    def pixel(self, value: hl.Expr) -> hl.Func:
        """A new stage of the image's type."""
        return self.plane(hl.u8_sat(value) if self.narrow else hl.u16_sat(value))

    def at(self, f: hl.Func, dx: hl.Expr | int, dy: hl.Expr | int) -> hl.Expr:
        """The element so many columns and rows away."""
        return f[(self.x + dx, self.y + dy, *self.end)]

    def wide(self, value: hl.Expr) -> hl.Expr:
        """The value in more bits: 16 for bytes, mostly, else 32."""
        return hl.i16(value) if self.narrow and self.draw.random() < 0.7 else hl.i32(value)

    def source(self, name: str = "image") -> hl.Func:
        """An image: larger than the result, or repeated at its edges."""
        kind = hl.UInt(8) if self.narrow else hl.UInt(16)
        image = hl.ImageParam(kind, 3 if self.colours else 2, name)
        if self.colours:
            image.dim(2).set_estimate(0, 3)
        if self.draw.random() < 0.5:
            return hl.BoundaryConditions.repeat_edge(image)
        edge = 24
        value = image[(self.x + edge, self.y + edge, *self.end)]
        if self.draw.random() < 0.5:
            return self.plane(value)
        return self.plane(value // 2)

    def mean(self, f: hl.Func, places: Sequence[tuple[int, int]], weights: Sequence[int]) -> hl.Func:
        """A weighted mean of elements around; in the image's own type if its sums fit by a chance."""
        own = self.draw.random() < 0.4
        taken = [self.at(f, *place) if own else self.wide(self.at(f, *place)) for place in places]
        terms = [one if weight == 1 else one * weight for one, weight in zip(taken, weights, strict=True)]
        total, count = reduce(lambda one, other: one + other, terms), sum(weights)
        return self.plane(total // count) if own else self.pixel(total // count)

    def blurred(self, f: hl.Func) -> hl.Func:
        """A mean along x and along y, in one of the two orders, or of a box at once."""
        length = self.draw.choice((2, 3, 3, 4, 5, 5, 7))
        first = self.draw.choice((0, -(length // 2)))
        reach = range(first, first + length)
        tent = [min(k, length - 1 - k) + 1 for k in range(length)]
        weights = self.draw.choice(([1] * length, tent))
        if length < 5 and self.draw.random() < 0.3:
            return self.mean(f, [(i, j) for j in reach for i in reach], [p * q for q in weights for p in weights])
        lines = [[(0, k) for k in reach], [(k, 0) for k in reach]]
        self.draw.shuffle(lines)
        return self.mean(self.mean(f, lines[0], weights), lines[1], weights)

    def smoothed(self) -> hl.Func:
        """One to four blurs, or the difference of two."""
        f = self.source()
        for _ in range(self.draw.choice((1, 1, 1, 2, 3))):
            f = self.blurred(f)
        if self.draw.random() < 0.7:
            return f
        return self.plane(hl.absd(self.at(f, 0, 0), self.at(self.blurred(f), 0, 0)))

    def sharpened(self) -> hl.Func:
        """The image with more of what a blur takes away."""
        f = self.source()
        smooth = self.blurred(self.blurred(f)) if self.draw.random() < 0.3 else self.blurred(f)
        gain = self.draw.choice((2, 3))
        here = self.wide(self.at(f, 0, 0))
        detail = here - self.wide(self.at(smooth, 0, 0))
        if self.draw.random() < 0.5:
            detail = hl.select(hl.abs(hl.i32(detail)) > 4, detail, 0)
        return self.pixel(here + detail * (gain - 1))

    def edges(self) -> hl.Func:
        """Differences along x and y of the image or its blur, and how strong they are."""
        f = self.source() if self.draw.random() < 0.5 else self.blurred(self.source())
        weights = self.draw.choice(((1, 2, 1), (1, 1, 1), (3, 10, 3)))
        across = [(hl.i16(self.at(f, 1, k - 1)) - hl.i16(self.at(f, -1, k - 1))) * w for k, w in enumerate(weights)]
        along = [(hl.i16(self.at(f, k - 1, 1)) - hl.i16(self.at(f, k - 1, -1))) * w for k, w in enumerate(weights)]
        gx, gy = (self.plane(one[0] + one[1] + one[2]) for one in (across, along))
        dx, dy = hl.i32(self.at(gx, 0, 0)), hl.i32(self.at(gy, 0, 0))
        ends: tuple[Callable[[], hl.Expr], ...] = (
            lambda: hl.abs(dx) + hl.abs(dy), lambda: hl.i32(hl.max(hl.abs(dx), hl.abs(dy))),
            lambda: hl.i32(hl.sqrt(hl.f32(dx * dx + dy * dy))))
        strength = self.pixel(hl.i32(self.draw.choice(ends)()) // 4)
        if self.draw.random() < 0.5:
            return strength
        here, side = self.at(strength, 0, 0), self.draw.choice(((1, 0), (0, 1)))
        greatest = hl.max(self.at(strength, *side), self.at(strength, -side[0], -side[1]))
        return self.plane(hl.select(here >= greatest, here, hl.cast(here.type(), 0)))

    def extreme(self, f: hl.Func, pick: Callable[[hl.Expr, hl.Expr], hl.Expr], reach: int) -> hl.Func:
        """The greatest or the least of a box, line after line, or of a cross."""
        lines = [[(k, 0) for k in range(-reach, reach + 1)], [(0, k) for k in range(-reach, reach + 1)]]
        if self.draw.random() < 0.3:
            return self.plane(reduce(pick, [self.at(f, *place) for place in {*lines[0], *lines[1]}]))
        self.draw.shuffle(lines)
        for line in lines:
            f = self.plane(reduce(pick, [self.at(f, *place) for place in line]))
        return f

    def opened(self) -> hl.Func:
        """The least of the greatest, the greatest of the least, or the difference of both."""
        f, reach = self.source(), self.draw.choice((1, 1, 2, 3))
        picks = [hl.max, hl.min]
        self.draw.shuffle(picks)
        if self.draw.random() < 0.3:
            one, other = (self.extreme(f, pick, reach) for pick in picks)
            return self.plane(hl.absd(self.at(one, 0, 0), self.at(other, 0, 0)))
        for pick in picks[: self.draw.choice((1, 2, 2))]:
            f = self.extreme(f, pick, reach)
        return f

    def halved(self, f: hl.Func) -> hl.Func:
        """Half the size: rounded means of pairs, along x and then along y."""
        x, y = self.x, self.y
        wide = self.plane(hl.rounding_halving_add(f[(2 * x, y, *self.end)], f[(2 * x + 1, y, *self.end)]))
        return self.plane(hl.rounding_halving_add(wide[(x, 2 * y, *self.end)], wide[(x, 2 * y + 1, *self.end)]))

    def pyramid(self) -> hl.Func:
        """One to three levels down and up again, with a part of each level's details."""
        x, y, levels = self.x, self.y, [self.source()]
        for _ in range(self.draw.choice((1, 1, 2, 3))):
            levels.append(self.halved(levels[-1]))
        found = levels[-1]
        for fine in reversed(levels[:-1]):
            here, rough = self.at(fine, 0, 0), found[(x // 2, y // 2, *self.end)]
            near = found[(x // 2 + x % 2, y // 2 + y % 2, *self.end)]
            mixed = self.wide(here) + self.wide(hl.rounding_halving_add(rough, near)) * 3
            found = self.pixel(mixed // 4)
        return found

    def matched(self) -> hl.Func:
        """The least difference of boxes of two images, over some shifts."""
        self.colours, self.end = False, ()
        left, right, d = self.source("left"), self.source("right"), hl.Var("d")
        size, shifts = self.draw.choice((3, 5)), self.draw.choice((4, 8))
        apart, total = self.func(), self.func()
        apart[self.x, self.y, d] = hl.absd(left[self.x, self.y], right[self.x + d, self.y])
        if self.draw.random() < 0.5:
            box = [(i, j) for j in range(size) for i in range(size)]
            total[self.x, self.y, d] = reduce(lambda one, other: one + other,
                                              [hl.u16(apart[self.x + i, self.y + j, d]) for i, j in box])
        else:
            r = hl.RDom([(0, size), (0, size)], "box")
            total[self.x, self.y, d] = hl.u16(0)
            total[self.x, self.y, d] += hl.u16(apart[self.x + r.x, self.y + r.y, d])
        least: list[hl.Expr] = [total[self.x, self.y, k] for k in range(shifts)]
        return self.plane(reduce(hl.min, least))

    def developed(self) -> hl.Func:
        """Colours from the sites of a sensor, a matrix, and a table of brightness."""
        self.colours, self.end, self.narrow = False, (), False
        raw, x, y = self.source(), self.x, self.y
        even, odd = self.draw.choice(((0, 1), (1, 0)))
        green = self.plane(hl.rounding_halving_add(raw[2 * x + even, 2 * y], raw[2 * x + odd, 2 * y + 1]))
        red, blue = self.plane(raw[2 * x + odd, 2 * y]), self.plane(raw[2 * x + even, 2 * y + 1])
        planes = [red, green, blue]
        if self.draw.random() < 0.5:
            planes = [self.blurred(one) for one in planes]
        if self.draw.random() < 0.6:
            at = [one[x // 2, y // 2] for one in planes]
            near = [hl.rounding_halving_add(one[x // 2, y // 2], one[x // 2 + 1, y // 2]) for one in planes]
            planes = [self.plane(hl.select(x % 2 == 0, one, other)) for one, other in zip(at, near, strict=True)]
        values = [hl.i32(one[x, y]) for one in planes]
        rows = [[self.draw.choice((1, 2, 5)) * (3 if i == j else -1) for j in range(3)] for i in range(3)]
        mixed = [reduce(lambda one, other: one + other, [v * w for v, w in zip(values, row, strict=True)]) // 16
                 for row in rows]
        bright, out = self.func(), self.func()
        bright[self.x] = hl.u8_sat(hl.i32(hl.sqrt(hl.f32(self.x)) * self.draw.choice((6.0, 8.0))))
        shade = hl.select(self.c == 0, mixed[0], self.c == 1, mixed[1], mixed[2])
        out[x, y, self.c] = bright[hl.clamp(shade, 0, 1023)]
        out.bound(self.c, 0, 3)
        return out


def build(seed: int = 0) -> hl.Func:
    """One kind of program, for any size."""
    made = Pixels(seed)
    kinds = (made.smoothed, made.smoothed, made.sharpened, made.edges, made.opened, made.pyramid, made.matched,
             made.developed)
    return made.draw.choice(kinds)()
