"""Array arguments of a file's functions: the SCoP's arrays, and the elements that are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import Declared, declared, to_c
from generator.frontend_c.functions import Function, Parameter
from generator.frontend_c.places import where

Evaluate: TypeAlias = Callable[[Any], Any]
"""Converts an expression of a function to an expression of the SCoP's variables with the same value."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """The value of an array parameter: an array or a row of one (syntax tree), from the element `offset` on."""

    base: Any
    offset: Any = None

    def element(self, subscript: Any) -> Any:
        """Return the element (or row) with a subscript."""
        if self.offset is not None:
            subscript = c_ast.BinaryOp("+", self.offset, subscript, subscript.coord)
        return c_ast.ArrayRef(self.base, subscript, subscript.coord)

    def moved(self, offset: Any) -> Pointer:
        """Return the pointer to the element with the subscript `offset`."""
        return Pointer(self.base, self.element(offset).subscript)


def pointer(node: Any, names: Mapping[str, Any], value: Evaluate) -> Pointer:
    """Return the target of an argument for an array parameter. Raises InputError."""
    match node:
        case c_ast.ID(name=name) if isinstance(known := names.get(name), Pointer):
            return known
        case c_ast.ID() | c_ast.ArrayRef():
            return Pointer(value(node))
        case c_ast.UnaryOp(op="*", expr=c_ast.ID()):
            return Pointer(node)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=c_ast.ID() as array, subscript=subscript)):
            return pointer(array, names, value).moved(value(subscript))
        case c_ast.BinaryOp(op="+", left=c_ast.ID() as array, right=offset):
            return pointer(array, names, value).moved(value(offset))
        case _:
            raise InputError(f"`{to_c(node)}` is given to a function that is inlined: pass an array, a row of it "
                             "(`a[i]`), `a + k` or `&a[k]`", where(node))


def element(node: Any, names: Mapping[str, Any], value: Evaluate) -> Any:
    """Return the element of the SCoP's array for `p[i][j]` or `*p` in a function. Raises InputError."""
    if isinstance(node, c_ast.UnaryOp):  # *p, *(p + k)
        array, subscript = node.expr, c_ast.Constant("int", "0", node.coord)
    else:
        array, subscript = node.name, value(node.subscript)
    if isinstance(array, c_ast.ArrayRef):
        return c_ast.ArrayRef(element(array, names, value), subscript, node.coord)
    return pointer(array, names, value).element(subscript)


def check_shape(function: Function, parameter: Parameter, target: Pointer, names: Mapping[str, Any],
                variables: Mapping[str, Any], typedefs: Mapping[str, Any]) -> None:
    """Raise InputError unless a parameter and its array argument have the same elements and rows."""
    base, taken = target.base, 0
    while not isinstance(base, c_ast.ID):
        base, taken = base.expr if isinstance(base, c_ast.UnaryOp) else base.name, taken + 1
    node = variables.get(base.name)
    kind: Declared | None = declared(node.type, typedefs) if isinstance(node, c_ast.Decl) else None
    found = kind.extents[taken:] if kind else ()
    wanted = tuple(_in_caller(text, names) for text in parameter.kind.extents)
    if kind is None or kind.element != parameter.kind.element or not found or found[1:] != wanted[1:]:
        raise InputError(f"`{function.name}` cannot be inlined: `{to_c(target.base)}` has not the type of its "
                         f"parameter `{parameter.name}` (elements, number of dimensions and all sizes but the first "
                         "must be the same)", where(target.base))
    if target.offset is not None and taken:
        raise InputError(f"`{function.name}` cannot be inlined: a pointer into a row of `{base.name}` may leave the "
                         "row; pass the row and the position in it", where(target.base))


def _in_caller(text: str | None, names: Mapping[str, Any]) -> str | None:
    """Return the size of a parameter's dimension in terms of the SCoP."""
    known = names.get(text or "")
    return text if known is None or isinstance(known, Pointer) or known.value is None else to_c(known.value)
