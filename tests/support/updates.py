"""Random small SCoPs with many updates: sums, products and minima of all types, in loops of all directions and shapes.

Subscripts increase and decrease, with offsets and strides; arrays often have exactly the needed size. Values stay small
enough for exact integers and for the tolerance of floating-point comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

KINDS = ("double", "double", "float", "int", "int", "unsigned int", "long", "unsigned long", "char", "unsigned char",
         "short")
DIMENSIONS = {"A": 2, "B": 2, "x": 1, "y": 1, "u": 1, "s": 0}
LOOPS = {
    "i": (
        "i = 0; i < 6; i++",
        "i = 1; i < 8; i++",
        "i = 7; i >= 2; i--",
        "i = 1; i <= 10; i += 3",
        "i = 9; i > 0; i -= 2",
    ),
    "j": (
        "j = 0; j < 5; j++",
        "j = 0; j < 7; j++",
        "j = i; j < 9; j++",
        "j = 0; j <= i; j++",
        "j = 6; j > 0; j--",
        "j = i; j >= 0; j--",
        "j = 2; j < 9; j += 2",
    ),
    "k": ("k = 0; k < 4; k++", "k = j; k < 6; k++", "k = 5; k >= 1; k--", "k = i; k < i + 3; k++", "k = 0; k < 2; k++"),
}
MOST = 3  # statements


@dataclass(slots=True)
class Scop:
    """A SCoP under construction; `low` and `high` hold the range of each array's subscripts."""

    rng: np.random.Generator
    types: dict[str, str]
    lines: list[str] = field(default_factory=list)
    loops: list[tuple[str, str]] = field(default_factory=list)
    low: dict[tuple[str, int], int] = field(default_factory=dict)
    high: dict[tuple[str, int], int] = field(default_factory=dict)
    statements: int = 0
    results: tuple[str, ...] = ()
    conversions: bool = True

    def pick(self, *options: str) -> str:
        """Return one of `options`."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, one_in: int) -> bool:
        """Return True once in `one_in` times."""
        return bool(self.rng.integers(one_in) == 0)

    @property
    def iterators(self) -> str:
        """The iterators of the surrounding loops."""
        return "".join(iterator for iterator, _ in self.loops)

    def subscript(self, among: str) -> str:
        """Return an affine subscript, not yet shifted to start at 0."""
        if not among:
            return "1"
        first, second = self.pick(*among), self.pick(*among)
        return self.pick(*(first,) * 8, f"{first} + 1", f"-{first}", f"2 * {first}", f"{first} + {second}",
                         f"{first} - {second}", f"{first} / 2", f"{first} % 3", "2")

    def own_element(self, array: str) -> str:
        """Return an element that differs in all iterations of as many loops as it has subscripts."""
        chosen = self.rng.permutation(list(self.iterators))[:DIMENSIONS[array]]
        found = [self.pick(i, i, i, f"{i} + 1", f"-{i}", f"2 * {i}") for i in chosen]
        return self.element(array, "", (*found, "1", "1"))

    def element(self, array: str, among: str, subscripts: tuple[str, ...] = (), condition: str = "1") -> str:
        """Return an element of `array`, for iterations in which `condition` holds."""
        text = array
        for dim in range(DIMENSIONS[array]):
            index = subscripts[dim] if subscripts else self.subscript(among)
            values = [_value(index, at) for at in self.iterations() if _value(condition, at)]
            low = min(values, default=0)
            index = f"{index} + {-low}" if low < 0 else f"{index} - {low}" if low else index
            self.high[array, dim] = max(self.high.get((array, dim), 0), max(values, default=0) - low)
            text += f"[{index}]"
        return text

    def iterations(self) -> Iterator[dict[str, int]]:
        """Yield all iterations of the surrounding loops."""
        yield from _iterations(tuple(self.loops))

    def value(self, target: str) -> str:
        """Return an expression without the target's array."""
        others = [name for name in DIMENSIONS if name != target and (name not in self.results or self.chance(6))]
        integer = self.types[target] not in ("float", "double")
        if integer:  # integers updated by real numbers are not reductions; keep those rare
            others = [n for n in others if self.types[n] not in ("float", "double")
                      or (self.conversions and self.chance(6))] or ["u"]
        one, two = (self.element(self.pick(*others), self.iterators) for _ in range(2))
        inner = self.iterators[-1:] or "3"
        condition = f"{inner} > 3" if self.iterators else "1"
        third = self.element(self.pick(*others), self.iterators, condition=condition)
        return self.pick(one, one, f"{one} * {two}", f"{one} - {two}", f"-{one}", f"{one} + {inner}", "3",
                         f"({condition} ? {third} : {two})", f"{one} * ({condition} ? {third} : 2)")

    def assign(self) -> None:
        """Add a statement, usually an update of an element that does not depend on all iterators."""
        self.statements += 1
        array = self.pick(*self.results)
        among = "".join(i for i in self.iterators if not self.chance(3))
        target = self.element(array, among) if self.chance(2) else self.own_element(array)
        value = self.value(array)
        minimum = "fmin" if self.types[array] == "double" else "fminf"
        forms = [f"{target} = {target} + {value};", f"{target} = {value} + {target};", f"{target} -= {value};",
                 f"{target} *= {value};", f"{target} = {target} < {value} ? {target} : {value};",
                 f"{target} = {value} > {target} ? {value} : {target};", f"if ({target} > {value}) {target} = {value};",
                 f"{target} = {value};"]
        forms += [f"{target} += {value};"] * 6
        if self.types[array] in ("float", "double"):
            forms += [f"{target} = {minimum}({target}, {value});"] * 2
        line = self.pick(*forms)
        self.lines.append(f"if ({self.element('u', self.iterators)} % 3) {line}" if self.chance(6) else line)

    def loop(self) -> None:
        """Add the next inner loop."""
        iterator = "ijk"[len(self.loops)]
        head = self.pick(*LOOPS[iterator])
        self.loops.append((iterator, head))
        if any(True for _ in self.iterations()):
            self.lines.append(f"for ({head}) {{")
            self.block()
            self.lines.append("}")
        self.loops.pop()

    def block(self) -> None:
        """Add statements and loops."""
        before = self.statements
        if self.chance(3) and self.statements < MOST:
            self.assign()
        if len(self.loops) < 2 or (len(self.loops) < 3 and self.chance(2)):
            self.loop()
        if self.statements == before or (self.chance(3) and self.statements < MOST):
            self.assign()


def _value(text: str, at: dict[str, int]) -> int:
    """Return the value of a C expression; Python rounds quotients of natural numbers as C does."""
    return int(_code(text.replace("/", "//"))(at))


@lru_cache(maxsize=4096)
def _code(text: str) -> Callable[[dict[str, int]], int]:
    made = compile(text, "expression", "eval")
    return lambda at: int(eval(made, {"__builtins__": {}}, at))


def _iterations(loops: tuple[tuple[str, str], ...]) -> Iterator[dict[str, int]]:
    if not loops:
        yield {}
        return
    iterator, head = loops[-1]
    start, test, step = (part.strip() for part in head.split(";"))
    by = int(step.split("=")[1]) * (1 if "+=" in step else -1) if "=" in step else 1 if "++" in step else -1
    for outer in _iterations(loops[:-1]):
        value = _value(start.split("=")[1].strip(), outer)
        while _value(test, outer | {iterator: value}):
            yield outer | {iterator: value}
            value += by


def updates_text(seed: int, conversions: bool = True) -> str:
    """Return a C file whose function `f` contains a random SCoP.

    `conversions`: integers may be updated by real numbers, which is undefined in C if the results do not fit.
    """
    rng = np.random.default_rng(seed)
    types = {name: str(rng.choice(KINDS)) for name in DIMENSIONS}
    types["u"] = "unsigned int"
    scop = Scop(rng, types, results=tuple(str(name) for name in rng.permutation(["A", "B", "x", "y", "s"])[:2]),
                conversions=conversions)
    if scop.chance(6):
        scop.lines.append("for (t = 0; t < 2; t++) {")
    for _ in range(1 + scop.chance(2)):
        scop.loop()
    if scop.lines[0].startswith("for (t"):
        scop.lines.append("}")
    declarations = []
    room = int(scop.chance(2))
    for name, count in DIMENSIONS.items():
        extents = "".join(f"[{scop.high.get((name, dim), 0) + 1 + room}]" for dim in range(count))
        declarations.append(f"{types[name]} {name}{extents};")
    body = "\n".join(scop.lines)
    return f"{' '.join(declarations)}\nvoid f(void) {{\n  int i, j, k, t;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
