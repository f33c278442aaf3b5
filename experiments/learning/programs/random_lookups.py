"""A random program that reads columns for rows, or elements at places that data tell: transposed images, grids of place
and brightness, tables, displaced elements, volumes of costs. All follows from `seed`.

Cost models are wrong most easily about such reads; the other kinds of programs have few of them.
"""

from __future__ import annotations

from random_images import Images

from antune import halide as hl


class Lookups(Images):
    """Makes the stages of a program."""

    def turned(self) -> hl.Func:
        """Lines blurred along x, transposed, blurred along x again, and transposed back; or only a part of that."""
        f = self.first()
        for _ in range(self.draw.choice((1, 2, 2))):
            if self.draw.random() < 0.7:
                f = self.line(f)
            turned = self.plane(self.at(f, self.y, self.x))
            f = self.line(turned) if self.draw.random() < 0.5 else turned
        if self.draw.random() < 0.4:  # both ways at once
            return self.plane(0.5 * self.at(f, self.x, self.y) + 0.25 * self.at(f, self.y, self.x))
        return f

    def line(self, f: hl.Func) -> hl.Func:
        """A weighted sum along x."""
        first = -self.draw.choice((0, 1, 2, 4))
        return self.weighted(f, [(k, 0) for k in range(first, first + self.draw.choice((3, 5, 8)))])

    def grid(self) -> hl.Func:
        """Sums of coarse cells of place and brightness, blurred, and looked up again."""
        cell, bins, f = self.draw.choice((4, 8, 8)), self.draw.choice((6, 8, 12)), self.gray()
        x, y, z, held = self.x, self.y, hl.Var("z"), hl.Func("held")
        held[x, y] = hl.clamp(f[x, y], 0.0, 1.0)
        r, sums = hl.RDom([(0, cell), (0, cell)], "r"), hl.Func("sums")
        value = held[x * cell + r.x, y * cell + r.y]
        sums[x, y, z] = hl.sum(hl.select(hl.i32(value * float(bins) + 0.5) == z, value, 0.0), "in_cell")
        f = sums
        for way in self.draw.sample(((1, 0, 0), (0, 1, 0), (0, 0, 1)), self.draw.choice((1, 2, 3))):
            f = self.smoothed(f, z, way)
        return self.sliced(f, held, cell, bins)

    def smoothed(self, f: hl.Func, z: hl.Var, way: tuple[int, int, int]) -> hl.Func:
        """A sum of five or three neighbours along one of the three dimensions."""
        reach, made = self.draw.choice((1, 2)), self.func()
        terms = [f[self.x + k * way[0], self.y + k * way[1], z + k * way[2]] * (1.0 / (1 + abs(k)))
                 for k in range(-reach, reach + 1)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        made[self.x, self.y, z] = total
        return made

    def sliced(self, f: hl.Func, held: hl.Func, cell: int, bins: int) -> hl.Func:
        """The element of a grid at the brightness of an element, interpolated or not."""
        x, y = self.x, self.y
        level = held[x, y] * float(bins)
        zi = hl.clamp(hl.i32(level), 0, bins - 1)
        xi, yi = x // cell, y // cell
        if self.draw.random() < 0.3:
            return self.plane_of(f[xi, yi, zi])
        zf, xf, yf = level - hl.f32(zi), hl.f32(x % cell) / float(cell), hl.f32(y % cell) / float(cell)

        def layer(depth: hl.Expr) -> hl.Expr:
            return hl.lerp(hl.lerp(f[xi, yi, depth], f[xi + 1, yi, depth], xf),
                           hl.lerp(f[xi, yi + 1, depth], f[xi + 1, yi + 1, depth], xf), yf)

        if self.draw.random() < 0.3:
            return self.plane_of(layer(zi))
        return self.plane_of(hl.lerp(layer(zi), layer(zi + 1), zf))

    def plane_of(self, value: hl.Expr) -> hl.Func:
        """A new stage of x and y."""
        self.end = ()
        return self.plane(value)

    def curve(self) -> hl.Func:
        """Values of a table, at places that elements tell; with a stencil before or after."""
        f, size = self.first(), self.draw.choice((256, 1024, 4096))
        i, table = hl.Var("i"), hl.Func("table")
        part = hl.f32(i) / float(size)
        table[i] = self.draw.choice((lambda: hl.pow(part, 0.45), lambda: hl.exp(part * -3.0),
                                     lambda: part * part * (3.0 - 2.0 * part)))()
        if self.draw.random() < 0.6:
            f = self.blurred(f)
        at = self.at(f, self.x, self.y) * float(size)
        looked_up = self.plane(table[hl.clamp(hl.i32(at), 0, size - 1)])
        if self.draw.random() < 0.6:
            return self.blurred(looked_up)
        return looked_up

    def displaced(self) -> hl.Func:
        """Elements a few columns and rows away, as another stage says; the stage that is read may be a blur."""
        f, reach = self.gray(), self.draw.choice((2, 4, 8))
        away = self.blurred(f) if self.draw.random() < 0.5 else f
        read = self.blurred(f) if self.draw.random() < 0.7 else self.plane_of(f[self.x, self.y] * 0.5)
        x, y, found = self.x, self.y, self.plane_of(away[self.x, self.y] * float(2 * reach) - float(reach))
        dx = hl.clamp(hl.i32(found[x, y]), -reach, reach)
        dy = hl.clamp(hl.i32(found[x, y] * 0.5), -reach, reach) if self.draw.random() < 0.5 else 0
        moved = self.plane_of(read[x + dx, y + dy])
        return self.blurred(moved) if self.draw.random() < 0.4 else moved

    def matched(self) -> hl.Func:
        """Differences of an image and a moved one, summed over boxes: a volume, of which data choose a layer."""
        f, depth = self.gray(), self.draw.choice((4, 8, 16))
        other, x, y, d = self.blurred(f), self.x, self.y, hl.Var("d")
        apart, volume = self.func(), self.func()
        apart[x, y, d] = hl.abs(f[x, y] - other[x + d, y])
        box = hl.RDom([(-1, 3), (-1, 3)], "box")
        volume[x, y, d] = hl.sum(apart[x + box.x, y + box.y, d], "near")
        layer = hl.clamp(hl.i32(f[x, y] * float(depth)), 0, depth - 1)
        if self.draw.random() < 0.5:
            return self.plane_of(volume[x, y, layer])
        return self.plane_of(hl.min(volume[x, y, layer], volume[x, y, depth - 1 - layer]) * 0.5)


def build(seed: int = 0) -> hl.Func:
    """One kind of program, for any size; two of five with corners or a chain of stencils besides."""
    made = Lookups(seed)
    kinds = [made.turned, made.turned, made.grid, made.grid, made.curve, made.displaced, made.matched]
    first = made.draw.choice(kinds)()
    if first.dimensions() == 3 or made.draw.random() < 0.6:
        return first
    made.end = ()
    second = made.draw.choice([made.corners, made.chained])()
    return made.plane(first[made.x, made.y] + 0.5 * made.at(second, made.x, made.y))
