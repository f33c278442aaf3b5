"""From syntax to a Program: statements with exact domains and accesses, and the original schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast, c_parser

from generator.errors import InputError, Location
from generator.expr import Binary, Cast, Expr, Int, Load, Select, evaluate, map_children
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.expressions import Names, read_access, read_expression, without_casts
from generator.frontend_c.loops import Header, bad_step, read_header
from generator.frontend_c.parse import where
from generator.frontend_c.source import ScopSource, Variable
from generator.polyhedral.affine import (
    Iteration,
    NotAffine,
    domain_text,
    holds,
    loop_domain,
    relation,
    subtract,
    top,
)
from generator.polyhedral.original import (
    Block,
    Loop,
    Once,
    Order,
    Usage,
    access_range,
    array_usage,
    original_schedule,
)
from generator.program import Access, AccessKind, Array, Assignment, ElementType, Program, Statement


def extract(source: ScopSource, parameters: Mapping[str, int],
            extents: Mapping[str, tuple[int, ...]]) -> Program:
    """The Program of a SCoP whose parameters and array extents are known.

    Raises:
        InputError: something that is not static control (file:line, the text, the reason), or a subscript that
            leaves its array.
    """
    builder = _build(source, parameters)
    usage = builder.usage()
    arrays = []
    for variable in (*source.variables, *source.locals):
        if variable.name in usage:
            shape = extents.get(variable.name) or builder.local_extents(variable, source.file)
            _check_range(variable, shape, usage[variable.name], builder, source.file)
            arrays.append(Array(variable.name, variable.type, shape, usage[variable.name].role))
    poison = tuple(box for name in sorted(usage) for box in usage[name].poison)
    return Program(source.function, source.file, tuple(sorted(arrays, key=lambda a: a.name)),
                   tuple(builder.statements), builder.schedule, tuple(sorted(parameters.items())), poison)


def needed_extents(source: ScopSource, parameters: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """For arrays behind a pointer of unknown size: the smallest extents that hold every access.

    Raises:
        InputError: as `extract`.
    """
    usage = _build(source, parameters).usage()
    return {v.name: tuple(h + 1 for h in usage[v.name].high)
            for v in source.variables if None in v.extents and v.name in usage}


def _build(source: ScopSource, parameters: Mapping[str, int]) -> _Builder:
    iterators = {v.name: v.type for v in source.iterators}
    variables = {v.name: v for v in (*source.variables, *source.locals)}
    builder = _Builder(parameters, variables, iterators, frozenset(v.name for v in source.locals),
                       source.first_line)
    order = builder.block(source.items, top())
    if order is None:
        place = Location(source.file, source.first_line)
        raise InputError("the SCoP holds no statement that is ever executed", place)
    builder.schedule = original_schedule(order, {s.name: s for s in builder.statements})
    return builder


def _check_range(variable: Variable, shape: Sequence[int], usage: Usage, builder: _Builder, file: str) -> None:
    """Raise InputError at the first statement whose subscript leaves the array."""
    inside = all(low >= 0 for low in usage.low) and all(h < e for h, e in zip(usage.high, shape, strict=True))
    for statement in () if inside else builder.statements:
        for access in statement.accesses:
            if access.array != variable.name or (touched := access_range(access)) is None:
                continue
            for dim, (low, high, extent) in enumerate(zip(*touched, shape, strict=True)):
                if low < 0 or high >= extent:
                    raise InputError(f"subscript {dim + 1} of `{variable.name}` in `{statement.text}` goes from {low} "
                                     f"to {high} but the array has {extent} elements in this dimension",
                                     Location(file, statement.line))


@dataclass
class _Builder:
    """Collects statements while walking the syntax tree; the walk returns the order of execution."""

    parameters: Mapping[str, int]
    variables: Mapping[str, Variable]
    iterators: Mapping[str, ElementType]
    locals: frozenset[str]
    first_line: int
    statements: list[Statement] = field(default_factory=list)
    schedule: str = ""

    def usage(self) -> dict[str, Usage]:
        """Roles and ranges of all arrays."""
        return array_usage(self.statements, self.schedule, self.locals)

    def local_extents(self, variable: Variable, file: str) -> tuple[int, ...]:
        """Extents of an array declared inside the SCoP, which nobody could capture."""
        return tuple(self.extent(variable, text, file) for text in variable.extents)

    def extent(self, variable: Variable, text: str | None, file: str) -> int:
        """The value of one extent. Raises InputError."""
        try:
            tree = c_parser.CParser().parse(f"int x = {text};").ext[0].init if text else None
            value = evaluate(without_casts(read_expression(tree, self.names(top()))), {}) if tree else None
        except (c_parser.ParseError, TypeError, ZeroDivisionError, InputError):
            value = None
        if value is None:
            raise InputError(f"the size `{text or '?'}` of `{variable.name}`, which is declared inside the SCoP, is "
                             "not a constant; declare the array before the SCoP", Location(file, self.first_line))
        return value

    def names(self, at: Iteration) -> Names:
        """What names mean inside the loops of `at`."""
        return Names(at.iterators, self.iterators, self.parameters, self.variables)

    def block(self, items: Sequence[Any], at: Iteration) -> Order | None:
        """Statements in text order."""
        parts = [part for item in items if (part := self.node(item, at)) is not None]
        return None if not parts else parts[0] if len(parts) == 1 else Block(tuple(parts))

    def node(self, node: Any, at: Iteration) -> Order | None:
        """One statement, loop, branch or block. Raises InputError for anything else."""
        match node:
            case c_ast.Compound():
                return self.block(node.block_items or [], at)
            case c_ast.For():
                return self.loop(node, at)
            case c_ast.If():
                return self.branch(node, at)
            case c_ast.Assignment(rvalue=c_ast.Assignment()):  # a = b = 1
                last = c_ast.Assignment(node.op, node.lvalue, node.rvalue.lvalue, node.coord)
                return self.block((node.rvalue, last), at)
            case c_ast.Assignment():
                return self.assign(node, node.lvalue, node.op[:-1], node.rvalue, at)
            case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
                return self.assign(node, node.expr, node.op[-1], c_ast.Constant("int", "1", node.coord), at)
            case c_ast.Decl() if node.name in self.variables:
                if node.init is None:
                    return None
                return self.assign(node, c_ast.ID(node.name, node.coord), "", node.init, at)
            case None | c_ast.EmptyStatement() | c_ast.Pragma():
                return None
            case c_ast.FuncCall():
                raise InputError(f"call of `{to_c(node.name)}` as a statement: its effects are unknown; move it out "
                                 "of the SCoP or write its body inline", where(node))
            case _:
                raise InputError(f"`{to_c(node).split(' {')[0][:60]}` is not static control: a SCoP holds `for` "
                                 "loops, `if`/`else` and assignments", where(node))

    def loop(self, node: Any, at: Iteration) -> Order | None:
        """A `for` loop."""
        header = read_header(node)
        inner = at.enter(header.iterator)
        if header.iterator in at.iterators:
            raise InputError(f"the iterator `{header.iterator}` is already used by an outer loop", where(node))
        start = read_expression(header.start, self.names(at))
        test = read_expression(header.test, self.names(inner))
        step = self.step(node, header)
        try:
            inside = loop_domain(inner, start, test, step)
        except NotAffine as error:
            text = f"for ({header.iterator} = {to_c(header.start)}; {to_c(header.test)}; ...)"
            raise InputError(f"the bounds of `{text}` are not affine: {error}", where(node)) from None
        body = self.node(node.stmt, inside) if not inside.domain.is_empty() else None
        return Loop(len(at.iterators), step, body) if body else None

    def step(self, node: Any, header: Header) -> int:
        """How far a loop's iterator advances; never 0."""
        size = without_casts(read_expression(header.step, self.names(top())))
        try:
            step = header.sign * evaluate(size, {})
        except (TypeError, ZeroDivisionError):
            raise bad_step(node, header.iterator) from None
        if step == 0:
            raise bad_step(node, header.iterator)
        return step

    def branch(self, node: Any, at: Iteration) -> Order | None:
        """An `if` with an affine condition."""
        test = read_expression(node.cond, self.names(at))
        try:
            region = holds(test, at)
        except NotAffine as error:
            raise InputError(f"the condition `{to_c(node.cond)}` is not affine: {error}", where(node)) from None
        parts = []
        for child, inside in ((node.iftrue, at.restrict(region)), (node.iffalse, subtract(at, region))):
            part = self.node(child, inside) if child is not None and not inside.domain.is_empty() else None
            parts += [part] if part else []
        return None if not parts else parts[0] if len(parts) == 1 else Block(tuple(parts))

    def assign(self, node: Any, lvalue: Any, op: str, rvalue: Any, at: Iteration) -> Order:
        """One statement `lvalue op= rvalue`."""
        if isinstance(lvalue, c_ast.ID) and lvalue.name in self.iterators:
            raise InputError(f"the iterator `{lvalue.name}` is changed inside its loop", where(node))
        accesses = _Accesses(f"S{len(self.statements)}", at, node, self.variables)
        value = accesses.number(read_expression(rvalue, self.names(at)))
        target = read_access(lvalue, self.names(at))
        if op:
            accesses.add(target, "read")
        target = accesses.add(target, "write")
        name = accesses.statement
        self.statements.append(Statement(name, at.iterators, domain_text(at, name), Assignment(target, op, value),
                                         tuple(accesses.found), to_c(node) + ";", int(node.coord.line)))
        return Once(name)


class _Accesses:
    """Numbers the loads of one statement and records their access relations."""

    def __init__(self, statement: str, at: Iteration, node: Any, variables: Mapping[str, Variable]) -> None:
        self.statement, self.at, self.node, self.variables = statement, at, node, variables
        self.found: list[Access] = []

    def add(self, load: Load, kind: AccessKind, at: Iteration | None = None) -> Load:
        """Record one access in the iterations `at`. Raises InputError when a subscript is not affine."""
        try:
            text = relation(at or self.at, self.statement, load.array, load.index)
        except NotAffine as error:
            raise InputError(f"a subscript of `{load.array}` in `{to_c(self.node)}` is not affine: {error}",
                             where(self.node)) from None
        self.found.append(Access(load.array, text, kind))
        return Load(load.array, tuple(without_casts(i) for i in load.index), len(self.found) - 1)

    def number(self, expr: Expr, at: Iteration | None = None) -> Expr:
        """`expr` with every load recorded as a read, in the iterations `at` in which it is evaluated."""
        at = at or self.at
        match expr:
            case Load(array) if at.domain.is_empty():  # never evaluated; only its type matters
                return Cast(self.variables[array].type, Int(0))
            case Load():
                return self.add(expr, "read", at)
            case Select(test, then, otherwise):
                yes, no = _cases(test, at)
                return Select(self.number(test, at), self.number(then, yes), self.number(otherwise, no))
            case Binary("&&" | "||" as op, left, right):
                yes, no = _cases(left, at)
                return Binary(op, self.number(left, at), self.number(right, yes if op == "&&" else no))
            case _:
                return map_children(expr, lambda child: self.number(child, at))


def _cases(test: Expr, at: Iteration) -> tuple[Iteration, Iteration]:
    """Where `test` holds and where it does not; everywhere for both when that depends on data."""
    try:
        region = holds(test, at)
    except NotAffine:
        return at, at
    return at.restrict(region), subtract(at, region)
