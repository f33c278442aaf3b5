"""C declarations: element types and extents of variables, typedefs resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pycparser import c_ast, c_generator

from generator.program import NUMPY_TYPES, ElementType

_WORDS = {("char",): "char", ("signed", "char"): "char", ("unsigned", "char"): "unsigned char",
          ("short",): "short", ("unsigned", "short"): "unsigned short", ("int",): "int", ("signed",): "int",
          ("unsigned",): "unsigned int", ("unsigned", "int"): "unsigned int", ("long",): "long",
          ("unsigned", "long"): "unsigned long", ("float",): "float", ("double",): "double", ("_Bool",): "char"}
INTEGER_TYPES = frozenset(NUMPY_TYPES) - {"float", "double"}


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable's type. `extents`: C text (None: behind a pointer). `pointer_to_array`: a pointer to a whole array."""

    element: ElementType
    extents: tuple[str | None, ...]
    pointer_to_array: bool


def to_c(node: Any) -> str:
    """Return the C text of a syntax tree on one line."""
    return " ".join(c_generator.CGenerator().visit(node).split())


def element_type(words: list[str], typedefs: Mapping[str, Any]) -> ElementType | None:
    """Return the element type of these declaration words; None if it is not a supported arithmetic type."""
    if len(words) == 1 and words[0] in typedefs:
        target = typedefs[words[0]]
        if isinstance(target, c_ast.TypeDecl) and isinstance(target.type, c_ast.IdentifierType):
            return element_type(target.type.names, typedefs)
        return None
    plain = [w for w in words if w not in ("const", "volatile", "signed")] or ["int"]
    if len(plain) > 1 and "int" in plain:
        plain.remove("int")
    if plain.count("long") == 2:
        plain.remove("long")
    return cast("ElementType | None", _WORDS.get(tuple(sorted(plain, key=lambda w: w != "unsigned"))))


def pointer_advice(node: Any) -> str:
    """Return the remedy for a refused declaration of a pointer; "" for others.

    `double **a`: rows may be anywhere in memory. `double *data` as a member: it may differ from structure to structure.
    """
    if not isinstance(node.type, c_ast.PtrDecl):
        return ""
    name = node.name
    if isinstance(node.type.type, c_ast.PtrDecl):
        return (
            f"; allocate its rows as one block (`double (*{name})[m] = malloc(n * sizeof *{name});`), or as one array "
            f"that is "
            f"subscripted `{name}[i * m + j]`"
        )
    return (
        f"; copy the pointer, and sizes beside it, into variables before the loops (`{to_c(node)} = s.{name};`) and "
        f"use these"
    )


def is_truth(node: Any, typedefs: Mapping[str, Any]) -> bool:
    """Return whether a declared type is `_Bool`, whose conversion from numbers is special."""
    if not isinstance(node, c_ast.TypeDecl) or not isinstance(node.type, c_ast.IdentifierType):
        return False
    names = node.type.names
    alias = typedefs.get(names[0]) if len(names) == 1 else None
    return "_Bool" in names or (alias is not None and is_truth(alias, typedefs))


def resolve_casts(node: Any, typedefs: Mapping[str, Any]) -> None:
    """Replace typedef names in the casts below `node` (in place): `(real)x` -> `(double)x`."""
    if isinstance(node, c_ast.Cast):
        target = node.to_type.type
        if isinstance(target, c_ast.TypeDecl) and isinstance(target.type, c_ast.IdentifierType):
            kind = "_Bool" if is_truth(target, typedefs) else element_type(target.type.names, typedefs)
            target.type.names = kind.split() if kind else target.type.names
    for _, child in node.children():
        resolve_casts(child, typedefs)


def declared(node: Any, typedefs: Mapping[str, Any]) -> Declared | None:
    """Return element type and extents of a declarator; None if it is not an array or scalar of numbers."""
    extents: list[str | None] = []
    pointers = 0
    while isinstance(node, (c_ast.ArrayDecl, c_ast.PtrDecl)):
        if isinstance(node, c_ast.PtrDecl):
            pointers += 1
            if extents:
                return None  # an array of pointers
            extents.append(None)
        else:
            extents.append(to_c(node.dim) if node.dim is not None else None)
        node = node.type
    if not isinstance(node, c_ast.TypeDecl):
        return None
    if isinstance(node.type, c_ast.IdentifierType) and len(node.type.names) == 1:
        alias = typedefs.get(node.type.names[0])
        if isinstance(alias, (c_ast.ArrayDecl, c_ast.PtrDecl)):
            inner = declared(alias, typedefs)
            return inner and Declared(inner.element, (*extents, *inner.extents), pointers > 0)
    if not isinstance(node.type, c_ast.IdentifierType) or pointers > 1 or None in extents[1:]:
        return None
    element = element_type(node.type.names, typedefs)
    return Declared(element, tuple(extents), pointers > 0 and len(extents) > 1) if element else None


def integers_of(scope: Mapping[str, Any], typedefs: Mapping[str, Any]) -> dict[str, ElementType]:
    """Return the types of the integer scalars of a scope."""
    found: dict[str, ElementType] = {}
    for name, node in scope.items():
        if isinstance(node, c_ast.Enumerator):
            found[name] = "int"
        elif isinstance(node, c_ast.Decl) and not is_truth(node.type, typedefs) and "volatile" not in node.quals:
            kind = declared(node.type, typedefs)
            if kind is not None and not kind.extents and kind.element in INTEGER_TYPES:
                found[name] = kind.element
    return found
