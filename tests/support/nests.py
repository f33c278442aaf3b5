"""Random affine loop nests as C text, and their execution by gcc: the oracle of the front end.

Every line exists twice: plain C for the front end, and a version that logs each statement instance and each array
element it touches. The logging does not depend on antune's model.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from generator.frontend_c.preprocess import find_compiler
from tests.support.programs import Instance

# Iterators stay within -4..10, so that every subscript below stays within its array.
ARRAYS = {"A": (128,), "B": (32, 32), "C": (32,), "s": ()}
PLAIN_HEAD = """double A[128], B[32][32]; float C[32]; double s;

void f(void) {
  int i, j, k;
#pragma scop
"""
LOGGED_HEAD = """#include <stdio.h>
static double note(char kind, const char *name, int a, int b, int c) {
  printf("%c %s %d %d %d\\n", kind, name, a, b, c); return 1; }

int main(void) { int i, j, k;
"""
NONE = -99


@dataclass(frozen=True, slots=True)
class Text:
    """An expression, plain and logged."""

    plain: str
    logged: str


@dataclass(slots=True)
class Nest:
    """A loop nest under construction; `iterators` and `scalars` are those in scope."""

    rng: np.random.Generator
    plain: list[str] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)
    iterators: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    statements: int = 0
    temporaries: int = 0

    def line(self, plain: str, logged: str | None = None) -> None:
        """Add one line to both texts."""
        self.plain.append(plain)
        self.logged.append(plain if logged is None else logged)

    def pick(self, *options: str) -> str:
        """Return one of `options`."""
        return options[self.rng.integers(len(options))]

    def number(self, low: int, high: int) -> int:
        """Return an integer in low..high."""
        return int(self.rng.integers(low, high + 1))

    def outer(self) -> str:
        """Return an iterator in scope, or a constant."""
        return self.pick(*self.iterators, *self.iterators, str(self.number(0, 3)))

    def bound(self, low: int, high: int) -> str:
        """Return an affine loop bound: a constant, an outer iterator plus an offset, the smaller or larger of two."""
        constant = str(self.number(low, high))
        if not self.iterators:
            return constant
        near = f"{self.pick(*self.iterators)} + {self.number(-1, 1)}"
        return self.pick(constant, near, f"({near} < {constant} ? {near} : {constant})",
                         f"({near} > {constant} ? {near} : {constant})", f"({self.outer()}) / 2 + {self.number(0, 2)}")

    def condition(self) -> str:
        """Return an affine condition over the iterators in scope."""
        def simple() -> str:
            left, right = self.outer(), self.outer()
            return self.pick(f"{left} < {right} + 1", f"{left} + {right} > {self.number(0, 6)}", f"{left} % 2 == 0",
                             f"{left} >= {self.number(0, 4)}", f"!({left} == {self.number(0, 4)})", f"{left} % 3",
                             f"{left} != {right}", f"({left} - 2) / 2 <= {right} % -3")
        first, second = simple(), simple()
        return self.pick(first, f"{first} && {second}", f"{first} || {second}", f"!({first} && ({second}))")

    def index(self, array: str) -> tuple[str, ...]:
        """Return affine subscripts that stay inside `array`."""
        if array == "A":
            first, second, c = self.outer(), self.outer(), self.number(-2, 2) + 50
            return (self.pick(f"{first} + {second} + {c}", f"{first} - {second} + {c}", f"2 * {first} + {second} + {c}",
                              f"{c} - {first}", f"{first} / 2 + {c}", f"{first} % 3 + {c}", f"({first} + 1) / -2 + {c}",
                              f"({first} > 2 ? {first} : {second}) + {c}", f"{c}"),)
        return tuple(self.pick(f"{o} + {c + 11}", f"{c + 15} - {o}", f"{c + 15}")
                     for o, c in ((self.outer(), self.number(-1, 1)) for _ in ARRAYS[array]))

    def element(self, kind: str) -> Text:
        """Return an access to an array element or scalar."""
        name = self.pick("A", "A", "A", "B", "B", "C", "s", *self.scalars)
        subscripts = self.index(name) if name in ("A", "B", "C") else ()
        padded = (*subscripts, *(str(NONE),) * (3 - len(subscripts)))
        return Text(name + "".join(f"[{i}]" for i in subscripts), f"note('{kind}', \"{name}\", {', '.join(padded)})")

    def value(self, depth: int = 2) -> Text:
        """Return a right-hand side; both branches of a data-dependent choice count as read."""
        choice = self.number(0, 8) if depth else self.number(0, 2)
        if choice < 2:
            return self.element("R")
        if choice == 2:
            word = self.pick("1.5f", "(double)" + self.outer(), "0x10", "'a'")
            return Text(word, word)
        left, right = self.value(depth - 1), self.value(depth - 1)
        if choice == 3:
            test = self.condition()
            return Text(f"({test} ? {left.plain} : {right.plain})", f"({test} ? {left.logged} : {right.logged})")
        if choice == 4:
            test, op = self.condition(), self.pick("&&", "||")
            return Text(f"(({test}) {op} {left.plain} > 0)", f"(({test}) {op} {left.logged} > 0)")
        if choice == 5:
            data = self.element("R")
            return Text(f"({data.plain} > 0 ? {left.plain} : {right.plain})",
                        f"({data.logged} + {left.logged} + {right.logged})")
        op = self.pick("+", "-", "*")
        return Text(f"({left.plain} {op} {right.plain})", f"({left.logged} {op} {right.logged})")

    def assign(self) -> None:
        """Add a statement on a separate line."""
        self.statements += 1
        if self.number(0, 5) == 0 and self.iterators:
            self.temporaries += 1
            name, value = f"t{self.temporaries}", self.value()
            write = f"note('W', \"{name}\", {NONE}, {NONE}, {NONE})"
            self.emit(f"double {name} = {value.plain};", value.logged, write, "")
            self.scalars.append(name)
            return
        target, op, value = self.element("W"), self.pick("=", "=", "=", "+=", "*=", "++"), self.value()
        if op == "++":
            self.emit(f"{target.plain}++;", "0", target.logged, target.logged.replace("'W'", "'R'"))
        else:
            again = target.logged.replace("'W'", "'R'") if op != "=" else ""
            self.emit(f"{target.plain} {op} {value.plain};", value.logged, target.logged, again)

    def emit(self, plain: str, value: str, write: str, read: str) -> None:
        """Log the instance, the reads, then the write."""
        values = (*self.iterators, *(str(NONE),) * (3 - len(self.iterators)))
        start = f"note('S', \"{len(self.plain)}\", {', '.join(values)})"
        self.line(plain, f"{{ {start}; (void)({value}); {read or '0'}; {write}; }}")

    def header(self, it: str) -> str:
        """Return a loop header; all of these loops end."""
        low, high, step = self.bound(-2, 1), self.bound(3, 6), self.number(1, 3)
        start = self.pick(it, f"int {it}")
        if self.number(0, 2):
            test = self.pick(f"{it} < {high}", f"{it} <= {high}", f"{high} > {it}", f"{it} < {high} && {it} < 5")
            up = self.pick(f"{it}++", f"++{it}", f"{it} += {step}", f"{it} = {it} + {step}", f"{it} = {step} + {it}")
            return f"for ({start} = {low}; {test}; {up}) {{"
        test = self.pick(f"{it} > {low}", f"{it} >= {low}", f"{low} <= {it}", f"{it} >= {low} || {it} > 4")
        down = self.pick(f"{it}--", f"--{it}", f"{it} -= {step}", f"{it} = {it} - {step}", f"{it} += -{step}")
        return f"for ({start} = {high}; {test}; {down}) {{"

    def block(self, depth: int, parts: int) -> None:
        """Add a few statements, loops and branches."""
        before = list(self.scalars)
        for _ in range(parts):
            kind = self.number(0, 5)
            if kind <= 1 or self.statements >= 4 or (depth >= 3 and kind != 5):
                self.assign()
            elif kind == 5:
                self.branch(depth)
            else:
                self.loop(depth)
        self.scalars = before

    def loop(self, depth: int) -> None:
        """Add a loop with a body."""
        it = "ijk"[depth]
        self.line(self.header(it))
        self.iterators.append(it)
        self.block(depth + 1, self.number(1, 2))
        self.iterators.pop()
        self.line("}")

    def branch(self, depth: int) -> None:
        """Add an `if`, possibly with an `else`."""
        self.line(f"if ({self.condition()}) {{")
        self.block(depth, 1)
        if self.number(0, 1):
            self.line("} else {")
            self.block(depth, 1)
        self.line("}")


@dataclass(frozen=True, slots=True)
class Event:
    """One executed statement instance with the elements it reads and the one it writes."""

    line: int
    iterators: tuple[int, ...]
    reads: tuple[Instance, ...]
    write: Instance


def nest_texts(seed: int) -> tuple[str, str]:
    """Return a C file with a SCoP, and the C program that logs its execution.

    They depend on a seed, because uniformly drawn nests are larger than those that hypothesis draws.
    """
    nest = Nest(np.random.default_rng(seed))
    nest.plain += PLAIN_HEAD.splitlines()
    nest.logged += LOGGED_HEAD.splitlines()
    nest.loop(0)
    if nest.number(0, 2) == 0:
        nest.block(0, 1)
    nest.line("#pragma endscop", "return 0;")
    nest.line("}")
    return "\n".join(nest.plain) + "\n", "\n".join(nest.logged) + "\n"


def run_logged(text: str) -> list[Event]:
    """Compile and run a logging program; return its statement instances in order of execution."""
    with tempfile.TemporaryDirectory(prefix="antune-test-") as folder:
        source, binary = Path(folder, "log.c"), Path(folder, "log")
        source.write_text(text)
        subprocess.run([find_compiler(), "-w", "-O0", "-o", str(binary), str(source)], check=True)
        output = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=10).stdout
    events: list[Event] = []
    for line in output.splitlines():
        kind, name, *numbers = line.split()
        values = tuple(v for v in map(int, numbers) if v != NONE)
        if kind == "S":
            events.append(Event(int(name) + 1, values, (), ("", ())))
        elif kind == "R":
            last = events[-1]
            events[-1] = Event(last.line, last.iterators, (*last.reads, (name, values)), last.write)
        else:
            events[-1] = Event(events[-1].line, events[-1].iterators, events[-1].reads, (name, values))
    return events
