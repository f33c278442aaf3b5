"""Convert structures with members of one type to arrays with one more dimension, with the same memory layout.

    struct body { float x, y, m; } p[N];        float p[N][3];
    p[i].y = p[j].m;                      ->    p[i][1] = p[j][2];
    a[i] = b[j];                                a[i][0] = b[j][0]; a[i][1] = b[j][1]; a[i][2] = b[j][2];

A structure that is a local variable of the SCoP becomes one variable per number, `q_y`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.elements import put_child
from generator.frontend_c.layouts import Layout, Layouts, innermost
from generator.frontend_c.places import where
from generator.frontend_c.rewriting import StructureRewriting


@dataclass(frozen=True, slots=True)
class Flat:
    """A SCoP without structures: its items, the declarations of its variables, and the size of each structure in
    numbers.
    """

    items: tuple[Any, ...]
    scope: dict[str, Any]
    components: Mapping[str, int]


def without_structures(items: Sequence[Any], layouts: Layouts, scope: Mapping[str, Any], taken: set[str]) -> Flat:
    """Return a SCoP with arrays in place of structures (`items` change in place). `taken`: names in use.

    Raises:
        InputError: a structure that is not a row of numbers of one type.
    """
    used = names_in(items)
    pass_ = _Flattening(layouts, {*used, *taken})
    flat = dict(scope)
    for name in used & scope.keys():
        if isinstance(scope[name], c_ast.Decl) and (layout := layouts.of(scope[name].type)) is not None:
            pass_.layouts_of[name] = (layout, _depth(scope[name].type))
            flat[name] = as_array(scope[name], layout)
    components = {name: layout.size for name, (layout, _) in pass_.layouts_of.items()}
    return Flat(tuple(pass_.block(items)), flat, components)


@dataclass(frozen=True, slots=True)
class _Place:
    """The target of an expression: `depth` subscripts before a structure, then a part of it from number `offset` on."""

    base: Any
    depth: int
    layout: Layout | None
    offset: int = 0
    more: tuple[Any, ...] = ()
    extents: tuple[int, ...] = ()

    def number(self, index: int, node: Any) -> Any:
        """Return the number `index` of the target."""
        result: Any = c_ast.Constant("int", str(self.offset + index), node.coord)
        for k, term in enumerate(self.more):
            last = k == 0 and self.offset + index == 0
            result = term if last else c_ast.BinaryOp("+", term, result, node.coord)
        if isinstance(self.base, dict):
            if self.more:
                raise InputError(f"`{to_c(node)}`: declare this structure before the SCoP, or use constant subscripts",
                                 where(node))
            return c_ast.ID(self.base[self.offset + index], node.coord)
        return c_ast.ArrayRef(self.base, result, node.coord)


@dataclass(eq=False)
class _Flattening(StructureRewriting):
    """Rewrites statements. `taken`: names in use. `layouts_of`: the structures by name, with their numbers of
    subscripts.
    """

    layouts: Layouts
    taken: set[str]
    layouts_of: dict[str, tuple[Layout, int]] = field(default_factory=dict)
    scalars: dict[str, dict[int, str]] = field(default_factory=dict)

    def statement(self, node: Any) -> list[Any]:
        """Return one rewritten statement, which may become several."""
        if isinstance(node, c_ast.Decl) and node.name and (layout := self.layouts.of(node.type)) is not None:
            return self.declaration(node, layout)
        return super().statement(node)

    def declaration(self, node: Any, layout: Layout) -> list[Any]:
        """Return the declarations for a structure that is a local variable of the SCoP."""
        if not isinstance(node.type, c_ast.TypeDecl):
            raise InputError(f"`{to_c(node)}`: declare it before the SCoP", where(node))
        names = {number: self.fresh(f"{node.name}_{path}") for path, number in _numbers(layout)}
        self.layouts_of[node.name], self.scalars[node.name] = (layout, 0), names
        kind = c_ast.IdentifierType(layout.element.split())
        found = [c_ast.Decl(name, node.quals, [], [], [],
                            c_ast.TypeDecl(name, node.quals, None, kind, coord=node.coord), None, None, node.coord)
                 for name in names.values()]
        if isinstance(node.init, c_ast.InitList):
            raise InputError(f"`{to_c(node)}`: assign the members one by one in a SCoP", where(node))
        if node.init is not None:
            target = self.place(c_ast.ID(node.name, node.coord))
            assert target is not None
            found += self.copied(target, node.init, node)
        return found

    def fresh(self, base: str) -> str:
        """Return an unused name."""
        name = next(
            name for number in count(1) if (name := base if number == 1 else f"{base}_{number}") not in self.taken
        )
        self.taken.add(name)
        return name

    def whole(self, node: Any) -> _Place | None:
        """Return the structure that `node` is as a whole, if it is one."""
        place = self.place(node)
        return (
            place if place is not None and place.layout is not None and place.depth == 0 and not place.extents else None
        )

    def copied(self, target: _Place, value: Any, node: Any) -> list[Any]:
        """Return the assignment of a structure to another one, number by number."""
        source = self.whole(value)
        if source is None or source.layout != target.layout:
            raise InputError(
                f"`{to_c(node)}`: a structure can only be copied from a variable or an element", where(node)
            )
        assert target.layout is not None
        return [c_ast.Assignment("=", target.number(k, node), source.number(k, node), node.coord)
                for k in range(target.layout.size)]

    def place(self, node: Any) -> _Place | None:
        """Return the target of an lvalue that is a structure or a part of one. Raises InputError."""
        match node:
            case c_ast.ID() if node.name in self.layouts_of:
                layout, depth = self.layouts_of[node.name]
                return _Place(self.scalars.get(node.name, node), depth, layout)
            case c_ast.ArrayRef():
                found = self.place(node.name)
                return None if found is None else self.element(found, node.subscript, node)
            case c_ast.UnaryOp(op="*"):
                found = self.place(node.expr)
                return None if found is None else self.element(found, c_ast.Constant("int", "0", node.coord), node)
            case c_ast.StructRef():
                found = self.place(node.name)
                if found is not None and node.type == "->":
                    found = self.element(found, c_ast.Constant("int", "0", node.coord), node)
                if found is None or found.layout is None or found.depth or found.extents:
                    raise InputError(f"`{to_c(node)}` is not a member of a structure that the SCoP can use; use a "
                                     "variable that is declared as a structure, an array of them or a pointer to them, "
                                     "with subscripts (`p[i].x`)", where(node))
                if node.field.name not in found.layout.members:
                    raise InputError(f"`{to_c(node)}`: there is no member of that name", where(node))
                member = found.layout.members[node.field.name]
                return replace(found, layout=member.layout, offset=found.offset + member.offset, extents=member.extents)
            case _:
                return None

    def element(self, place: _Place, subscript: Any, node: Any) -> _Place:
        """Return an element of an array of structures, or of an array member."""
        subscript = self.rewritten(subscript)
        if place.depth:
            return replace(place, base=c_ast.ArrayRef(place.base, subscript, node.coord), depth=place.depth - 1)
        if not place.extents:
            raise InputError(f"`{to_c(node)}` has too many subscripts", where(node))
        stride = place.layout.size if place.layout else 1
        for extent in place.extents[1:]:
            stride *= extent
        if isinstance(subscript, c_ast.Constant) and subscript.value.isdigit():
            return replace(place, offset=place.offset + int(subscript.value, 10) * stride, extents=place.extents[1:])
        if stride != 1:
            subscript = c_ast.BinaryOp("*", c_ast.Constant("int", str(stride), node.coord), subscript, node.coord)
        return replace(place, more=(*place.more, subscript), extents=place.extents[1:])

    def rewritten(self, node: Any) -> Any:
        """Return an expression or statement without members of structures (changed in place). Raises InputError."""
        if (
            isinstance(node, (c_ast.ArrayRef, c_ast.StructRef, c_ast.UnaryOp))
            and (place := self.place(node)) is not None
        ):
            if place.layout is not None or place.extents:
                raise InputError(
                    f"`{to_c(node)}` is not a number: a whole structure, or an array in one, can only be copied "
                    "by an assignment of its own",
                    where(node),
                )
            return place.number(0, node)
        for name, child in node.children():
            put_child(node, name, self.rewritten(child))
        return node


def _numbers(layout: Layout, prefix: str = "", offset: int = 0) -> list[tuple[str, int]]:
    """Return the numbers of a structure, with names: `pos_0`, `mass`."""
    found: list[tuple[str, int]] = []
    for name, member in layout.members.items():
        paths = [f"{prefix}{name}"]
        for extent in member.extents:
            paths = [f"{path}_{k}" for path in paths for k in range(extent)]
        for k, path in enumerate(paths):
            start = offset + member.offset + k * (member.layout.size if member.layout else 1)
            found += _numbers(member.layout, f"{path}_", start) if member.layout else [(path, start)]
    return found


def _depth(node: Any) -> int:
    """Return the number of subscripts from a declared type to its elements."""
    depth = 0
    while isinstance(node, (c_ast.ArrayDecl, c_ast.PtrDecl)):
        node, depth = node.type, depth + 1
    return depth


def as_array(node: Any, layout: Layout) -> Any:
    """Return the declaration of an array of numbers with the same memory layout."""
    result = copy.deepcopy(node)
    result.init = None
    numbers = innermost(result.type)
    numbers.type = c_ast.IdentifierType(layout.element.split())
    row = c_ast.ArrayDecl(numbers, c_ast.Constant("int", str(layout.size)), [])
    if result.type is numbers:
        result.type = row
        return result
    outer = result.type
    while outer.type is not numbers:
        outer = outer.type
    outer.type = row
    return result


def names_in(items: Sequence[Any]) -> set[str]:
    """Return all names in syntax trees."""
    found: set[str] = set()
    waiting = list(items)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (c_ast.ID, c_ast.Decl, c_ast.Enumerator)) and node.name:
            found.add(node.name)
        waiting += [child for _, child in node.children()]
    return found
