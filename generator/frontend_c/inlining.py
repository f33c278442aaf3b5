"""Inline calls of the file's own pure functions in a SCoP as expressions.

    static float clamp(float x) { if (x > 1.0f) return 1.0f; return x; }
    y[i] = clamp(2.0f * x[i] + b);  ->  float clamp_x_1 = 2.0f * x[i] + b;
                                        y[i] = clamp_x_1 > 1.0f ? 1.0f : clamp_x_1;

The return value of a function is one expression (`bodies.py`), with `?:` for an early `return`. Values that it uses
several times are local variables before the statement, written in every iteration, so nothing depends on older values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pycparser import c_ast

from generator.arithmetic import FUNCTIONS
from generator.errors import InputError
from generator.frontend_c.bodies import Bodies, Frame
from generator.frontend_c.ctypes import declared
from generator.frontend_c.functions import used_names
from generator.frontend_c.places import where
from generator.frontend_c.rewriting import Rewriting
from generator.frontend_c.temporaries import Temporaries
from generator.program import ElementType

_OUTPUT = frozenset(["printf", "fprintf", "puts", "putchar", "fputs", "fputc", "putc", "fflush", "perror", "fwrite"])


def inline_calls(items: Sequence[Any], tree: Any, function: Any, scope: Mapping[str, Any],
                 typedefs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return `items`, a SCoP's statements, without calls of functions defined in `tree` (blocks change in place).

    `function`: contains the SCoP. `scope`: maps the names visible at its entry to their declarations.

    Raises:
        InputError: a called function cannot be inlined (file:line and why), or there is output inside the SCoP.
    """
    defined = {str(node.decl.name): node for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    if not defined.keys() & _called(items):
        return _without_output(tuple(items))
    variables = {**scope, **{node.name: node for item in items for node in _declarations(item)}}
    kinds: dict[str, ElementType] = {}
    for name, node in variables.items():
        kind = None if isinstance(node, c_ast.Enumerator) else declared(node.type, typedefs)
        if isinstance(node, c_ast.Enumerator):
            kinds[name] = "int"
        elif kind is not None:
            kinds[name] = kind.element
    taken = {*variables, *used_names([tree]), *(node.name for node in _declarations(tree) if node.name), *defined}
    temporaries = Temporaries(kinds, dict(FUNCTIONS), taken)
    common = frozenset(name for name, node in _file_level(tree) if variables.get(name) is node)
    bodies = Bodies(temporaries, defined, typedefs, variables, common, (function.decl.name,))
    return _without_output(tuple(_Statements(bodies).block(items)))


class _Statements(Rewriting):
    """Replaces calls in statements, and inserts the declarations that they need."""

    def __init__(self, bodies: Bodies) -> None:
        self.bodies = bodies

    def statement(self, node: Any) -> list[Any]:
        """Return one statement, preceded by its declarations."""
        match node:
            case c_ast.Compound():
                node.block_items = self.block(node.block_items or [])
            case c_ast.For():
                self.header(node)
                node.stmt = self.one(node.stmt)
            case c_ast.If():
                node.cond = self.value(node.cond)
                before = self.flush()
                node.iftrue = self.one(node.iftrue)
                node.iffalse = self.one(node.iffalse) if node.iffalse is not None else None
                return [*before, node]
            case c_ast.Decl() if node.init is not None:
                node.init = self.value(node.init)
            case c_ast.Assignment():
                self.assignment(node)
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if name in self.bodies.defined:
                raise InputError(f"call of `{name}` as a statement: only functions whose result is used are inlined, "
                                 "and they may change nothing else; write its body here", where(node))
            case _:
                pass
        return [*self.flush(), node]

    def assignment(self, node: Any) -> None:
        """Rewrite both sides of an assignment, whose right side may be another assignment."""
        node.lvalue = self.value(node.lvalue)
        if isinstance(node.rvalue, c_ast.Assignment):
            self.assignment(node.rvalue)
        else:
            node.rvalue = self.value(node.rvalue)

    def header(self, node: Any) -> None:
        """Rewrite a loop's header, before which no variable can be inserted."""
        for part in [*(node.init.decls if isinstance(node.init, c_ast.DeclList) else [node.init]), node.next]:
            if isinstance(part, c_ast.Assignment):
                part.rvalue = self.value(part.rvalue)
            elif isinstance(part, c_ast.Decl) and part.init is not None:
                part.init = self.value(part.init)
        if node.cond is not None:
            node.cond = self.value(node.cond)
        if self.flush():
            raise InputError("the function that this loop's header calls is not simple enough to become part of it; "
                             "compute the bound before the loop", where(node))

    def value(self, node: Any) -> Any:
        """Return an expression without calls of the file's functions."""
        return self.bodies.value(node, Frame())

    def flush(self) -> list[Any]:
        """Return the declarations for the current statement."""
        return self.bodies.temporaries.flush()


def _without_output(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `items` if they print nothing. Raises InputError."""
    for item in items:
        for node in _calls(item):
            if isinstance(node.name, c_ast.ID) and node.name.name in _OUTPUT:
                raise InputError(f"`{node.name.name}` inside the SCoP: tuned code runs on a device and prints nothing; "
                                 "move the output after `#pragma endscop` (or before `#pragma scop`), or end the SCoP "
                                 "before it", where(node))
    return items


def _called(items: Sequence[Any]) -> set[str]:
    return {node.name.name for item in items for node in _calls(item) if isinstance(node.name, c_ast.ID)}


def _calls(node: Any) -> Iterator[Any]:
    if isinstance(node, c_ast.FuncCall):
        yield node
    for _, child in node.children():
        yield from _calls(child)


def _declarations(node: Any) -> Iterator[Any]:
    if isinstance(node, c_ast.Decl):
        yield node
    for _, child in node.children():
        yield from _declarations(child)


def _file_level(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield the declarations outside of functions."""
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and node.name:
            yield node.name, node
        kind = getattr(node, "type", None)
        while isinstance(kind, (c_ast.TypeDecl, c_ast.PtrDecl, c_ast.ArrayDecl)):
            kind = kind.type
        if isinstance(kind, c_ast.Enum) and kind.values:
            yield from ((value.name, value) for value in kind.values.enumerators)
