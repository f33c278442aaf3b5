"""The C types of expressions (C11 6.3.1.1 and 6.3.1.8, with a 32-bit int and a 64-bit long)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary
from generator.program import ElementType

FLOATING = frozenset(["float", "double"])
REAL = FLOATING | {"half"}
"""Types whose values are real numbers. Expressions treat a half as 16 bits, not as a number."""
TO_FLOAT, TO_HALF = "antune_half_to_float", "antune_float_to_half"
"""Functions that convert the 16 bits of a half to its value, and a value to the bits of the nearest half (ties to
even).
"""
_RANK = ("int", "unsigned int", "long", "unsigned long", "float", "double")
_LOGICAL = frozenset(["<", "<=", ">", ">=", "==", "!=", "&&", "||"])
_INT_MAX = 2**31 - 1
# Pure functions of math.h and stdlib.h; the ones ending in f work on float, abs and labs on integers.
_DOUBLE = frozenset([
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh", "fabs", "floor", "ceil", "round", "trunc", "fmod", "fmin", "fmax", "hypot",
    "erf", "erfc", "fma", "copysign"])
FUNCTIONS: Mapping[str, ElementType] = {  # their result types
    **dict.fromkeys(_DOUBLE, "double"), **{f"{name}f": "float" for name in _DOUBLE}, "abs": "int", "labs": "long"}
BIT_FUNCTIONS: Mapping[str, ElementType] = {  # arguments: unsigned int (name in l: unsigned long), or as the name says
    "antune_popcount": "int", "antune_popcountl": "int", "antune_clz": "int", "antune_clzl": "int",
    "antune_as_float": "float", "antune_as_double": "double", "antune_as_uint": "unsigned int",
    "antune_as_ulong": "unsigned long", TO_FLOAT: "float", TO_HALF: "half"}
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64}


def c_type(expr: Expr, types: Mapping[str, str]) -> str:
    """Return the C type of `expr`. `types`: the element types of arrays. A single element keeps its type, e.g. `char`.
    """
    match expr:
        case Int(value):
            return "int" if -_INT_MAX - 1 <= value <= _INT_MAX else "long"
        case Real(text):
            return "float" if text[-1] in "fF" else "double"
        case Name(_, kind):
            return kind
        case Fold():
            return expr.total.type
        case Load(array, _, _):
            return types[array]
        case Cast(kind, _):
            return kind
        case Call("abs" | "labs" as function, _):
            return "int" if function == "abs" else "long"
        case Call(function, _) if function in BIT_FUNCTIONS:
            return BIT_FUNCTIONS[function]
        case Call(function, _):
            return "float" if function.endswith("f") and function != "erf" else "double"
        case Unary(op, operand):
            return "int" if op == "!" else common_type(c_type(operand, types))
        case Binary(op, left, right):
            if op in _LOGICAL:
                return "int"
            return common_type(c_type(left, types), *(() if op in ("<<", ">>") else (c_type(right, types),)))
        case Select(_, then, otherwise):
            return common_type(c_type(then, types), c_type(otherwise, types))
        case _:
            assert_never(expr)


def common_type(*types: str) -> str:
    """Return the type in which C computes with operands of these types."""
    return max(("int", *(kind for kind in types if kind in _RANK)), key=_RANK.index)


def integer_limits(kind: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type; of a half, those of its bits."""
    kind = "unsigned short" if kind == "half" else kind
    values = 2 ** _BITS[kind.removeprefix("unsigned ")]
    return (0, values - 1) if kind.startswith("unsigned") else (-(values // 2), values // 2 - 1)
