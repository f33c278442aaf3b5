"""A random image pipeline with banks of filters: beside the stages of `random_dag` sums of products over channels.

Layers of neural networks are such sums: whether they are kept in registers decides how fast they are.
"""

from __future__ import annotations

from collections.abc import Callable

from antune import halide as hl
from experiments.learning.programs.random_dag import CHANCES, KINDS, Maker, Plane, pipeline


class BankMaker(Maker):
    """Makes these stages, too."""

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


def build(seed: int = 0) -> hl.Func:
    """A pipeline of 2 to about 16 stages, for any size."""
    return pipeline(BankMaker(seed), (*KINDS, "filtered"), (*CHANCES, 1.0))
