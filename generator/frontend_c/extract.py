"""From syntax to a Program: statements with exact domains and accesses, and the original schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from pycparser import c_ast, c_parser

from generator.arithmetic import integer_limits
from generator.errors import InputError, Location
from generator.expr import Expr, Load, evaluate, loads_of
from generator.frontend_c.accesses import Accesses
from generator.frontend_c.conditions import StatementContext, always, both, changes_condition, divide, negation
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.expressions import Names, read_access, read_expression, without_casts
from generator.frontend_c.folds import Surroundings, inner_loop_outside, names_in, read_folds
from generator.frontend_c.fresh_values import settled, zero_values
from generator.frontend_c.jumps import control_advice, jump_advice, stopping, stops, without_continue
from generator.frontend_c.loops import Header, bad_step, read_header
from generator.frontend_c.places import where
from generator.frontend_c.ranges import check_range
from generator.frontend_c.source import ScopSource, Variable
from generator.polyhedral.dependences.delinearize import delinearized
from generator.polyhedral.dependences.original import (
    Block,
    Loop,
    Once,
    Order,
    Usage,
    array_usage,
    original_schedule,
)
from generator.polyhedral.kit.affine import (
    DependsOnData,
    Iteration,
    NotAffine,
    Undefined,
    bounds,
    domain_text,
    holds,
    loop_domain,
    subtract,
    top,
)
from generator.polyhedral.kit.points import points
from generator.program import Array, Assignment, ElementType, Program, Statement


class NeverRuns(InputError):
    """A SCoP without a statement that runs, for the given sizes."""


def extract(source: ScopSource, parameters: Mapping[str, int], extents: Mapping[str, tuple[int, ...]],
            left_out: Collection[int] = ()) -> Program:
    """Return the Program of a SCoP whose parameters and array extents are known, without the statements `left_out`.

    Raises:
        InputError: something that is not static control (file:line, the text, the reason), or a subscript that leaves
            its array.
    """
    shapes = {v.name: extents[v.name] for v in source.variables if v.name in extents}
    builder = build_model(source, parameters, shapes, left_out)
    rows = builder.find_rows()
    usage = builder.usage()
    arrays = []
    for variable in builder.variables.values():
        if variable.name in usage:
            declared = tuple(extent for extent in builder.shape(variable.name) if extent is not None)
            shape = rows.get(variable.name, declared)
            check_range(variable.name, shape, usage[variable.name], builder.statements, source.file)
            arrays.append(Array(variable.name, variable.type, shape, usage[variable.name].role,
                                declared=declared if variable.name in rows else ()))
    poison = tuple(box for name in sorted(usage) for box in usage[name].poison)
    found = tuple(sorted(_live_results(arrays, source), key=lambda a: a.name))
    passed = {array.name for array in found if array.role != "temp"}
    arguments = tuple(name for name in source.declared if name in passed)
    return Program(source.function, source.file, found, tuple(builder.statements), builder.schedule,
                   tuple(sorted(parameters.items())), poison, arguments=arguments)


def _live_results(arrays: list[Array], source: ScopSource) -> list[Array]:
    """Return `arrays` with results that are not read after the SCoP as temporary; unchanged if no result would be left.
    """
    unread = {v.name for v in source.variables if v.unread_after}
    found = [replace(a, role="temp") if a.role == "out" and a.name in unread else a for a in arrays]
    return found if any(a.role in ("out", "inout") for a in found) else arrays


def build_model(source: ScopSource, parameters: Mapping[str, int],
                shapes: Mapping[str, tuple[int | None, ...]], left_out: Collection[int] = ()) -> Builder:
    """Return the statements of a SCoP and their order. `shapes`: the known extents. Raises InputError as `extract`."""
    iterators = {v.name: v.type for v in source.iterators}
    variables = {v.name: v for v in (*source.variables, *source.locals)}
    builder = Builder(parameters, variables, iterators, {v.name for v in source.locals}, dict(shapes),
                       Counter(name for item in source.items for name in names_in(item)),
                       Location(source.file, source.first_line), left_out)
    order = builder.block(source.items, StatementContext(top()))
    if order is None:
        raise NeverRuns("the SCoP holds no statement that is ever executed", builder.start)
    builder.schedule = original_schedule(order, {s.name: s for s in builder.statements})
    return builder


@dataclass
class Builder:
    """Collects statements while walking the syntax tree; the walk returns the order of execution.

    Arrays for conditions are added to `variables` and `locals`. `shapes`: the extents known so far. `mentions`: the
    number of uses of each variable in the SCoP. `left_out`: numbers of statements that are not wanted, of all `seen`.
    `taken`: invented names.
    """

    parameters: Mapping[str, int]
    variables: dict[str, Variable]
    iterators: Mapping[str, ElementType]
    locals: set[str]
    shapes: dict[str, tuple[int | None, ...]]
    mentions: Counter[str]
    start: Location
    left_out: Collection[int]
    seen: int = 0
    statements: list[Statement] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    schedule: str = ""

    def find_rows(self) -> dict[str, tuple[int, ...]]:
        """Give arrays of one dimension that are used as matrices their dimensions. Return the shapes of these."""
        flat = {name: shape[0] for name in sorted({a.array for s in self.statements for a in s.accesses})
                if len(shape := self.shape(name)) == 1 and shape[0] is not None}
        statements, shapes = delinearized(self.statements, flat)
        self.statements = list(statements)
        return shapes

    def usage(self) -> dict[str, Usage]:
        """Return roles and ranges of all arrays."""
        return array_usage(self.statements, self.schedule, frozenset(self.locals))

    def shape(self, name: str) -> tuple[int | None, ...]:
        """Return the extents of a variable, also one declared inside the SCoP, which is not captured. Raises
        InputError.
        """
        if name not in self.shapes:
            variable = self.variables[name]
            self.shapes[name] = tuple(self.extent(variable, text) for text in variable.extents)
        return self.shapes[name]

    def extent(self, variable: Variable, text: str | None) -> int:
        """Return the value of one extent. Raises InputError."""
        try:
            tree = c_parser.CParser().parse(f"int x = {text};").ext[0].init if text else None
            value = evaluate(without_casts(read_expression(tree, self.names(top()))), {}) if tree else None
        except (c_parser.ParseError, TypeError, ZeroDivisionError, InputError):
            value = None
        if value is None:
            raise InputError(f"the size `{text or '?'}` of `{variable.name}`, which is declared inside the SCoP, is "
                             "not a constant; declare the array before the SCoP", self.start)
        return value

    def names(self, at: Iteration) -> Names:
        """Return the meaning of names inside the loops of `at`."""
        return Names(at.iterators, self.iterators, self.parameters, self.variables)

    def block(self, items: Sequence[Any], place: StatementContext) -> Order | None:
        """Read statements in text order."""
        return _in_order([self.node(item, place) for item in (zero_values(items) if place.at.iterators else items)])

    def node(self, node: Any, place: StatementContext) -> Order | None:
        """Read one statement, loop, branch or block. Raises InputError for anything else."""
        match node:
            case c_ast.Compound():
                return self.block(node.block_items or [], place)
            case c_ast.For():
                return self.loop(node, place)
            case c_ast.If():
                return self.branch(node, place)
            case c_ast.Assignment(rvalue=c_ast.Assignment()):  # a = b = 1
                last = c_ast.Assignment(node.op, node.lvalue, node.rvalue.lvalue, node.coord)
                return self.block((node.rvalue, last), place)
            case c_ast.Assignment():
                return self.assign(node, node.lvalue, node.op[:-1], node.rvalue, place)
            case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
                return self.assign(node, node.expr, node.op[-1], c_ast.Constant("int", "1", node.coord), place)
            case c_ast.Decl() if node.name in self.variables:
                if node.init is None:
                    return None
                value, place = always(node.init, place)
                return self.assign(node, c_ast.ID(node.name, node.coord), "", value, place)
            case c_ast.Decl() if node.name in self.iterators:  # its loop sets it first, and it is not read outside
                if node.init is not None:
                    self.reading(place)(node.init)
                return None
            case None | c_ast.EmptyStatement() | c_ast.Pragma():
                return None
            case c_ast.FuncCall():
                raise InputError(f"call of `{to_c(node.name)}` as a statement: its effects are unknown; move it out "
                                 "of the SCoP or write its body inline", where(node))
            case c_ast.Break() | c_ast.Continue():
                raise InputError(jump_advice(node), where(node))
            case _:
                raise InputError(f"`{to_c(node).split(' {')[0][:60]}` is not static control: a SCoP holds `for` "
                                 f"loops, `if`/`else` and assignments{control_advice(node)}", where(node))

    def loop(self, node: Any, place: StatementContext) -> Order | None:
        """Read a `for` loop."""
        header, at = read_header(node), place.at
        inner = at.enter(header.iterator)
        if header.iterator in at.iterators:
            raise InputError(f"the iterator `{header.iterator}` is already used by an outer loop", where(node))
        start = read_expression(header.start, self.names(at))
        test = read_expression(header.test, self.names(inner))
        step = self.step(node, header)
        try:
            inside = loop_domain(inner, start, test, step)
        except DependsOnData:
            turned = inner_loop_outside(node)
            return self.loop(turned, place) if turned is not None else self.folded(node, place)
        except NotAffine as error:
            text = f"for ({header.iterator} = {to_c(header.start)}; {to_c(header.test)}; ...)"
            raise InputError(f"the bounds of `{text}` are not affine: {error}", where(node)) from None
        if inside.domain.is_empty():
            return None
        self.check_iterator(node, header.iterator, inside, step)
        content = without_continue(node.stmt)
        begun = None
        if stops(content):
            begun, going = self.flag(node, place)
            content = stopping(content, going)
        body = self.node(content, place.within(inside))
        return _in_order([begun, Loop(len(at.iterators), step, body)]) if body else None

    def check_iterator(self, node: Any, iterator: str, inside: Iteration, step: int) -> None:
        """Raise InputError for an iterator that overflows its type before its loop ends: it would wrap around."""
        kind = self.iterators[iterator]
        if kind in ("int", "long"):  # C leaves their overflow undefined
            return
        (low, high), (least, most) = bounds(inside)[-1], integer_limits(kind)
        if min(low, low + step) < least or max(high, high + step) > most:
            raise InputError(f"`{iterator}` is of type `{kind}`, from {least} to {most}, and would leave it before "
                             "the loop ends: use `int`",
                             where(node))

    def flag(self, node: Any, place: StatementContext) -> tuple[Order | None, Any]:
        """Return a statement that sets a variable of this iteration to 1, and the syntax tree of the variable."""
        element = self.own_element("going", node, place.at)
        one = c_ast.Constant("int", "1", node.coord)
        return self.assign(c_ast.Assignment("=", element, one, node.coord), element, "", one,
                           StatementContext(place.at)), element

    def plain_flag(self) -> Any:
        """Return the syntax tree of a new variable for a single statement."""
        name = self.fresh_name("going")
        self.variables[name] = Variable(name, "int", (), True, False)
        self.locals.add(name)
        return c_ast.ID(name)

    def folded(self, node: Any, place: StatementContext) -> Order | None:
        """Read a loop with data-dependent bounds: a statement for each value that it computes.

        A value that is the initial value of later ones is kept until they are computed.
        """
        found = read_folds(node, Surroundings(self.names(place.at), self.step, self.fresh_name, self.plain_flag,
                                              self.shape, int(points(place.at.domain))))
        used = Counter(names_in(node))
        begun_with = {target: {load.array for load in loads_of(fold)} for target, fold in found.items()}

        def is_dead(name: str) -> bool:
            read = any(name in arrays for target, arrays in begun_with.items() if target.array != name)
            return not read and self.mentions[name] == used[name] and self.unread(name)

        results = [(target, fold) for target, fold in found.items() if not is_dead(target.array)]
        order, later = [], []
        for k, (target, fold) in enumerate(results):
            if any(load.array == target.array for _, other in results[k + 1:] for load in loads_of(other)):
                kept = read_access(self.own_element("result", node, place.at, self.variables[target.array].type),
                                   self.names(place.at))
                later.append((target, kept))
                target = kept
            order.append(self.store(node, place, target, "", fold))
        return _in_order([*order, *(self.store(node, place, target, "", kept) for target, kept in later)])

    def unread(self, name: str) -> bool:
        """Return whether a variable is not read after the SCoP."""
        return name in self.locals or (name in self.variables and self.variables[name].unread_after)

    def step(self, node: Any, header: Header) -> int:
        """Return the step of a loop's iterator; never 0."""
        size = without_casts(read_expression(header.step, self.names(top())))
        try:
            step = header.sign * evaluate(size, {})
        except (TypeError, ZeroDivisionError):
            raise bad_step(node, header.iterator) from None
        if step == 0:
            raise bad_step(node, header.iterator)
        return step

    def branch(self, node: Any, place: StatementContext) -> Order | None:
        """Read an `if`: its parts run in different iterations, or under a guard if the condition depends on data."""
        test, at = read_expression(node.cond, self.names(place.at)), place.at
        try:
            region = holds(test, at)
        except Undefined as error:
            raise InputError(f"the condition `{to_c(node.cond)}` has no value: {error}", where(node)) from None
        except NotAffine:
            return self.guarded(node, place)
        return _in_order([self.part(node.iftrue, place.within(at.restrict(region))),
                          self.part(node.iffalse, place.within(subtract(at, region)))])

    def part(self, node: Any, place: StatementContext) -> Order | None:
        """Read one part of an `if`, which may be absent or never run."""
        return None if node is None or place.at.domain.is_empty() else self.node(node, place)

    def guarded(self, node: Any, place: StatementContext) -> Order | None:
        """Read an `if` with a data-dependent condition."""
        try:
            yes, then = divide(node.cond, place.at, self.reading(place))
            no, otherwise = divide(negation(node.cond), place.at, self.reading(place))
        except Undefined as error:
            raise InputError(f"the condition `{to_c(node.cond)}` has no value: {error}", where(node)) from None
        decided = None
        if yes.domain.is_empty() or no.domain.is_empty():
            then = otherwise = None
        elif changes_condition(node):
            decided, element = self.decide(node.cond, place)
            then, otherwise = element, negation(element)
        fresh = [self.node(zero, place) for zero in settled(node, self.variables)] if place.guard is None else []
        return _in_order([decided, *fresh, self.part(node.iftrue, place.where_also(yes, then)),
                          self.part(node.iffalse, place.where_also(no, otherwise))])

    def reading(self, place: StatementContext) -> Callable[[Any], Expr]:
        """Return a function that converts syntax trees at `place` to expressions."""
        return lambda node: read_expression(node, self.names(place.at))

    def decide(self, condition: Any, place: StatementContext) -> tuple[Order | None, Any]:
        """Return a statement that evaluates `condition` once per iteration, and the syntax tree of the element for its
        value.
        """
        element = self.own_element("test", condition, place.at)
        value = both(place.guard, c_ast.BinaryOp("!=", condition, c_ast.Constant("int", "0"), condition.coord))
        node = c_ast.Assignment("=", element, value, condition.coord)
        return self.assign(node, element, "", value, StatementContext(place.at)), element

    def own_element(self, base: str, node: Any, at: Iteration, kind: ElementType = "int") -> Any:
        """Return the syntax tree of an element of a new array with one element per iteration."""
        name, ranges = self.fresh_name(base), bounds(at)
        self.variables[name] = Variable(name, kind, tuple(str(high - low + 1) for low, high in ranges), True, False)
        self.locals.add(name)
        element: Any = c_ast.ID(name, node.coord)
        for iterator, (low, _) in zip(at.iterators, ranges, strict=True):
            element = c_ast.ArrayRef(element, _offset(iterator, low, node.coord), node.coord)
        return element

    def fresh_name(self, base: str) -> str:
        """Return an unused name: `base_1`, `base_2`, ..."""
        taken = {*self.variables, *self.iterators, *self.parameters, *self.taken}
        name = next(name for number in count(1) if (name := f"{base}_{number}") not in taken)
        self.taken.add(name)
        return name

    def assign(self, node: Any, lvalue: Any, op: str, rvalue: Any, place: StatementContext) -> Order | None:
        """Read one statement `lvalue op= rvalue`, under the guard of its place."""
        if isinstance(lvalue, c_ast.ID) and lvalue.name in self.iterators:
            raise InputError(f"the iterator `{lvalue.name}` is changed inside its loop", where(node))
        value = self.reading(place)(rvalue)
        return self.store(node, place, read_access(lvalue, self.names(place.at)), op, value)

    def store(self, node: Any, place: StatementContext, target: Load, op: str, value: Expr) -> Order | None:
        """Read one statement `target op= value`, whose loads are not numbered yet. `node`: its source."""
        self.seen += 1
        if self.seen - 1 in self.left_out:
            return None
        at, name = place.at, f"S{len(self.statements)}"
        accesses = Accesses(name, at, node, self.variables, self.shape, place.guard is not None)
        guard = accesses.number(self.reading(place)(place.guard)) if place.guard is not None else None
        value = accesses.number(value)
        target = accesses.target(target, bool(op))
        condition = f"if ({to_c(place.guard)}) " if place.guard is not None else ""
        text = f"{condition}{' '.join(to_c(node).split()).removesuffix(';')};"
        self.statements.append(Statement(name, at.iterators, domain_text(at, name),
                                         Assignment(target, op, value, guard), tuple(accesses.found), text,
                                         int(node.coord.line)))
        return Once(name)


def _in_order(parts: Sequence[Order | None]) -> Order | None:
    """Return the parts that exist, in sequence."""
    found = tuple(part for part in parts if part is not None)
    return None if not found else found[0] if len(found) == 1 else Block(found)


def _offset(iterator: str, low: int, place: Any) -> Any:
    """Return the syntax tree of `iterator - low`."""
    name = c_ast.ID(iterator, place)
    if low == 0:
        return name
    return c_ast.BinaryOp("-" if low > 0 else "+", name, c_ast.Constant("int", str(abs(low)), place), place)
