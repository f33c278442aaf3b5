"""Convert C expressions to ours: names become iterators, parameter values or loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from generator.arithmetic import FLOATING, FUNCTIONS, c_type
from generator.errors import InputError
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Real, Select, Unary, map_children
from generator.frontend_c.constants import read_constant, typed
from generator.frontend_c.ctypes import INTEGER_TYPES, element_type, to_c
from generator.frontend_c.places import where
from generator.frontend_c.source import Variable
from generator.program import ElementType

_OPERATORS = frozenset([
    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>"])
# INFINITY, HUGE_VAL and similar macros of math.h, with the suffix of their type.
_INFINITE = {"__builtin_inff": "f", "__builtin_huge_valf": "f", "__builtin_inf": "", "__builtin_huge_val": ""}


@dataclass(frozen=True, slots=True)
class Names:
    """The meaning of names at some place of the SCoP. `all_iterators`: the types of all its loop iterators."""

    iterators: tuple[str, ...]
    all_iterators: Mapping[str, ElementType]
    parameters: Mapping[str, int]
    variables: Mapping[str, Variable]


def read_expression(node: Any, names: Names) -> Expr:
    """Return the expression of a syntax tree; loads are not numbered yet (`access == -1`).

    Raises:
        InputError: a construct, call or name that a SCoP cannot contain, with its location.
    """
    match node:
        case c_ast.Constant():
            return read_constant(node)
        case c_ast.ID():
            return _name(node, names)
        case c_ast.ArrayRef():
            return read_access(node, names)
        case c_ast.UnaryOp(op="+" | "-" | "!" | "~"):
            return Unary(node.op, read_expression(node.expr, names))
        case c_ast.UnaryOp(op="*"):
            return read_access(node, names)
        case c_ast.BinaryOp() if node.op in _OPERATORS:
            return Binary(node.op, read_expression(node.left, names), read_expression(node.right, names))
        case c_ast.TernaryOp():
            return Select(
                as_condition(read_expression(node.cond, names), {name: v.type for name, v in names.variables.items()}),
                read_expression(node.iftrue, names),
                read_expression(node.iffalse, names),
            )
        case c_ast.Cast():
            return _cast(node, names)
        case c_ast.FuncCall():
            return _call(node, names)
        case _:
            changes = isinstance(node, c_ast.Assignment) or (
                isinstance(node, c_ast.UnaryOp) and node.op.lstrip("p") in ("++", "--")
            )
            advice = (
                ": it changes a variable; make it a statement of its own, before or after this one" if changes else ""
            )
            raise InputError(f"`{to_c(node)}` cannot stand in a SCoP's expression{advice}", where(node))


def as_condition(expr: Expr, types: Mapping[str, str]) -> Expr:
    """Return `expr` as the condition of `?:`, which must not be a real number in OpenCL C."""
    return Binary("!=", expr, Int(0)) if c_type(expr, types) in FLOATING else expr


def read_access(node: Any, names: Names) -> Load:
    """Return the array element or scalar of an lvalue. Raises InputError."""
    whole, subscripts = node, []
    while isinstance(node, c_ast.ArrayRef):
        subscripts.append(node.subscript)
        node = node.name
    indirect = isinstance(node, c_ast.UnaryOp) and node.op == "*"
    if indirect:
        node = node.expr
    if not isinstance(node, c_ast.ID) or node.name not in names.variables:
        raise InputError(f"`{to_c(whole)}` is not an element of an array or a scalar variable", where(whole))
    variable = names.variables[node.name]
    if indirect and not variable.indirect:  # *x is x[0]
        subscripts.append(c_ast.Constant("int", "0", node.coord))
    if len(subscripts) != len(variable.extents):
        raise InputError(f"`{to_c(whole)}` has {len(subscripts)} subscripts but `{node.name}` has "
                         f"{len(variable.extents)} dimensions (pointers into arrays are not followed)", where(whole))
    return Load(node.name, tuple(read_expression(s, names) for s in reversed(subscripts)))


def without_casts(expr: Expr) -> Expr:
    """Return `expr` without casts to integer types, for subscripts, whose values are known not to wrap."""
    if (
        isinstance(expr, Cast) and expr.type in INTEGER_TYPES and not isinstance(expr.operand, Call)
    ):  # `floor` is not an integer
        return without_casts(expr.operand)
    return map_children(expr, without_casts)


def _name(node: Any, names: Names) -> Expr:
    if node.name in names.iterators:
        return typed(Name(node.name), names.all_iterators[node.name])
    if node.name in names.all_iterators:
        raise InputError(f"the iterator `{node.name}` is used outside its loop", where(node))
    if node.name in names.parameters:
        value = names.parameters[node.name]
        number = Int(value) if value >= 0 else Unary("-", Int(-value))
        return typed(number, names.variables[node.name].type)
    return read_access(node, names)


def _cast(node: Any, names: Names) -> Expr:
    declarator = node.to_type.type
    kind = (element_type(declarator.type.names, {}) if isinstance(declarator, c_ast.TypeDecl)
            and isinstance(declarator.type, c_ast.IdentifierType) else None)
    if kind is None:
        raise InputError(f"`{to_c(node)}`: only casts to arithmetic types are supported in a SCoP", where(node))
    return Cast(kind, read_expression(node.expr, names))


def _call(node: Any, names: Names) -> Expr:
    function = node.name.name if isinstance(node.name, c_ast.ID) else to_c(node.name)
    if function in _INFINITE:
        suffix = _INFINITE[function]
        return Binary("/", Real(f"1.0{suffix}"), Real(f"0.0{suffix}"))
    if function not in FUNCTIONS:
        raise InputError(f"call of `{function}` in a SCoP: its effects are unknown; only functions of math.h "
                         "(sqrt, exp, pow, fabs, fmin, ...) and abs can be called, so write its body inline",
                         where(node))
    arguments = node.args.exprs if node.args else []
    return Call(function, tuple(read_expression(a, names) for a in arguments))
