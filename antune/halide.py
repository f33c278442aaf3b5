"""The pipeline language: `from antune import halide as hl`, then write Funcs as for Halide (docs/pipelines.md).

What is here is `generator.frontend_py`, under the names that Halide's Python module has.
"""

from __future__ import annotations

from generator.frontend_py import boundary as BoundaryConditions
from generator.frontend_py.domain import RDom
from generator.frontend_py.func import Func
from generator.frontend_py.functions import (
    abs,
    absd,
    acos,
    asin,
    atan,
    atan2,
    cast,
    ceil,
    clamp,
    cos,
    cosh,
    exp,
    f32,
    f64,
    fast_exp,
    fast_inverse,
    fast_inverse_sqrt,
    fast_log,
    fast_pow,
    floor,
    fract,
    halving_add,
    hypot,
    i8,
    i8_sat,
    i16,
    i16_sat,
    i32,
    i64,
    is_nan,
    lerp,
    likely,
    likely_if_innermost,
    log,
    logical_and,
    logical_not,
    logical_or,
    max,
    min,
    mux,
    pow,
    round,
    rounding_halving_add,
    saturating_add,
    saturating_cast,
    saturating_sub,
    select,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    u8,
    u8_sat,
    u16,
    u16_sat,
    u32,
    u64,
    widening_add,
    widening_mul,
    widening_sub,
)
from generator.frontend_py.images import Buffer, ImageParam, Param
from generator.frontend_py.nodes import Expr, RVar, Var
from generator.frontend_py.reductions import argmax, argmin, maximum, minimum, product, sum
from generator.frontend_py.types import Bool, Float, Int, Type, UInt

__all__ = [
    "Bool", "BoundaryConditions", "Buffer", "Expr", "Float", "Func", "ImageParam", "Int", "Param", "RDom", "RVar", "Tuple",
    "Type", "UInt", "Var", "abs", "absd", "acos", "argmax", "argmin", "asin", "atan", "atan2", "cast", "ceil", "clamp", "cos",
    "cosh", "exp", "f32", "f64", "fast_exp", "fast_inverse", "fast_inverse_sqrt", "fast_log", "fast_pow", "floor", "fract",
    "halving_add", "hypot", "i8", "i8_sat", "i16", "i16_sat", "i32", "i64", "is_nan", "lerp", "likely",
    "likely_if_innermost", "log", "logical_and", "logical_not", "logical_or", "max", "maximum", "min", "minimum", "mux", "pow",
    "product", "round", "rounding_halving_add", "saturating_add", "saturating_cast", "saturating_sub", "select", "sin",
    "sinh", "sqrt", "sum", "tan", "tanh", "trunc", "u8", "u8_sat", "u16", "u16_sat", "u32", "u64", "widening_add",
    "widening_mul", "widening_sub"]


def Tuple(*values: object) -> tuple[object, ...]:
    """Several values of one Func: `f[x] = Tuple(a, b)`, or simply `f[x] = (a, b)`."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], tuple | list) else values
