"""Convert structures with members of different types: each member that a SCoP uses becomes an array.

    struct particle { float x[3]; int kind; } p[N];        float p_x[N][3]; int p_kind[N];
    if (p[i].kind == 2) p[i].x[0] += 1;              ->    if (p_kind[i] == 2) p_x[i][0] += 1;
    a[i] = b[j];                                           a_x[i][0] = b_x[j][0]; ... a_kind[i] = b_kind[j];

A variable that is one structure, or points to one, may also hold pointers to arrays; its numbers are variables:

    struct matrix { int rows, cols; double *data; } *m;    int m_rows, m_cols; double *m_data;
    m->data[i * m->cols + j] = 0;                    ->    m_data[i * m_cols + j] = 0;

The program's data stay where they are: a capture reads and writes members (`Field`). Structures with members of a
single type are left to `structures.py`, where they are rows of one array.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import element_type, pointer_advice, to_c
from generator.frontend_c.elements import nodes, put_child
from generator.frontend_c.layouts import Layouts, constant_size, innermost
from generator.frontend_c.places import where
from generator.frontend_c.rewriting import StructureRewriting
from generator.frontend_c.source import Field
from generator.frontend_c.structures import names_in

_MOST = 64  # numbers in a structure that is copied as a whole


@dataclass(frozen=True, slots=True)
class Apart:
    """A SCoP with arrays in place of structures of different types: its items, the declarations of its variables, and
    the locations of the arrays.
    """

    items: tuple[Any, ...]
    scope: dict[str, Any]
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class _Place:
    """The target of an lvalue: a part (`path`) of the structures `base`, with subscripts of the arrays on the way to
    it.
    """

    base: str
    path: tuple[str, ...]
    subscripts: tuple[Any, ...]
    definition: Any


def members_apart(items: Sequence[Any], layouts: Layouts, scope: Mapping[str, Any], taken: set[str]) -> Apart:
    """Return a SCoP without structures of different types (`items` change in place). `taken`: names in use.

    Raises:
        InputError: a member that is neither a number nor an array of numbers.
    """
    apart, changed = _Apart(layouts, taken), _changed_members(items, layouts, scope)
    for name in sorted(names_in(items) & scope.keys()):
        node = scope[name]
        definition = layouts.structure(node.type) if isinstance(node, c_ast.Decl) else None
        if definition is None:
            continue
        mixed, used = layouts.mixed(node.type) is not None, _members_of_one(items, name, node.type)
        kept = (
            used is not None and not used & changed
        )  # two pointers may point to one structure, and one of them changes a number
        if mixed or (kept and layouts.integers(node.type)):
            apart.bases[name] = (node, definition)
            apart.single |= {name} if kept else set()
    found = tuple(apart.block(items))
    return Apart(found, {**scope, **apart.declarations}, apart.fields)


@dataclass(eq=False)
class _Apart(StructureRewriting):
    """Rewrites statements. `bases`: the structures by name, with declaration and definition. `names`: those of their
    members.

    `single`: the bases that are one structure each.
    """

    layouts: Layouts
    taken: set[str]
    bases: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    names: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    single: set[str] = field(default_factory=set)
    declarations: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Field] = field(default_factory=dict)

    def statement(self, node: Any) -> list[Any]:
        """Return one rewritten statement, which may become several."""
        if isinstance(node, c_ast.Decl) and node.name and isinstance(node.type, c_ast.TypeDecl) and (
                definition := self.layouts.mixed(node.type)) is not None:
            return self.variable(node, definition)
        return super().statement(node)

    def variable(self, node: Any, definition: Any) -> list[Any]:
        """Return the variables for the members of a structure that is a local variable of the SCoP."""
        if isinstance(node.init, c_ast.InitList):
            raise InputError(f"`{to_c(node)}`: assign the members one by one in a SCoP", where(node))
        self.bases[node.name] = (node, definition)
        self.local.add(node.name)
        found = [self.declared(node.name, path, member) for path, member in self.members(definition, node)]
        if node.init is not None:
            target = self.place(c_ast.ID(node.name, node.coord))
            assert target is not None
            return [*found, *self.copied(target, node.init, node)]
        return found

    def copied(self, target: _Place, value: Any, node: Any) -> list[Any]:
        """Return the assignment of a structure to another one, number by number."""
        source = self.whole(value)
        if source is None or source.definition is not target.definition:
            raise InputError(
                f"`{to_c(node)}`: a structure can only be copied from a variable or an element", where(node)
            )
        found = []
        for path, member in self.members(target.definition, node):
            for index in product(*(range(extent) for extent in self.extents(member, node))):
                numbers = tuple(c_ast.Constant("int", str(k), node.coord) for k in index)
                sides = (
                    self.element(_Place(side.base, (*side.path, *path), (*side.subscripts, *numbers), member), node)
                    for side in (target, source)
                )
                found.append(c_ast.Assignment("=", *sides, node.coord))
        if len(found) > _MOST:
            raise InputError(
                f"`{to_c(node)}` copies {len(found)} numbers: copy the members that are needed, in loops", where(node)
            )
        return found

    def whole(self, node: Any) -> _Place | None:
        """Return the structure that `node` is as a whole, if it is one."""
        place = self.place(node)
        return (
            place if place is not None and isinstance(place.definition, c_ast.Struct) and self.complete(place) else None
        )

    def complete(self, place: _Place) -> bool:
        """Return whether there are all subscripts to select one structure."""
        return len(place.subscripts) == _dimensions(self.bases[place.base][0].type)

    def place(self, node: Any) -> _Place | None:
        """Return the target of an lvalue that is a structure of different types or a part of one. Raises InputError."""
        match node:
            case c_ast.ID() if node.name in self.bases:
                return _Place(node.name, (), (), self.bases[node.name][1])
            case c_ast.ArrayRef():
                found = self.place(node.name)
                return None if found is None else self.at(found, self.rewritten(node.subscript))
            case c_ast.UnaryOp(op="*"):
                found = self.place(node.expr)
                return None if found is None else self.at(found, c_ast.Constant("int", "0", node.coord))
            case c_ast.StructRef():
                found = self.place(node.name)
                if found is not None and node.type == "->":
                    found = self.behind(found) or self.at(found, c_ast.Constant("int", "0", node.coord))
                return None if found is None else self.member(found, node)
            case _:
                return None

    def behind(self, place: _Place) -> _Place | None:
        """Return the structure to which a member of a single structure points."""
        inner = self.layouts.structure(place.definition.type) if self.is_pointer(place.base, place.definition) else None
        return (
            None if inner is None else replace(place, path=(*place.path[:-1], f"{place.path[-1]}->"), definition=inner)
        )

    def is_pointer(self, base: str, member: Any) -> bool:
        """Return whether a member of a single structure is a pointer."""
        return base in self.single and isinstance(member, c_ast.Decl) and isinstance(member.type, c_ast.PtrDecl)

    def at(self, place: _Place, subscript: Any) -> _Place:
        return _Place(place.base, place.path, (*place.subscripts, subscript), place.definition)

    def member(self, place: _Place, node: Any) -> _Place:
        """Return a member of a structure."""
        if not isinstance(place.definition, c_ast.Struct) or not self.complete(place):
            raise InputError(f"`{to_c(node)}` is not a member of a structure that the SCoP can use: "
                             f"{self.remedy(place, node)}", where(node))
        for declaration in place.definition.decls:
            if declaration.name == node.field.name:
                inner = self.layouts.structure(declaration.type)
                if inner is not None and isinstance(declaration.type, c_ast.TypeDecl):
                    declaration = inner
                return _Place(place.base, (*place.path, node.field.name), place.subscripts, declaration)
        raise InputError(f"`{to_c(node)}`: there is no member of that name", where(node))

    def remedy(self, place: _Place, node: Any) -> str:
        """Return what to write instead of a member of structures that another structure holds or points to."""
        found = node.name
        while isinstance(found, c_ast.ArrayRef):
            found = found.name
        member = place.definition
        if not isinstance(member, c_ast.Decl) or self.layouts.structure(member.type) is None:
            return f"`{to_c(node.name)}` is no structure"
        what = f"`{to_c(found)}` is an array of structures, or points to one, in another structure"
        subscripts = [ref.subscript for ref in nodes(found) if isinstance(ref, c_ast.ArrayRef)]
        if any(not isinstance(subscript, c_ast.Constant) for subscript in subscripts):
            return f"{what} that a subscript selects; copy the members that the loops use into arrays before them"
        pointer = copy.deepcopy(member)
        if isinstance(pointer.type, c_ast.ArrayDecl):
            pointer.type = c_ast.PtrDecl([], pointer.type.type)
        return (f"{what}; copy the pointer into a variable before the loops (`{to_c(pointer)} = {to_c(found)};`), and "
                f"use `{member.name}` in them")

    def members(self, definition: Any, node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Yield all members that are numbers or arrays of them, including those of nested structures, with their paths.
        """
        for declaration in definition.decls:
            inner = self.layouts.structure(declaration.type)
            if inner is not None and isinstance(declaration.type, c_ast.TypeDecl):
                yield from self.members(inner, node, (*path, declaration.name))
            else:
                yield (*path, declaration.name), declaration

    def element(self, place: _Place, node: Any) -> Any:
        """Return the array element, or the variable, for a member. Raises InputError for members of other kinds."""
        key = (place.base, place.path)
        if key not in self.names:
            self.declared(place.base, place.path, place.definition)
        result: Any = c_ast.ID(self.names[key], node.coord)
        for subscript in place.subscripts[
            _dimensions(self.bases[place.base][0].type) if place.base in self.single else 0 :
        ]:
            result = c_ast.ArrayRef(result, subscript, node.coord)
        return result

    def declared(self, base: str, path: tuple[str, ...], member: Any) -> Any:
        """Declare an array for a member of the structures `base`, with an unused name."""
        points, single = self.is_pointer(base, member), base in self.single
        inner = _dimensions(member.type) if points else len(self.extents(member, member))
        name = "_".join((base, *path)).replace("->", "")
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.names[base, path] = name
        result = copy.deepcopy(self.bases[base][0])
        result.init, result.name = None, name
        kind, numbers = copy.deepcopy(member.type), innermost(result.type)
        innermost(kind).declname = name
        if result.type is numbers or single:
            result.type = kind
        else:
            outer = result.type
            while outer.type is not numbers:
                outer = outer.type
            outer.type = kind
        if base not in self.local:
            self.declarations[name] = result
            whole = f"*{base}" if single and isinstance(self.bases[base][0].type, c_ast.PtrDecl) else base
            self.fields[name] = Field(whole, "".join(f".{part}" for part in path).replace("->.", "->"), inner, points)
        return result

    def extents(self, member: Any, node: Any) -> tuple[int, ...]:
        """Return the extents of a member. Raises InputError if it is neither a number nor an array of numbers."""
        inner, extents = member.type, []
        while isinstance(inner, c_ast.ArrayDecl):
            extents.append(constant_size(inner.dim, member))
            inner = inner.type
        plain = (
            isinstance(inner, c_ast.TypeDecl)
            and isinstance(inner.type, c_ast.IdentifierType)
            and member.bitsize is None
        )
        if not plain or element_type(inner.type.names, self.layouts.typedefs) is None:
            raise InputError(
                f"`{to_c(member)}`: a SCoP can use members of structures that are numbers, arrays of numbers, and "
                f"structures "
                f"of these{pointer_advice(member)}",
                where(node),
            )
        return tuple(extents)

    def rewritten(self, node: Any) -> Any:
        """Return an expression or statement without members of such structures (changed in place). Raises InputError.
        """
        if (
            isinstance(node, (c_ast.ArrayRef, c_ast.StructRef, c_ast.UnaryOp))
            and (place := self.place(node)) is not None
        ):
            if not place.path or isinstance(place.definition, c_ast.Struct):
                raise InputError(
                    f"`{to_c(node)}` is not a number: a whole structure can only be copied by an assignment of its own",
                    where(node),
                )
            return self.element(place, node)
        for name, child in node.children():
            put_child(node, name, self.rewritten(child))
        return node


def _members_of_one(items: Sequence[Any], name: str, kind: Any) -> set[str] | None:
    """Return the used members of a variable that is a structure or points to one.

    None if it is subscripted or used as a whole.
    """
    pointer = isinstance(kind, c_ast.PtrDecl)
    if not isinstance(kind.type if pointer else kind, c_ast.TypeDecl):
        return None
    found: set[str] = set()
    waiting, count = list(items), 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, c_ast.ID) and node.name == name:
            return None
        if isinstance(node, c_ast.StructRef):
            root, chain = node, {node.field.name}
            while isinstance(root.name, c_ast.StructRef):
                root = root.name
                chain.add(root.field.name)
            owner = root.name
            if isinstance(owner, c_ast.UnaryOp) and owner.op == "*" and pointer and root.type == ".":
                owner = owner.expr
            elif (root.type == "->") != pointer:
                owner = None
            if isinstance(owner, c_ast.ID) and owner.name == name:
                found |= chain
                count += 1
                continue
            waiting.append(node.name)
            continue
        waiting += [child for _, child in node.children()]
    return found if count else None


def _changed_members(items: Sequence[Any], layouts: Layouts, scope: Mapping[str, Any]) -> set[str]:
    """Return the names of members that are assigned, in any structure, individually or as a whole."""
    found: set[str] = set()
    for node in (node for item in items for node in nodes(item)):
        step = isinstance(node, c_ast.UnaryOp) and node.op.lstrip("p") in ("++", "--")
        target = node.lvalue if isinstance(node, c_ast.Assignment) else node.expr if step else None
        if isinstance(target, c_ast.StructRef):
            found.add(target.field.name)
        while isinstance(target, (c_ast.ArrayRef, c_ast.UnaryOp)):
            target = target.expr if isinstance(target, c_ast.UnaryOp) else target.name
        owner = scope.get(target.name) if isinstance(target, c_ast.ID) else None
        definition = layouts.structure(owner.type) if isinstance(owner, c_ast.Decl) else None
        found |= {member.name for member in definition.decls} if definition is not None else set()
    return found


def _dimensions(node: Any) -> int:
    """Return the number of subscripts from a declared type to its elements."""
    count = 0
    while isinstance(node, (c_ast.ArrayDecl, c_ast.PtrDecl)):
        node, count = node.type, count + 1
    return count
