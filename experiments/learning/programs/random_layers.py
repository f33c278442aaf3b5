"""A few layers of a neural network: sums of products over up to 64 channels, a bias and a limit; all follows from
`seed`.
"""

from __future__ import annotations

import random  # noqa: TID251 (a generator of its own per seed; numpy may change what a seed draws)

from antune import halide as hl


class Layers:
    """Makes layer after layer; with `first`, channels are the fastest dimension, otherwise the slowest one."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.first = self.draw.random() < 0.5
        self.c, self.x, self.y = hl.Var("c"), hl.Var("x"), hl.Var("y")
        self.count = 0

    def place(self, *at: hl.Expr | hl.Var | int) -> tuple[hl.Expr | hl.Var | int, ...]:
        """The indices of an element, from its channel, x and y."""
        return at if self.first else (*at[1:], at[0])

    def func(self, kind: str) -> hl.Func:
        """A new Func."""
        self.count += 1
        return hl.Func(f"{kind}_{self.count}")

    def summed(self, before: hl.Func | hl.ImageParam, inputs: int, channels: int) -> hl.Func:
        """Each channel is a sum over all inputs and boxes of 1 by 1, 3 by 3 or 5 by 5, with weights."""
        total, size = self.func("sum"), self.draw.choice((1, 3, 3, 5))
        weights = hl.ImageParam(hl.Float(32), 4, f"weights_{self.count}")
        bias = hl.ImageParam(hl.Float(32), 1, f"bias_{self.count}")
        r = hl.RDom([(0, inputs), (0, size), (0, size)])
        weight = weights[self.c, r.x, r.y, r.z] if self.first else weights[r.y, r.z, r.x, self.c]
        here = self.place(self.c, self.x, self.y)
        total[here] = bias[self.c] if self.draw.random() < 0.5 else 0.0
        total[here] += weight * 0.125 * before[self.place(r.x, self.x + r.y, self.y + r.z)]
        total.bound(self.c, 0, channels)
        return total

    def limited(self, before: hl.Func, channels: int) -> hl.Func:
        """The positive part, or a smooth or a leaky one."""
        made, value = self.func("limited"), before[self.place(self.c, self.x, self.y)]
        made[self.place(self.c, self.x, self.y)] = self.draw.choice(
            (lambda: hl.max(value, 0.0), lambda: value / (hl.abs(value) + 1.0),
             lambda: hl.select(value > 0.0, value, value * 0.125)))()  # fmt: skip
        made.bound(self.c, 0, channels)
        return made


def build(seed: int = 0) -> hl.Func:
    """One or two layers, for any size of a plane."""
    made, channels = Layers(seed), 0
    inputs = made.draw.choice((8, 16, 32, 64))
    found: hl.Func | hl.ImageParam = hl.ImageParam(hl.Float(32), 3, "image")
    for _ in range(made.draw.choice((1, 1, 2))):
        channels = made.draw.choice((8, 16, 32))
        found = made.summed(found, inputs, channels)
        if made.draw.random() < 0.7:
            found = made.limited(found, channels)
        inputs = channels
    out, plane = made.func("out"), [found[made.place(c, made.x, made.y)] for c in range(channels)]
    total = plane[0] * 1.0
    for one in plane[1:]:
        total = hl.max(total, one)
    out[made.x, made.y] = total
    return out
