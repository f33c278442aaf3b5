"""What an expression says where a number is needed: functions of `math` and numpy, `float(e)`, `round(e)`.

Operators of a number of numpy with an expression are left to the expression: `numpy.float32(2) * e`.
"""

from __future__ import annotations

from typing import Any

from generator.errors import InputError
from generator.frontend_py.where import here

_REFLECTED = {"add": "radd", "subtract": "rsub", "multiply": "rmul", "divide": "rtruediv", "floor_divide": "rfloordiv",
              "remainder": "rmod", "power": "rpow", "bitwise_and": "rand", "bitwise_or": "ror", "bitwise_xor": "rxor",
              "left_shift": "rlshift", "right_shift": "rrshift", "less": "gt", "less_equal": "ge", "greater": "lt",
              "greater_equal": "le", "equal": "eq", "not_equal": "ne"}
"""The methods of an expression for numpy's functions that stand for operators."""
_NAMES = {"absolute": "abs", "fabs": "abs", "maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min",
          "power": "pow", "where": "select", "clip": "clamp", "rint": "round", "arcsin": "asin", "arccos": "acos",
          "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
          "isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite", "amax": "maximum", "amin": "minimum"}
"""Our names of numpy's functions that have other names here."""
_SAME = frozenset(("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "round",
                   "sum", "argmax", "argmin"))


class NoNumber:
    """A base class of values that are known only when the pipeline runs."""

    __slots__ = ()

    def __float__(self) -> float:
        raise _number_needed()

    def __int__(self) -> int:
        raise _number_needed()

    def __index__(self) -> int:
        raise _number_needed()

    def __round__(self, digits: int | None = None) -> Any:
        raise _number_needed()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute an operator whose left operand is numpy's; refuse all other functions of numpy."""
        reflected = _REFLECTED.get(ufunc.__name__)
        if reflected is not None and method == "__call__" and not options and inputs[1] is self:
            return getattr(self, f"__{reflected}__")(inputs[0])
        raise _of_numpy(ufunc.__name__)

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        """Refuse all other functions of numpy."""
        raise _of_numpy(function.__name__)


def _number_needed() -> InputError:
    return InputError("a number is needed where an expression stands, whose value is known only when the pipeline "
                      "runs: use functions of halide (hl.exp, hl.sqrt, ...) instead of those of math, and hl.i32, "
                      "hl.f32, ... instead of int(...) and float(...)", here())


def _of_numpy(name: str) -> InputError:
    ours = name if name in _SAME else _NAMES.get(name)
    remedy = f"use hl.{ours}" if ours else "use operators and functions of halide"
    return InputError(f"numpy.{name} computes numbers, and the value of an expression is known only when the pipeline "
                      f"runs: {remedy}", here())
