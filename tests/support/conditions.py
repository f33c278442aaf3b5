"""Random SCoPs whose conditions and subscripts depend on data, as C programs that print their results.

All values are natural numbers, so that remainders are valid subscripts and are the same in C and in Python.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from generator.frontend_c.preprocess import find_compiler

Element: TypeAlias = tuple[str, tuple[int, ...]]
Values: TypeAlias = dict[Element, int]

SHAPES: dict[str, tuple[int, ...]] = {"A": (16, 16), "x": (16,), "y": (16,), "s": (), "m": ()}
BEGIN = "#include <stdio.h>\nint A[16][16], x[16], y[16], s = 3, m = 2;\nvoid f(void) {\n  int i, j, k;\n#pragma scop\n"
END = """
#pragma endscop
}
static void show(void) {
  printf("s %d\\nm %d\\n", s, m);
  for (int i = 0; i < 16; i++) {
    printf("x %d %d\\ny %d %d\\n", i, x[i], i, y[i]);
    for (int j = 0; j < 16; j++) printf("A %d %d %d\\n", i, j, A[i][j]);
  }
}
int main(void) {
  for (int i = 0; i < 16; i++) {
    x[i] = (i * 5 + 3) % 7;
    y[i] = (i * 3 + 1) % 5;
    for (int j = 0; j < 16; j++) A[i][j] = (i * 7 + j * 3) % 6;
  }
  show();
  f();
  printf("after\\n");
  show();
  return 0;
}
"""
LOOPS = {"i": ("i = 0; i < 5; i++", "i = 6; i >= 1; i -= 2"), "j": ("j = i; j < 5; j++", "j = 4; j > 0; j--"),
         "k": ("k = 1; k < 4; k++", "k = 0; k <= j; k += 2")}
MOST = 6  # statements


@dataclass(slots=True)
class Branches:
    """A SCoP under construction."""

    rng: np.random.Generator
    lines: list[str] = field(default_factory=list)
    statements: int = 0

    def pick(self, *options: str) -> str:
        """Return one of `options`."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, one_in: int) -> bool:
        """Return True once in `one_in` times."""
        return bool(self.rng.integers(one_in) == 0)

    def subscript(self, iterators: str, depth: int) -> str:
        """Return a subscript of an array of 16 elements, which sometimes depends on data."""
        if depth and self.chance(4):
            return f"{self.element(iterators, depth - 1)} % 16"
        first, second = (self.pick(*iterators) if iterators else "1" for _ in range(2))
        return self.pick(first, f"{first} + {second}", f"{first} + 3", f"{first} * {second} % 16", "2")

    def element(self, iterators: str, depth: int = 1, names: str = "AAxysm") -> str:
        """Return an array element or scalar, of one of `names`."""
        name = self.pick(*names)
        return name + "".join(f"[{self.subscript(iterators, depth)}]" for _ in SHAPES[name])

    def value(self, iterators: str) -> str:
        """Return a right-hand side."""
        one, two = self.element(iterators), self.element(iterators)
        return self.pick(one, f"{one} % 5 + {two} % 3", f"({one} % 2 ? {two} : 4)", self.pick(*iterators, "1"))

    def test(self, iterators: str) -> str:
        """Return a condition that depends on data."""
        one, two = (self.element(iterators, names="Axyyyy") for _ in range(2))
        return self.pick(f"{one} > {two}", f"{one} % 2", f"{one} % 3 == {two} % 3")

    def condition(self, iterators: str) -> str:
        """Return one or two conditions, some of which are affine."""
        def simple() -> str:
            affine = f"{self.pick(*iterators)} < {self.pick(*iterators, '3')}" if iterators else "1 < 2"
            return self.pick(self.test(iterators), self.test(iterators), affine)

        first, second = simple(), simple()
        return self.pick(first, self.test(iterators), f"{first} && {second}", f"{first} || {second}", f"!({first})",
                         f"!({first} || {second})", f"!({first} && !({second}))")

    def assign(self, iterators: str) -> None:
        """Add a statement."""
        self.statements += 1
        target, op = self.element(iterators, names="AAAAxsm"), self.pick("=", "=", "+=", "++")
        value = self.value(iterators) if op == "=" else f"({self.value(iterators)}) % 7"  # no value grows fast
        self.lines.append(f"{target}++;" if op == "++" else f"{target} {op} {value};")

    def block(self, iterators: str, nested: int) -> None:
        """Add one or two parts; `nested` branches and loops are still allowed inside each other."""
        for _ in range(1 + self.chance(2)):
            kind = self.pick("assign", "branch", "branch", "loop")
            if self.statements >= MOST or not nested or kind == "assign":
                self.assign(iterators)
            elif kind == "branch":
                self.branch(iterators, nested - 1)
            elif len(iterators) < 3:
                self.loop(iterators, nested - 1)

    def branch(self, iterators: str, nested: int) -> None:
        """Add an `if`, possibly with an `else`."""
        self.lines.append(f"if ({self.condition(iterators)}) {{")
        self.block(iterators, nested)
        if self.chance(2):
            self.lines.append("} else {")
            self.block(iterators, nested)
        self.lines.append("}")

    def loop(self, iterators: str, nested: int) -> None:
        """Add the next inner loop."""
        iterator = "ijk"[len(iterators)]
        self.lines.append(f"for ({self.pick(*LOOPS[iterator])}) {{")
        self.block(iterators + iterator, nested)
        self.lines.append("}")


def branching_text(seed: int) -> str:
    """Return a C program with a SCoP in its function `f`."""
    scop = Branches(np.random.default_rng(seed))
    scop.loop("", 4)
    return BEGIN + "\n".join(scop.lines) + END


def run_program(text: str) -> tuple[Values, Values]:
    """Compile and run a program of `branching_text`; return all elements before and after its SCoP."""
    with tempfile.TemporaryDirectory(prefix="antune-test-") as folder:
        source, binary = Path(folder, "program.c"), Path(folder, "program")
        source.write_text(text)
        subprocess.run([find_compiler(), "-w", "-O0", "-o", str(binary), str(source)], check=True)
        output = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=10).stdout
    before, after = ([line.split() for line in part.splitlines()] for part in output.split("after\n"))
    first, second = ({(name, tuple(map(int, index))): int(value) for name, *index, value in lines}
                     for lines in (before, after))
    return first, second
