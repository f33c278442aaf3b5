"""Layouts of structures with members of a single type: such a structure is a row of numbers in memory.

    struct body { float pos[3], mass; };  ->  4 floats: pos from number 0 on (3 of them), mass number 3
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.expr import evaluate
from generator.frontend_c.ctypes import INTEGER_TYPES, element_type, is_truth, pointer_advice, to_c
from generator.frontend_c.expressions import Names, read_expression, without_casts
from generator.frontend_c.places import where
from generator.program import ElementType


@dataclass(frozen=True, slots=True)
class Member:
    """A member: the number of its first element, its extents, and its layout if it is a structure."""

    offset: int
    extents: tuple[int, ...]
    layout: Layout | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure of `size` numbers of one type."""

    element: ElementType
    size: int
    members: Mapping[str, Member]


@dataclass(frozen=True, slots=True)
class Layouts:
    """The structures of a file: their definitions (syntax trees) by tag, and its typedefs."""

    tags: Mapping[str, Any]
    typedefs: Mapping[str, Any]

    def of(self, node: Any) -> Layout | None:
        """Return the layout of the structure in a declared type; None if it is not a structure.

        Raises:
            InputError: a structure that is not a row of numbers of one type.
        """
        kind = innermost(node).type
        if isinstance(kind, c_ast.IdentifierType) and len(kind.names) == 1:
            alias = self.typedefs.get(kind.names[0])
            return self.of(alias) if isinstance(alias, c_ast.TypeDecl) else None
        if isinstance(kind, c_ast.Union):
            raise InputError(f"`{to_c(kind).split(' {')[0]}`: unions are not supported in a SCoP", where(kind))
        return self._structure(kind) if isinstance(kind, c_ast.Struct) else None

    def structure(self, node: Any) -> Any | None:
        """Return the definition of the structure in a declared type; None if it is not a structure, or undefined."""
        kind = innermost(node).type
        if isinstance(kind, c_ast.IdentifierType) and len(kind.names) == 1:
            alias = self.typedefs.get(kind.names[0])
            return self.structure(alias) if isinstance(alias, c_ast.TypeDecl) else None
        if not isinstance(kind, c_ast.Struct):
            return None
        return kind if kind.decls else self.tags.get(kind.name)

    def mixed(self, node: Any) -> Any | None:
        """Return the definition of such a structure, if it is not a row of numbers of one type; None otherwise."""
        definition = self.structure(node)
        if definition is None:
            return None
        try:
            self._structure(definition)
        except InputError:
            return definition
        return None

    def integers(self, node: Any) -> bool:
        """Return whether all members of such a structure are integers."""
        layout = self.of(node)
        return layout is not None and layout.element in INTEGER_TYPES

    def _structure(self, node: Any) -> Layout:
        name = f"struct {node.name}" if node.name else "the structure"
        definition = node if node.decls else self.tags.get(node.name)
        if definition is None:
            raise InputError(f"`{name}` is not defined here", where(node))
        members: dict[str, Member] = {}
        elements: dict[ElementType, str] = {}
        size = 0
        for declaration in definition.decls:
            element, member = self._member(declaration, size, name)
            elements.setdefault(element, declaration.name)
            members[declaration.name] = member
            size += prod(member.extents) * (member.layout.size if member.layout else 1)
        if len(elements) != 1:
            listed = ", ".join(f"`{member}` is {element}" for element, member in elements.items())
            raise InputError(
                f"`{name}` is used as a whole, and its members have different types ({listed}): use its members",
                where(definition),
            )
        return Layout(next(iter(elements)), size, members)

    def _member(self, node: Any, offset: int, owner: str) -> tuple[ElementType, Member]:
        inner, extents = node.type, []
        while isinstance(inner, c_ast.ArrayDecl):
            extents.append(constant_size(inner.dim, node))
            inner = inner.type
        if isinstance(node, c_ast.Decl) and node.bitsize is None and isinstance(inner, c_ast.TypeDecl):
            if isinstance(inner.type, c_ast.IdentifierType):
                element = element_type(inner.type.names, self.typedefs)
                if element is not None and not is_truth(inner, self.typedefs):
                    return element, Member(offset, tuple(extents), None)
            layout = self.of(inner)
            if layout is not None:
                return layout.element, Member(offset, tuple(extents), layout)
        raise InputError(
            f"`{to_c(node)}` in `{owner}`: the members of a structure in a SCoP are numbers, arrays of them "
            f"and such structures{pointer_advice(node)}",
            where(node),
        )


def innermost(node: Any) -> Any:
    """Return the element type below the arrays and pointers of a declared type."""
    while isinstance(node, (c_ast.ArrayDecl, c_ast.PtrDecl, c_ast.FuncDecl)):
        node = node.type
    return node


def structures_in(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield all definitions of structures with a tag."""
    if isinstance(tree, c_ast.Struct) and tree.name and tree.decls:
        yield tree.name, tree
    for _, child in tree.children():
        yield from structures_in(child)


def constant_size(node: Any, member: Any) -> int:
    """Return the extent of an array member of a structure. Raises InputError if it is not a constant."""
    try:
        return evaluate(without_casts(read_expression(node, Names((), {}, {}, {}))), {})
    except (InputError, TypeError, ZeroDivisionError):
        raise InputError(
            f"the size of `{to_c(member)}` in a structure is not a constant number", where(member)
        ) from None
