"""Replace complex numbers in a SCoP by pairs of real ones, as they are in memory.

    float complex z[N], c;          z[i] = z[i] * z[i] + c;
    ->  float z[N][2], c[2];        float z_re_1 = z[i][0] * z[i][0] - z[i][1] * z[i][1] + c[0];
                                    z[i][1] = z[i][0] * z[i][1] + z[i][1] * z[i][0] + c[1];
                                    z[i][0] = z_re_1;
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from generator.arithmetic import FUNCTIONS
from generator.errors import InputError
from generator.frontend_c.ctypes import declared, element_type, to_c
from generator.frontend_c.elements import put_child
from generator.frontend_c.layouts import Layout, innermost
from generator.frontend_c.places import where
from generator.frontend_c.rewriting import BODIES, Rewriting
from generator.frontend_c.structures import Flat, as_array, names_in
from generator.frontend_c.temporaries import Temporaries
from generator.program import ElementType

_PARTS = {"creal": 0, "cimag": 1}


@dataclass(frozen=True, slots=True)
class Pair:
    """A complex value: its real and imaginary part (None: exactly 0)."""

    re: Any
    im: Any


def without_complex(flat: Flat, tree: Any, typedefs: Mapping[str, Any]) -> Flat:
    """Return a SCoP whose complex numbers are pairs (its items change in place). Raises InputError."""
    used, scope, components = names_in(flat.items), dict(flat.scope), dict(flat.components)
    found = {name: kind for name in used & scope.keys() if isinstance(scope[name], c_ast.Decl)
             and (kind := complex_kind(scope[name].type, typedefs)) is not None}
    local = {node.name: kind for item in flat.items for node in _declarations(item)
             if (kind := complex_kind(node.type, typedefs)) is not None}
    if not found and not local and "_Complex_I" not in used:
        return flat
    for name, kind in found.items():
        scope[name] = as_array(scope[name], Layout(kind, 2, {}))
        components[name] = 2
    kinds = dict(found) | local
    for node in [*scope.values(), *(d for item in flat.items for d in _declarations(item))]:
        known = declared(node.type, typedefs) if isinstance(node, c_ast.Decl) else None
        if known is not None:
            kinds[node.name] = known.element
    taken = {*used, *scope, *names_in(tree.ext)}
    pass_ = _Pairs(Temporaries(kinds, dict(FUNCTIONS), taken), frozenset(found), local, typedefs)
    return Flat(tuple(pass_.block(flat.items)), scope, components)


def complex_kind(node: Any, typedefs: Mapping[str, Any]) -> ElementType | None:
    """Return the type of both parts of a declared type's elements; None if they are not complex numbers."""
    inner = innermost(node)
    if not isinstance(inner, c_ast.TypeDecl) or not isinstance(inner.type, c_ast.IdentifierType):
        return None
    names = inner.type.names
    if len(names) == 1 and isinstance(typedefs.get(names[0]), c_ast.TypeDecl):
        return complex_kind(typedefs[names[0]], typedefs)
    kind = element_type([n for n in names if n != "_Complex"], typedefs) if "_Complex" in names else None
    return kind if kind in ("float", "double") else None


@dataclass(eq=False)
class _Pairs(Rewriting):
    """Rewrites statements. `arrays`: complex variables from outside; `local`: those that the SCoP declares."""

    temporaries: Temporaries
    arrays: frozenset[str]
    local: Mapping[str, ElementType]
    typedefs: Mapping[str, Any]
    named: dict[str, tuple[str, str]] = field(default_factory=dict)

    def statement(self, node: Any) -> list[Any]:
        """Return one rewritten statement, preceded by its auxiliary statements."""
        match node:
            case c_ast.Compound():
                node.block_items = self.block(node.block_items or [])
            case c_ast.For() | c_ast.If():
                for name, child in node.children():
                    if name not in BODIES:
                        put_child(node, name, self.real(child))
                before = self.temporaries.flush()
                if before and isinstance(node, c_ast.For):
                    raise InputError(
                        "complex numbers in this loop's header: compute the bound before the loop", where(node)
                    )
                for name, child in node.children():
                    if name in BODIES:
                        put_child(node, name, self.one(child))
                return [*before, node]
            case c_ast.Decl() if node.name in self.local:
                return self.declaration(node)
            case c_ast.Assignment(rvalue=c_ast.Assignment()) if names_in([node]) & {*self.arrays, *self.local}:
                raise InputError(f"`{to_c(node)}`: write one assignment per complex number", where(node))
            case c_ast.Assignment() if (target := self.stored(node.lvalue)) is not None:
                return self.assigned(node, target)
            case _:
                node = self.real(node)
        return [*self.temporaries.flush(), node]

    def declaration(self, node: Any) -> list[Any]:
        """Return the declarations for a complex variable of the SCoP."""
        if not isinstance(node.type, c_ast.TypeDecl):
            raise InputError(f"`{to_c(node)}`: declare arrays of complex numbers before the SCoP", where(node))
        kind = c_ast.IdentifierType(self.local[node.name].split())
        found = [
            c_ast.Decl(
                name, [], [], [], [], c_ast.TypeDecl(name, [], None, kind, coord=node.coord), None, None, node.coord
            )
            for name in self.parts(node.name)
        ]
        if node.init is None:
            return found
        return [*found, *self.statement(c_ast.Assignment("=", c_ast.ID(node.name, node.coord), node.init, node.coord))]

    def parts(self, name: str) -> tuple[str, str]:
        """Return the variables that hold the parts of a complex variable of the SCoP."""
        if name not in self.named:
            re, im = (self.temporaries.fresh(f"{name}_{part}") for part in ("re", "im"))
            self.named[name] = (re, im)
            self.temporaries.kinds |= dict.fromkeys((re, im), self.local[name])
        return self.named[name]

    def stored(self, node: Any) -> Pair | None:
        """Return the parts of a complex variable or element; None for other expressions."""
        base = node
        while isinstance(base, (c_ast.ArrayRef, c_ast.UnaryOp)):
            base = base.name if isinstance(base, c_ast.ArrayRef) else base.expr
        if not isinstance(base, c_ast.ID) or isinstance(node, c_ast.UnaryOp):
            return None
        if base.name in self.local:
            return Pair(*(c_ast.ID(name, node.coord) for name in self.parts(base.name)))
        if base.name not in self.arrays:
            return None
        place = self.subscripted(node)
        return Pair(*(c_ast.ArrayRef(place, c_ast.Constant("int", k, node.coord), node.coord) for k in ("0", "1")))

    def subscripted(self, node: Any) -> Any:
        """Return an element with its subscripts rewritten."""
        if isinstance(node, c_ast.ID):
            return node
        return c_ast.ArrayRef(self.subscripted(node.name), self.real(node.subscript), node.coord)

    def assigned(self, node: Any, target: Pair) -> list[Any]:
        """Return an assignment to a complex number.

        The new real part is stored only after the imaginary part is set, which may need the old one.
        """
        base = node.lvalue
        while not isinstance(base, c_ast.ID):
            base = base.name
        kind = self.temporaries.kinds[base.name]
        changed = names_in([node.lvalue])
        if node.op in ("+=", "-=") and not changed & names_in([node.rvalue]) & {*self.arrays, *self.local}:
            value = self.value(node.rvalue)
            found = [c_ast.Assignment(node.op, part, change, node.coord)
                     for part, change in ((target.re, value.re), (target.im, value.im)) if change is not None]
            return [*self.temporaries.flush(), *found]
        value = self.value(
            node.rvalue if node.op == "=" else c_ast.BinaryOp(node.op[:-1], node.lvalue, node.rvalue, node.coord)
        )
        kept = self.kept(value.re if value.re is not None else _number("0", node), kind)
        return [*self.temporaries.flush(),
                c_ast.Assignment("=", target.im, value.im if value.im is not None else _number("0", node), node.coord),
                c_ast.Assignment("=", target.re, kept, node.coord)]

    def kept(self, node: Any, kind: ElementType) -> Any:
        """Return a variable with the value of `node` before the statement; a constant is returned unchanged."""
        if isinstance(node, c_ast.Constant):
            return node
        return self.temporaries.kept_value(self.temporaries.converted(node, kind), "re")

    def value(self, node: Any) -> Pair:
        """Return the parts of an expression. Raises InputError."""
        if (found := self.stored(node)) is not None:
            return found
        match node:
            case c_ast.ID(name="_Complex_I"):
                return Pair(None, c_ast.Constant("float", "1.0f", node.coord))
            case c_ast.UnaryOp(op="+" | "-"):
                value = self.value(node.expr)
                return value if node.op == "+" else Pair(_minus(value.re), _minus(value.im))
            case c_ast.BinaryOp(op="+" | "-" | "*" | "/"):
                return self.combined(node, self.value(node.left), self.value(node.right))
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if name.removesuffix("f") in ("conj", "cexp"):
                return self.function(name, self.value(node.args.exprs[0]), node)
            case _:
                return Pair(self.real(node), None)

    def combined(self, node: Any, one: Pair, other: Pair) -> Pair:
        """Return a sum, difference, product or quotient."""
        match node.op:
            case "+" | "-":
                return Pair(_sum(node.op, one.re, other.re), _sum(node.op, one.im, other.im))
            case "*":
                one, other = self.shared(one), self.shared(other)
                return Pair(_sum("-", _times(one.re, other.re), _times(one.im, other.im)),
                            _sum("+", _times(one.re, other.im), _times(one.im, other.re)))
            case _ if other.im is None:
                below = self.shared(other).re
                return Pair(_over(one.re, below), _over(one.im, below))
            case _:
                one, other = self.shared(one), self.shared(other)
                size = self.once(_sum("+", _times(other.re, other.re), _times(other.im, other.im)))
                return Pair(_over(_sum("+", _times(one.re, other.re), _times(one.im, other.im)), size),
                            _over(_sum("-", _times(one.im, other.re), _times(one.re, other.im)), size))

    def function(self, name: str, value: Pair, node: Any) -> Pair:
        """Return the value of a function with a complex result."""
        if name.startswith("conj"):
            return Pair(value.re, _minus(value.im))
        suffix = "f" if name.endswith("f") else ""
        angle = self.once(value.im) if value.im is not None else _number("0", node)
        cosine, sine = (_called(f"{f}{suffix}", [angle], node) for f in ("cos", "sin"))
        size = None if value.re is None else self.once(_called(f"exp{suffix}", [value.re], node))
        return Pair(cosine, sine) if size is None else Pair(_times(size, cosine), _times(size, sine))

    def shared(self, value: Pair) -> Pair:
        """Return a value that may be used several times."""
        return Pair(*(None if part is None else self.once(part) for part in (value.re, value.im)))

    def once(self, node: Any) -> Any:
        """Return a part that may be used several times."""
        return self.temporaries.shared(node, "part", ())

    def real(self, node: Any) -> Any:
        """Return an expression with a real value, or a statement (changed in place). Raises InputError."""
        if self.stored(node) is not None or (isinstance(node, c_ast.ID) and node.name == "_Complex_I"):
            raise InputError(
                f"`{to_c(node)}` is complex where a real number is needed; take creal, cimag or cabs of it", where(node)
            )
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if name.removesuffix("f") in ("creal", "cimag", "cabs"):
                value = self.value(node.args.exprs[0])
                if name.startswith("cabs"):
                    parts = [p if p is not None else _number("0", node) for p in (value.re, value.im)]
                    return _called("hypotf" if name.endswith("f") else "hypot", parts, node)
                part = (value.re, value.im)[_PARTS[name.removesuffix("f")]]
                return part if part is not None else _number("0", node)
            case c_ast.BinaryOp(op="&&" | "||") | c_ast.TernaryOp():
                before = len(self.temporaries.waiting)
                self.children(node)
                if len(self.temporaries.waiting) > before:
                    raise InputError(
                        f"`{to_c(node)}` computes with complex numbers under a condition; use `if`", where(node)
                    )
                return node
            case c_ast.Cast() if complex_kind(node.to_type.type, self.typedefs) is not None:
                raise InputError(f"`{to_c(node)}`: casts to complex types are not supported in a SCoP", where(node))
            case _:
                self.children(node)
                return node

    def children(self, node: Any) -> None:
        """Rewrite the operands of an expression."""
        for name, child in node.children():
            put_child(node, name, self.real(child))


def _declarations(node: Any) -> list[Any]:
    found = [node] if isinstance(node, c_ast.Decl) else []
    return found + [declaration for _, child in node.children() for declaration in _declarations(child)]


def _number(text: str, node: Any) -> Any:
    return c_ast.Constant("int", text, node.coord)


def _called(name: str, arguments: list[Any], node: Any) -> Any:
    return c_ast.FuncCall(c_ast.ID(name, node.coord), c_ast.ExprList(arguments, node.coord), node.coord)


def _minus(node: Any) -> Any:
    return None if node is None else c_ast.UnaryOp("-", node, node.coord)


def _sum(op: str, one: Any, other: Any) -> Any:
    if one is None or other is None:
        return one if other is None else other if op == "+" else _minus(other)
    return c_ast.BinaryOp(op, one, other, one.coord)


def _times(one: Any, other: Any) -> Any:
    return None if one is None or other is None else c_ast.BinaryOp("*", one, other, one.coord)


def _over(one: Any, other: Any) -> Any:
    return None if one is None else c_ast.BinaryOp("/", one, other, one.coord)
