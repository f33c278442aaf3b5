"""Random loop nests that pass values in scalars and small arrays, for tests of expansion."""

from __future__ import annotations

import numpy as np

HEADERS = {"i": ("i = 0; i < 5; i++", "i = 7; i > 0; i -= 2", "i = 1; i < 8; i += 2", "i = -2; i <= 3; i++"),
           "j": ("j = 0; j < 4; j++", "j = i; j < 7; j++", "j = 5; j >= i; j--", "j = 1; j < i; j++",
                 "j = 6; j > i; j -= 3"),
           "k": ("k = 0; k < 3; k++", "k = j; k < 5; k++", "k = 4; k > j; k--", "k = 2; k < j; k += 2")}
DECLARATIONS = "double A[32][32], B[32][32], x[64], y[64], s;"
SCALARS = ("w", "w", "v", "v", "s")
SMALL = ("p", "p", "y")
MOST = 9  # statements: the cost of isl's flow analysis grows fast with their number


class Passing:
    """A SCoP under construction: w, v and p are local, s and y are results; A and B are data."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.lines, self.set = rng, ["double w, v, p[64];"], set[str]()

    def pick(self, *options: str) -> str:
        """Return one of `options`."""
        return options[int(self.rng.integers(len(options)))]

    def subscript(self, iterators: str, offset: int) -> str:
        """Return a subscript of at most two iterators."""
        choice = self.pick("one", "one", "sum", "difference", "constant")
        first, second = (self.pick(*iterators) for _ in range(2)) if iterators else ("0", "0")
        return {"one": f"{first} + {offset}", "sum": f"{first} + {second} + {offset + 4}",
                "difference": f"{first} - {second} + {offset + 8}", "constant": f"{offset}"}[choice]

    def small(self, iterators: str) -> str:
        """Return an element of a small array, by an inner iterator if there is one."""
        return f"{self.pick(*SMALL)}[{self.pick(*iterators, *iterators[-1:]) if iterators else '0'} + 9]"

    def value(self, iterators: str) -> str:
        """Return data, often with the value of a scalar; rarely with one that was not written on this path."""
        data = f"B[{self.subscript(iterators, 8)}][{self.subscript(iterators, 9)}]"
        held = self.pick(*sorted(self.set)) if self.set and self.rng.integers(4) else None
        other = held or self.pick("x[0]", "3", self.small(iterators) if self.rng.integers(3) == 0 else "2")
        return self.pick(f"{data} + {other}", f"{other} * {data}", f"{other} - 1", other)

    def assign(self, iterators: str) -> None:
        """Add a statement."""
        target = self.pick("scalar", "scalar", "scalar", "small", "data", "data")
        op = self.pick("=", "=", "=", "+=")
        if target == "data":
            rest = ["A"] + [f"[{i} + 8]" for i in iterators[:2]] + ["[7]"] * (2 - len(iterators[:2]))
            self.lines.append(f"{''.join(rest)} {op} {self.value(iterators)};")
        elif target == "small":
            element = self.small(iterators)
            self.lines.append(f"{element} {op if element in self.set else '='} {self.value(iterators)};")
            self.set.add(element)
        else:
            name = self.pick(*SCALARS)
            self.lines.append(f"{name} {op if name in self.set else '='} {self.value(iterators)};")
            self.set.add(name)

    def loop(self, iterators: str) -> None:
        """Add a loop whose body sets the scalars that it reads, or (one time in four) may read those of an outer loop.
        """
        it = "ijk"[len(iterators)]
        before = set(self.set)
        self.set = set(before) if self.rng.integers(4) == 0 else set()
        self.lines.append(f"for ({self.pick(*HEADERS[it])}) {{")
        for _ in range(int(self.rng.integers(2, 4))):
            if len(iterators) < 2 and len(self.lines) < MOST and self.rng.integers(3) == 0:
                self.loop(iterators + it)
            else:
                self.assign(iterators + it)
        self.lines.append("}")
        self.set = before


def scalar_nest(seed: int) -> str:
    """Return the body of a SCoP."""
    nest = Passing(np.random.default_rng(seed))
    if nest.rng.integers(2):
        nest.lines.append("w = 1; v = 2; s = 3; for (k = 0; k < 30; k++) { p[k] = k; y[k] = x[k]; }")
        nest.set = {"w", "v", "s"}
    while len(nest.lines) < MOST:
        nest.loop("")
    return "\n".join(nest.lines)
