"""The types of C expressions (syntax trees), for C's conversions of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pycparser import c_ast

from generator.expr import Cast, Real
from generator.frontend_c.constants import read_constant
from generator.frontend_c.ctypes import element_type
from generator.program import ElementType

_RANKS: tuple[ElementType, ...] = ("int", "unsigned int", "long", "unsigned long", "float", "double")
_TRUTHS = frozenset(["<", "<=", ">", ">=", "==", "!=", "&&", "||"])


def type_of(node: Any, kinds: Mapping[str, ElementType], returns: Mapping[str, ElementType]) -> ElementType | None:
    """Return the type of an expression; None if unknown.

    `kinds`: element types of variables. `returns`: result types of functions.
    """
    match node:
        case c_ast.Constant():
            return _constant(node)
        case c_ast.ID():
            return kinds.get(node.name)
        case c_ast.ArrayRef():
            return type_of(node.name, kinds, returns)
        case c_ast.UnaryOp(op="*"):
            return type_of(node.expr, kinds, returns)
        case c_ast.UnaryOp(op="!") | c_ast.BinaryOp() if node.op in {"!", *_TRUTHS}:
            return "int"
        case c_ast.UnaryOp(op="+" | "-" | "~"):
            return _promoted(type_of(node.expr, kinds, returns))
        case c_ast.BinaryOp(op="<<" | ">>"):
            return _promoted(type_of(node.left, kinds, returns))
        case c_ast.BinaryOp():
            return _common(type_of(node.left, kinds, returns), type_of(node.right, kinds, returns))
        case c_ast.TernaryOp():
            return _common(type_of(node.iftrue, kinds, returns), type_of(node.iffalse, kinds, returns))
        case c_ast.Cast(to_type=c_ast.Typename(type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=names)))):
            return element_type(names, {})
        case c_ast.FuncCall(name=c_ast.ID(name=name)):
            return returns.get(name)
        case _:
            return None


def converted(node: Any, kind: ElementType, kinds: Mapping[str, ElementType],
              returns: Mapping[str, ElementType]) -> Any:
    """Return `node` with the value of a variable of type `kind` to which it is assigned."""
    found = type_of(node, kinds, returns)
    if found == kind or (found is not None and kind == "int" and _promoted(found) == "int"):
        return node
    name = c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(kind.split()))
    return c_ast.Cast(c_ast.Typename(None, [], None, name), node, node.coord)


def _promoted(kind: ElementType | None) -> ElementType | None:
    return kind if kind is None or kind in _RANKS else "int"


def _common(one: ElementType | None, other: ElementType | None) -> ElementType | None:
    """Return the result of the usual arithmetic conversions."""
    one, other = _promoted(one), _promoted(other)
    return None if one is None or other is None else max(one, other, key=_RANKS.index)


def _constant(node: Any) -> ElementType | None:
    value = read_constant(node)
    if isinstance(value, Real):
        return "float" if node.value.lower().endswith("f") else "double"
    return cast("ElementType", value.type) if isinstance(value, Cast) else "int"
