"""Syntax: find the SCoP in a C file and the variables it mentions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_parser

from generator.errors import InputError, Location
from generator.frontend_c.complex_numbers import without_complex
from generator.frontend_c.counting import count_whiles
from generator.frontend_c.ctypes import (
    INTEGER_TYPES,
    Declared,
    declared,
    integers_of,
    pointer_advice,
    resolve_casts,
    to_c,
)
from generator.frontend_c.elements import nodes, write_subscripts
from generator.frontend_c.exits import keep_iterators
from generator.frontend_c.fields import members_apart
from generator.frontend_c.indices import write_indices
from generator.frontend_c.inlining import inline_calls
from generator.frontend_c.jumps import without_labels
from generator.frontend_c.layouts import Layouts, structures_in
from generator.frontend_c.liveness import dead_locals
from generator.frontend_c.marks import Marks
from generator.frontend_c.places import from_c, where
from generator.frontend_c.preprocess import Preprocessed, find_compiler, preprocess
from generator.frontend_c.refused import unreadable
from generator.frontend_c.scopes import separate_names
from generator.frontend_c.source import Compilation, ScopSource, Variable
from generator.frontend_c.structures import names_in, without_structures
from generator.frontend_c.swaps import without_swaps
from generator.frontend_c.truths import write_truths
from generator.frontend_c.unshared import dead_allocations, dead_statics

MAX_DEPTH = 150  # printing an expression takes several Python frames per level


@dataclass(frozen=True, slots=True)
class _Found:
    """A SCoP in the syntax tree; `scope` maps the names visible at its entry to their declarations."""

    function: Any
    first: Any
    last: Any
    items: tuple[Any, ...]
    scope: dict[str, Any]


def read_scop(file: Path, compilation: Compilation, function: str | None = None,
              scop: int | None = None, marks: Marks | None = None) -> ScopSource:
    """Return the SCoP of `file`.

    `function` and `scop` (counted from 1) choose among several; `marks` replace missing pragmas.

    Raises:
        InputError: no such file, a preprocessor or syntax error, no SCoP, or several and no choice.
    """
    expanded = preprocess(file, compilation, marks)
    try:
        tree = parse_text(expanded.text, file, compilation)
        found = _choose(list(_scops(tree)), file, function, scop)
    except RecursionError:
        raise InputError(f"{file}: an expression is nested too deeply; split it into several statements") from None
    for item in found.items:
        _refuse_deep(item)
    typedefs = {d.name: d.type for d in _typedefs(tree)}
    return replace(_source(file, compilation, expanded, tree, typedefs, found), marks=marks)


def _refuse_deep(item: Any) -> None:
    """Raise InputError for syntax nested too deeply for recursive functions."""
    level, depth = [item], 0
    while level:
        if depth > MAX_DEPTH:
            raise InputError(f"this is nested too deeply (more than {MAX_DEPTH} operations or blocks in each other); "
                             "split it into several statements", where(level[0]))
        level, depth = [child for node in level for _, child in node.children()], depth + 1


def parse_text(text: str, file: Path, compilation: Compilation) -> Any:
    """Return the syntax tree of preprocessed text. Raises InputError."""
    try:
        return c_parser.CParser().parse(text)
    except c_parser.ParseError as error:
        place, _, message = str(error).partition(": ")
        name, _, line = place.partition(":")
        location = Location(from_c(name), int(line.split(":")[0])) if line.split(":")[0].isdigit() else None
        raise unreadable(file, compilation, find_compiler(), message or str(error), location) from None


def _typedefs(tree: Any) -> Iterator[Any]:
    if isinstance(tree, c_ast.Typedef):
        yield tree
    for _, child in tree.children():
        if isinstance(child, (c_ast.Typedef, c_ast.FuncDef, c_ast.Compound)):
            yield from _typedefs(child)


def _scops(tree: Any) -> Iterator[_Found]:
    scope: dict[str, Any] = {}
    for node in tree.ext:
        _declare(node, scope)
        if isinstance(node, c_ast.FuncDef):
            inner = dict(scope)
            for parameter in _parameters(node):
                inner[parameter.name] = parameter
            yield from _in_block(node, node.body, inner)


def _parameters(function: Any) -> list[Any]:
    listed = function.decl.type.args
    return [p for p in listed.params if isinstance(p, c_ast.Decl) and p.name] if listed else []


def _declare(node: Any, scope: dict[str, Any]) -> None:
    """Add the declarations of `node`: variables, enumerators, and the iterators of a loop around what follows."""
    if isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList):
        for declaration in node.init.decls:
            _declare(declaration, scope)
    if not isinstance(node, (c_ast.Decl, c_ast.Typedef)):
        return
    if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl):
        scope[node.name] = node
    kind = node.type
    while isinstance(kind, (c_ast.TypeDecl, c_ast.PtrDecl, c_ast.ArrayDecl)):
        kind = kind.type
    for value in kind.values.enumerators if isinstance(kind, c_ast.Enum) and kind.values else []:
        scope[value.name] = value


def _in_block(function: Any, block: Any, scope: dict[str, Any]) -> Iterator[_Found]:
    """Yield the SCoPs in a compound statement and its inner blocks, in text order."""
    start: int | None = None
    items = block.block_items or []
    for index, node in enumerate(items):
        word = _word(node)
        if word == "scop":
            if start is not None:
                raise InputError("`#pragma scop` inside a SCoP: put `#pragma endscop` before it", where(node))
            start = index
        elif word == "endscop":
            if start is None:
                raise InputError("`#pragma endscop` without a `#pragma scop` before it in this block", where(node))
            yield _Found(function, items[start], node, tuple(items[start + 1:index]), dict(scope))
            start = None
        elif start is None:
            _declare(node, scope)
            for child, inner in _blocks(node, scope):
                yield from _in_block(function, child, inner)
        elif nested := next(filter(_word, _pragmas(node)), None):
            raise InputError(f"`#pragma {_word(nested)}` in a block inside the SCoP of line {items[start].coord.line}: "
                             "both pragmas must stand in the same block", where(nested))
    if start is not None:
        raise InputError("`#pragma scop` without a `#pragma endscop` in the same block", where(items[start]))


def _word(node: Any) -> str:
    word = node.string.strip() if isinstance(node, c_ast.Pragma) and node.string else ""
    return word if word in ("scop", "endscop") else ""


def _pragmas(node: Any) -> Iterator[Any]:
    if isinstance(node, c_ast.Pragma):
        yield node
    for _, child in node.children():
        yield from _pragmas(child)


def _blocks(node: Any, scope: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the outermost blocks in `node`, each with the names visible in it."""
    if isinstance(node, c_ast.Compound):
        yield node, dict(scope)
        return
    inner = dict(scope)
    _declare(node, inner)
    for _, child in node.children():
        yield from _blocks(child, inner)


def _choose(found: list[_Found], file: Path, function: str | None, number: int | None) -> _Found:
    if not found:
        raise InputError(f"{file}: no SCoP found; put `#pragma scop` and `#pragma endscop` around the loops to tune")
    chosen = [f for f in found if function in (None, f.function.decl.name)]
    if not chosen:
        names = ", ".join(sorted({f.function.decl.name for f in found}))
        raise InputError(f"{file}: no SCoP in a function called {function!r}; there are SCoPs in: {names}")
    listing = "; ".join(f"{i}: {f.function.decl.name}, line {f.first.coord.line}" for i, f in enumerate(chosen, 1))
    if number is None and len(chosen) > 1:
        raise InputError(f"{file}: {len(chosen)} SCoPs ({listing}); choose one with --scop N")
    if number is not None and not 1 <= number <= len(chosen):
        raise InputError(f"{file}: there is no SCoP {number}; there are {len(chosen)} ({listing})")
    return chosen[(number or 1) - 1]


class _Names(c_ast.NodeVisitor):  # type: ignore[misc]  # pycparser has no types
    """Names used, written and declared in a SCoP, and its loop iterators with their declarations."""

    def __init__(self) -> None:
        self.used: dict[str, Any] = {}
        self.written: set[str] = set()
        self.declared: dict[str, Any] = {}
        self.iterators: dict[str, Any] = {}
        self.dereferenced: set[str] = set()

    def visit_ID(self, node: Any) -> None:
        self.used.setdefault(node.name, node)

    def visit_FuncCall(self, node: Any) -> None:
        if node.args:
            self.visit(node.args)

    def visit_StructRef(self, node: Any) -> None:
        raise InputError(f"`{to_c(node)}`: members of structures are not supported in a SCoP; use scalars and arrays",
                         where(node))

    def visit_For(self, node: Any) -> None:
        init = node.init
        if isinstance(init, c_ast.Assignment) and isinstance(init.lvalue, c_ast.ID):
            self.iterators.setdefault(init.lvalue.name, None)
        elif isinstance(init, c_ast.DeclList):
            self.iterators.update((d.name, d) for d in init.decls)
        self.generic_visit(node)

    def visit_Decl(self, node: Any) -> None:
        if {"static", "extern"} & set(node.storage):
            raise InputError(f"`{to_c(node)}`: declare it before the SCoP", where(node))
        self.declared[node.name] = node
        self.generic_visit(node)

    def visit_Assignment(self, node: Any) -> None:
        self.written.add(written_name(node.lvalue))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: Any) -> None:
        if node.op in ("++", "--", "p++", "p--"):
            self.written.add(written_name(node.expr))
        if node.op == "*" and isinstance(node.expr, c_ast.ID):
            self.dereferenced.add(node.expr.name)
        self.generic_visit(node)


def written_name(node: Any) -> str:
    """Return the name of the variable that an assignment to the lvalue `node` changes; "" if it names none."""
    while not isinstance(node, c_ast.ID):
        if isinstance(node, (c_ast.ArrayRef, c_ast.StructRef)):
            node = node.name
        elif isinstance(node, (c_ast.UnaryOp, c_ast.Cast)):
            node = node.expr
        else:
            return ""
    return str(node.name)


def _source(file: Path, compilation: Compilation, expanded: Preprocessed, tree: Any, typedefs: dict[str, Any],
            found: _Found) -> ScopSource:
    targets = {node.name for node in nodes(found.function) if isinstance(node, c_ast.Goto)}
    found = replace(found, items=tuple(without_labels(item, targets) for item in found.items))
    separate_names(found.items, found.scope, typedefs)
    for item in found.items:
        resolve_casts(item, typedefs)
    layouts, taken = Layouts(dict(structures_in(tree)), typedefs), {*found.scope, *names_in(tree.ext)}
    dead = (dead_locals(found.function, found.items, found.scope, typedefs)
            | dead_statics(tree, expanded.hidden, found.items, found.scope, typedefs)
            | dead_allocations(tree, found.function, found.items, found.scope))
    apart = members_apart(_with_counters(found, typedefs, dead, taken), layouts, found.scope, taken)
    flat = without_complex(without_structures(apart.items, layouts, apart.scope, taken), tree, typedefs)
    items = inline_calls(write_truths(flat.items, flat.scope, typedefs), tree, found.function, flat.scope, typedefs)
    for item in items:
        _refuse_deep(item)
    items = write_indices(items, flat.scope, dead, typedefs)
    pointers = _subscriptable(flat.scope, typedefs)
    unswapped = without_swaps(items, pointers)
    items = write_subscripts(unswapped.items, pointers)
    names = _Names()
    for item in items:
        names.visit(item)
    arguments = _parameters(found.function)
    own = {p.name for p in arguments}
    local = {n: d for n, d in names.declared.items() if n not in names.iterators}
    variables = [_variable(name, flat.scope[name], typedefs, names, own) for name, node in sorted(names.used.items())
                 if name not in names.iterators and name not in local and _known(name, node, flat.scope)]
    variables = [replace(v, unread_after=v.name in dead, components=flat.components.get(v.name, 0),
                         field=apart.fields.get(v.name)) for v in variables]
    parameters = tuple(v.name for v in variables if not v.extents and not v.written and v.type in INTEGER_TYPES)
    return ScopSource(
        str(file), found.function.decl.name, found.first.coord.line, found.last.coord.line, tuple(variables),
        parameters, tuple(p.name for p in arguments), tuple(to_c(p) for p in arguments),
        any(isinstance(n, c_ast.FuncDef) and n.decl.name == "main" for n in tree.ext), expanded.includes,
        compilation, items, tuple(_variable(n, d, typedefs, names, set()) for n, d in sorted(local.items())),
        tuple(_iterator(name, declaration, typedefs, names, found.scope)
              for name, declaration in sorted(names.iterators.items())), expanded.overridden,
        swapped=unswapped.pointers, declared=tuple(n for n in flat.scope if n in {v.name for v in variables}))


def _with_counters(found: _Found, typedefs: dict[str, Any], dead: Collection[str], taken: set[str]) -> tuple[Any, ...]:
    """Return a SCoP's statements with counting loops as `for` loops, and iterators used in their loops only."""
    inside = {node.name: node for item in found.items for node in nodes(item) if isinstance(node, c_ast.Decl)
              and node.name}
    integers = integers_of({**found.scope, **inside}, typedefs)
    return keep_iterators(count_whiles(found.items, integers), found.scope, integers, dead, taken)


def _subscriptable(scope: dict[str, Any], typedefs: dict[str, Any]) -> set[str]:
    """Return the names of the arrays and pointers of a scope."""
    kinds = {name: declared(node.type, typedefs) for name, node in scope.items() if isinstance(node, c_ast.Decl)}
    return {name for name, kind in kinds.items() if kind is not None and kind.extents}


def _known(name: str, node: Any, scope: dict[str, Any]) -> bool:
    if name not in scope:
        raise InputError(f"`{name}` is not declared (or it is a function or type): a SCoP may use variables, "
                         "parameters and loop iterators", where(node))
    return True


def _iterator(name: str, declaration: Any, typedefs: dict[str, Any], names: _Names, scope: dict[str, Any]) -> Variable:
    if declaration is None:
        declaration = names.declared.get(name) or (_known(name, names.used[name], scope) and scope[name])
    variable = _variable(name, declaration, typedefs, names, set())
    if variable.extents or variable.type not in INTEGER_TYPES:
        raise InputError(f"`{to_c(declaration)}` is used as a loop iterator: use an integer variable",
                         where(names.used.get(name, declaration)))
    return variable


def _variable(name: str, node: Any, typedefs: dict[str, Any], names: _Names, arguments: set[str]) -> Variable:
    if isinstance(node, c_ast.Enumerator):
        return Variable(name, "int", (), False, False)
    kind: Declared | None = declared(node.type, typedefs)
    if kind is None:
        raise InputError(f"`{to_c(node)}` is not supported in a SCoP: use scalars and arrays of integers, float or "
                         "double (arrays as a[N][M], pointers to such arrays, or one-dimensional pointers)"
                         + pointer_advice(node), where(node))
    indirect = kind.pointer_to_array and name in names.dereferenced
    extents = kind.extents[1:] if indirect else kind.extents
    return Variable(name, kind.element, extents, name in names.written, name in arguments, indirect)
