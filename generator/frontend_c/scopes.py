"""Scopes inside a SCoP: after `separate_names` names are unique.

`for (int i ...) { double t; ... } ... t += x;` with an outer `t` -> the inner one is renamed to `t_2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from generator.frontend_c.ctypes import declared


@dataclass(eq=False)
class _Binding:
    """One variable: its declaration, if there is one, and every node that names it."""

    name: str
    declaration: Any
    iterates: bool
    around: tuple[_Binding, ...]
    uses: list[Any] = field(default_factory=list)


def separate_names(items: tuple[Any, ...], scope: Mapping[str, Any], typedefs: Mapping[str, Any]) -> None:
    """Rename variables declared in `items` (syntax trees, changed in place) if another one has the name.

    Iterators of one type keep a common name if their loops are not nested in each other. `scope`: the declarations
    outside.
    """
    collector = _Collector(scope)
    for item in items:
        collector.visit(item)
    kept: dict[str, list[_Binding]] = {}
    for binding in collector.outer.values():
        kept[binding.name] = [binding]
    for binding in collector.inner:
        name, number = binding.name, 1
        while (number > 1 and name in scope) or any(_clash(binding, other, typedefs) for other in kept.get(name, ())):
            number += 1
            name = f"{binding.name}_{number}"
        kept.setdefault(name, []).append(binding)
        _rename(binding, name)


def _clash(new: _Binding, other: _Binding, typedefs: Mapping[str, Any]) -> bool:
    if not (new.iterates and other.iterates) or other in new.around:
        return True
    return other.declaration is None or declared(new.declaration.type, typedefs) != declared(
        other.declaration.type, typedefs
    )


def _rename(binding: _Binding, name: str) -> None:
    for use in binding.uses:
        use.name = name
    binding.declaration.name = name
    node = binding.declaration.type
    while not isinstance(node, c_ast.TypeDecl) and hasattr(node, "type"):
        node = node.type
    if isinstance(node, c_ast.TypeDecl):
        node.declname = name


class _Collector(c_ast.NodeVisitor):  # type: ignore[misc]  # pycparser has no types
    """Resolves every name to its binding."""

    def __init__(self, outside: Mapping[str, Any]) -> None:
        self.outside = outside
        self.outer: dict[str, _Binding] = {}
        self.inner: list[_Binding] = []
        self.scope: dict[str, _Binding] = {}
        self.loops: tuple[_Binding, ...] = ()

    def resolve(self, name: str) -> _Binding:
        """Return the binding of `name` here."""
        if name not in self.scope:
            self.scope[name] = self.outer.setdefault(name, self.binding_outside(name))
        return self.scope[name]

    def binding_outside(self, name: str) -> _Binding:
        """Return the variable, enumerator or unknown name outside the SCoP."""
        known = self.outside.get(name)
        return _Binding(name, known if isinstance(known, c_ast.Decl) else None, False, ())

    def visit_ID(self, node: Any) -> None:
        self.resolve(node.name).uses.append(node)

    def visit_FuncCall(self, node: Any) -> None:
        if node.args:
            self.visit(node.args)

    def visit_StructRef(self, node: Any) -> None:
        self.visit(node.name)

    def visit_Decl(self, node: Any) -> None:
        self.visit(node.type)
        if node.name:
            self.declare(node, False)
        if node.init is not None:
            self.visit(node.init)

    def declare(self, node: Any, iterates: bool) -> None:
        """Declare a new variable, visible to the end of its block."""
        binding = _Binding(node.name, node, iterates, self.loops)
        self.scope[node.name] = binding
        self.inner.append(binding)

    def visit_Compound(self, node: Any) -> None:
        before = self.scope
        self.scope = dict(before)
        self.generic_visit(node)
        self.scope = before

    def visit_For(self, node: Any) -> None:
        before, loops = self.scope, self.loops
        self.scope = dict(before)
        if isinstance(node.init, c_ast.DeclList):
            for declaration in node.init.decls:
                if declaration.init is not None:
                    self.visit(declaration.init)
                self.declare(declaration, True)
                self.loops = (*self.loops, self.scope[declaration.name])
        elif node.init is not None:
            self.iterate(node.init)
        for part in (node.cond, node.next, node.stmt):
            if part is not None:
                self.visit(part)
        self.scope, self.loops = before, loops

    def iterate(self, init: Any) -> None:
        """`for (i = ...)`: make a variable from outside the loop an iterator."""
        self.visit(init)
        if isinstance(init, c_ast.Assignment) and isinstance(init.lvalue, c_ast.ID):
            binding = self.resolve(init.lvalue.name)
            binding.iterates = True
            self.loops = (*self.loops, binding)
