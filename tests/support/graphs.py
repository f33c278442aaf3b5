"""Random expressions whose parts are used repeatedly, in the pipeline language and, step by step, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from antune import halide as hl
from generator.frontend_py.operators import apply
from generator.frontend_py.types import Type

Array = NDArray[Any]
MAKERS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "+": lambda a, b, c: a + b,
    "-": lambda a, b, c: a - b,
    "*": lambda a, b, c: a * b,
    "min": lambda a, b, c: hl.min(a, b),
    "max": lambda a, b, c: hl.max(a, b),
    "/": lambda a, b, c: a / b,
    "%": lambda a, b, c: a % b,
    "select": lambda a, b, c: hl.select(a < b, c, a),
}
REAL = ("+", "-", "*", "min", "max", "select")


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on earlier values; the operands count from the last one backwards."""

    name: str
    operands: tuple[int, int, int]


def graphs(names: Sequence[str] = tuple(MAKERS), most: int = 40) -> st.SearchStrategy[list[Step]]:
    """Return any operations, most of them on recent values: most of these are long as trees."""
    operand = st.integers(0, 3)
    step = st.builds(Step, st.sampled_from(tuple(names)), st.tuples(operand, operand, operand))
    return st.lists(step, min_size=2, max_size=most)


def drawn(rng: np.random.Generator, names: Sequence[str] = tuple(MAKERS), count: int = 30) -> list[Step]:
    """Draw one, for tests that need many at once."""
    made = []
    for _ in range(count):
        a, b, c = map(int, rng.integers(0, 4, 3))
        made.append(Step(str(rng.choice(names)), (a, b, c)))
    return made


def expression(steps: Sequence[Step], leaves: Sequence[hl.Expr]) -> hl.Expr:
    """Return the last value, as an expression."""
    values = list(leaves)
    for step in steps:
        a, b, c = (values[-1 - operand % len(values)] for operand in step.operands)
        values.append(MAKERS[step.name](a, b, c))
    return values[-1]


def computed(steps: Sequence[Step], leaves: Sequence[Array], kind: Type) -> Array:
    """Return the last value, computed once per step."""
    values = list(leaves)
    with np.errstate(all="ignore"):
        for step in steps:
            a, b, c = (values[-1 - operand % len(values)] for operand in step.operands)
            values.append(np.where(a < b, c, a) if step.name == "select" else apply(step.name, kind, [a, b]))
    return values[-1]
