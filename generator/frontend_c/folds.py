"""Loops with data-dependent bounds, such as those over the elements of a sparse row: their results are folds.

    for (k = row[i]; k < row[i + 1]; k++) {        y[i] = fold(total from y[i], k from row[i] while k < row[i + 1]:
        double v = val[k];                   ->                 total + val[k] * x[col[k]])
        y[i] += v * x[col[k]];
    }

Such a loop becomes part of one statement: its iterations stay in order, and the trip count is determined at run time.
It may change variables, and elements that are the same in all its iterations; each is computed by a separate loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pycparser import c_ast

from generator.arithmetic import c_type
from generator.errors import InputError
from generator.expr import (
    Binary,
    Cast,
    Expr,
    Fold,
    Int,
    Load,
    Name,
    Real,
    Select,
    Unary,
    loads_of,
    map_children,
    names_of,
    parts,
)
from generator.frontend_c.conditions import writes
from generator.frontend_c.ctypes import to_c
from generator.frontend_c.elements import nodes
from generator.frontend_c.expressions import Names, as_condition, read_access, read_expression
from generator.frontend_c.jumps import jump_advice, stopping, stops, without_continue
from generator.frontend_c.loops import Header, read_header
from generator.frontend_c.places import where
from generator.linear import simplify, substitute

_USUAL = 16  # the assumed trip count of a loop with unknown bounds


_Let: TypeAlias = tuple[Name, Expr]
_Change: TypeAlias = tuple[Name, Expr, Expr]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context in which a loop is read: the meaning of names, step sizes, unused names, extents of arrays, the
    number of its instances.

    `flag` makes a new variable for whether a loop continues.
    """

    names: Names
    step: Callable[[Any, Header], int]
    fresh: Callable[[str], str]
    flag: Callable[[], Any]
    shape: Callable[[str], Sequence[int | None]]
    instances: int


def read_folds(loop: Any, around: Surroundings) -> dict[Load, Fold]:
    """Return the elements and variables that a loop changes, each with its value; loads are not numbered yet.

    Raises:
        InputError: it contains something that cannot be part of one statement.
    """
    top = _Scope(None, frozenset(), around.names, {})
    reader = _Reader(around, frozenset(name for name, _ in writes(loop, True)))
    reader.loop(loop, top)
    return {target: value for target, value in top.values.items() if isinstance(value, Fold)
            and target.array not in reader.flags}


@dataclass
class _Scope:
    """One iteration of a loop: the current values of what is changed in it, and of variables declared in it.

    `totals`: the values at the beginning of an iteration. `lets`: the variables of the iteration, in order of
    computation. `path`: the condition of the current statement. The outermost scope is not a loop.
    """

    outer: _Scope | None
    written: frozenset[str]
    names: Names
    iterators: Mapping[str, Expr]
    values: dict[Load, Expr] = field(default_factory=dict)
    totals: dict[Load, Name] = field(default_factory=dict)
    lets: list[tuple[Name, Expr]] = field(default_factory=list)
    path: Expr | None = None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Follows the statements of a loop. `written`: the names of all variables that it changes; `flags`: those that end
    it.
    """

    around: Surroundings
    written: frozenset[str]
    flags: set[str] = field(default_factory=set)

    def run(self, node: Any, scope: _Scope) -> None:
        """Follow one statement. Raises InputError."""
        match node:
            case c_ast.Compound():
                for item in node.block_items or []:
                    self.run(item, scope)
            case c_ast.For():
                self.loop(node, scope)
            case c_ast.If():
                self.branch(node, scope)
            case c_ast.Decl() if self.is_scalar(node.name):
                scope.values[Load(node.name)] = Cast(self.kind(node.name), Int(0))
                if node.init is not None:
                    self.keep(Load(node.name), self.read(node.init, scope), scope)
            case c_ast.Assignment(rvalue=c_ast.Assignment()):  # a = b = 1
                self.run(node.rvalue, scope)
                self.run(c_ast.Assignment(node.op, node.lvalue, node.rvalue.lvalue, node.coord), scope)
            case c_ast.Assignment():
                self.assign(node.lvalue, node.op[:-1], self.read(node.rvalue, scope), scope)
            case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
                self.assign(node.expr, node.op[-1], Int(1), scope)
            case None | c_ast.EmptyStatement() | c_ast.Pragma():
                pass
            case c_ast.Break() | c_ast.Continue():
                raise InputError(jump_advice(node), where(node))
            case _:
                raise InputError(f"`{to_c(node).split(' {')[0][:60]}` in a loop whose bounds are data: such a loop "
                                 "holds assignments, `if`/`else` and loops", where(node))

    def is_scalar(self, name: str) -> bool:
        """Return whether the name is that of a variable and not of an array."""
        variable = self.around.names.variables.get(name)
        return variable is not None and not variable.extents

    def read(self, node: Any, scope: _Scope) -> Expr:
        """Return the current value of an expression. Raises InputError."""
        return self.now(substitute(read_expression(node, scope.names), scope.iterators), scope)

    def now(self, expr: Expr, scope: _Scope) -> Expr:
        """Return `expr` with the current values of what is changed."""
        expr = map_children(expr, lambda child: self.now(child, scope))
        changes = isinstance(expr, Load) and (expr.array in self.written or expr.array in self.flags)
        return self.value(expr, scope) if isinstance(expr, Load) and changes else expr

    def value(self, place: Load, scope: _Scope) -> Expr:
        """Return the current value: the one before the loop, a total of the loop, or a new value, but not a fold."""
        if place in scope.values:
            if _has_fold(scope.values[place]):
                scope.values[place] = self.let(scope.values[place], place.array, scope, self.kind(place.array))
            return scope.values[place]
        if scope.outer is None:
            return place
        if place.array not in scope.written:
            return self.value(place, scope.outer)
        if place not in scope.totals:  # another branch may have made it
            scope.totals[place] = Name(self.around.fresh(f"fold_{place.array}"), self.kind(place.array))
        scope.values[place] = scope.totals[place]
        return scope.totals[place]

    def kind(self, name: str) -> str:
        """Return the element type of a variable."""
        return self.around.names.variables[name].type

    def type_of(self, expr: Expr) -> str:
        """Return the C type of an expression."""
        return c_type(expr, {name: variable.type for name, variable in self.around.names.variables.items()})

    def let(self, value: Expr, base: str, scope: _Scope, kind: str | None = None) -> Name:
        """Return a new variable of the iteration; it is 0 where the current statement does not run, because `value` may
        be undefined.
        """
        name = Name(self.around.fresh(f"fold_{base}"), kind or self.type_of(value))
        scope.lets.append((name, value if scope.path is None else Select(scope.path, value, Int(0))))
        return name

    def keep(self, place: Load, value: Expr, scope: _Scope) -> None:
        """Assign a value, converted to its type, to `place`."""
        kind = self.kind(place.array)
        if not isinstance(value, Fold) and self.type_of(value) != kind:
            value = Cast(kind, value)
        local = place not in scope.totals and scope.outer is not None
        scope.values[place] = self.let(value, place.array, scope, kind) if local and not _is_small(value) else value

    def assign(self, lvalue: Any, op: str, value: Expr, scope: _Scope) -> None:
        """Follow `lvalue op= value`. Raises InputError."""
        place = substitute(read_access(lvalue, scope.names), scope.iterators)
        assert isinstance(place, Load)
        place = Load(place.array, tuple(self.now(index, scope) for index in place.index))
        present = self.value(place, scope)
        self.keep(place, Binary(op, present, value) if op else value, scope)

    def branch(self, node: Any, scope: _Scope) -> None:
        """Follow an `if`: its condition selects values."""
        kinds = {name: variable.type for name, variable in self.around.names.variables.items()}
        condition, path, before = as_condition(self.read(node.cond, scope), kinds), scope.path, dict(scope.values)
        if not _is_small(condition):
            condition = self.let(condition, "test", scope)
        found = []
        for part, holds in ((node.iftrue, condition), (node.iffalse, Unary("!", condition))):
            scope.values, scope.path = dict(before), holds if path is None else Binary("&&", path, holds)
            self.run(part, scope)
            found.append(scope.values)
        scope.path = path
        for values in found:
            values.update({place: total for place, total in scope.totals.items() if place not in values})
        yes, no = found
        scope.values = {place: yes[place] if yes[place] == no[place] else Select(condition, yes[place], no[place])
                        for place in yes if place in no}

    def loop(self, node: Any, outer: _Scope) -> None:
        """Follow a loop: what it changes becomes folds that begin with the current values. Raises InputError."""
        header = read_header(node)
        kind = self.around.names.all_iterators[header.iterator]
        iterator = Name(self.around.fresh(f"fold_{header.iterator}"), kind)
        names = replace(outer.names, iterators=(*outer.names.iterators, header.iterator))
        scope = _Scope(outer, frozenset(name for name, _ in writes(node.stmt, True)), names,
                       {**outer.iterators, header.iterator: iterator})
        if header.iterator in scope.written:
            raise InputError(f"`{_head(node)}`: the iterator is changed inside its loop", where(node))
        body, test = without_continue(node.stmt), header.test
        if stops(body):
            going = self.around.flag()
            body, test = stopping(body, going), c_ast.BinaryOp("&&", going, test, node.coord)
            outer.values[Load(going.name)] = Int(1)
            scope.written |= {going.name}
            self.flags.add(going.name)
        start, condition = self.read(header.start, outer), self.read(test, scope)
        self.run(body, scope)
        self.check(node, iterator, scope)
        only_read = {total.name: self.value(place, outer) for place, total in scope.totals.items()
                     if scope.values[place] == total}
        condition = substitute(condition, only_read)
        lets = [(name, substitute(value, only_read)) for name, value in scope.lets]
        changes = {place: (total, self.value(place, outer), substitute(scope.values[place], only_read))
                   for place, total in scope.totals.items() if scope.values[place] != total}
        for place, change in changes.items():
            together, needed = _together(change, tuple(changes.values()), condition, lets)
            usual = self.usual(iterator, condition, [*(following for _, _, following in together),
                                                     *(value for _, value in needed)])
            outer.values[place] = Fold(together, iterator, start, condition, self.around.step(node, header), needed,
                                       usual)

    def check(self, node: Any, iterator: Name, scope: _Scope) -> None:
        """Raise InputError if a changed element is not the same in all iterations, or two of them might be the same
        element.
        """
        own = {iterator.name, *(name.name for name, _ in scope.lets), *(total.name for total in scope.totals.values())}
        places = [place for place in scope.totals if place.index]
        for place in places:
            if own & names_of(place):
                raise InputError(f"`{_head(node)}` has bounds that are data and writes elements of `{place.array}` "
                                 "that depend on its iterations: it may change variables, and elements that are the "
                                 "same in all of them. If its range is known, write a loop over all of it with the "
                                 "bounds in an `if`; else leave it out of the SCoP", where(node))
        for k, place in enumerate(places):
            if any(place.array == other.array and not _apart(place, other) for other in places[:k]):
                raise InputError(f"`{_head(node)}` has bounds that are data and uses several elements of "
                                 f"`{place.array}`, which it changes: "
                                 "they might be the same one; use variables of its own for them", where(node))

    def usual(self, iterator: Name, condition: Expr, values: Sequence[Expr]) -> int:
        """Return the approximate trip count: from known bounds, else the array elements it visits divided by its
        instances.
        """
        match condition:
            case Binary("<" | "<=", Name(name), Int(bound)) if name == iterator.name:
                return max(1, bound)
        loads = [load for value in values for load in loads_of(value) if iterator in load.index]
        extents = [extent for load in loads
                   for extent, index in zip(self.around.shape(load.array), load.index, strict=True)
                   if index == iterator and extent is not None]
        return max(1, max(extents) // max(1, self.around.instances)) if extents else _USUAL


def _together(change: _Change, changes: Sequence[_Change], condition: Expr,
              lets: Sequence[_Let]) -> tuple[tuple[_Change, ...], tuple[_Let, ...]]:
    """Return the changes and variables of an iteration on which `change` and the loop's condition depend, `change`
    first.
    """
    names, size = {change[0].name} | names_of(condition), 0
    while len(names) > size:
        size = len(names)
        for name, value in (*((name, following) for name, _, following in changes), *lets):
            if name.name in names:
                names |= names_of(value)
    others = (other for other in changes if other[0].name in names and other is not change)
    return (change, *others), tuple(let for let in lets if let[0].name in names)


def _has_fold(value: Expr) -> bool:
    return any(isinstance(part, Fold) for part in parts(value))


def _is_small(value: Expr) -> bool:
    """Return whether computing it again is as good as a variable: at most one operation."""
    operations = [part for part in parts(value) if not isinstance(part, Int | Real | Name | Load | Cast)]
    return not _has_fold(value) and len(operations) <= 1


def _apart(one: Load, other: Load) -> bool:
    """Return whether two elements of an array certainly differ: some subscripts differ by a number."""
    differences = (simplify(Binary("-", a, b)) for a, b in zip(one.index, other.index, strict=True))
    return any(isinstance(difference, Int) and difference.value for difference in differences)


def _head(loop: Any) -> str:
    """Return the head of a loop as C text."""
    bare = c_ast.For(loop.init, loop.cond, loop.next, c_ast.EmptyStatement(), loop.coord)
    return " ".join(to_c(bare).replace(";\n", "").split()).removesuffix(" ;").removesuffix(";")


def inner_loop_outside(loop: Any) -> Any | None:
    """Return `for (k ..) for (j ..) c[j] += ..` as `for (j ..) for (k ..) ..`, if each j has its own elements; else
    None.

    Declarations of variables may precede the inner loop, whose bounds must not depend on them or on k.
    """
    items = list(loop.stmt.block_items or []) if isinstance(loop.stmt, c_ast.Compound) else [loop.stmt]
    *before, inner = items or [None]
    if not isinstance(inner, c_ast.For) or not all(isinstance(item, c_ast.Decl) for item in before):
        return None
    outer_names = {read_header(loop).iterator, *(item.name for item in before)}
    header = read_header(inner)
    if stops(inner.stmt):
        return None
    moved = {*names_in(header.start), *names_in(header.test)}
    changed = {name for name, _ in writes(inner.stmt, True)}
    declared = {node.name for node in nodes(inner.stmt) if isinstance(node, c_ast.Decl)}
    deeper = {read_header(node).iterator for node in nodes(inner.stmt) if isinstance(node, c_ast.For)}
    places = list(_assigned(inner.stmt, declared | deeper))
    if moved & (outer_names | changed) or not all(_tells_apart(place, header.iterator, deeper) for place in places):
        return None
    body = c_ast.Compound([*before, inner.stmt], loop.coord)
    turned = c_ast.For(loop.init, loop.cond, loop.next, body, loop.coord)
    return c_ast.For(inner.init, inner.cond, inner.next, turned, inner.coord)


def names_in(node: Any) -> Iterator[str]:
    """Yield the variables that a syntax tree mentions, with repetitions."""
    return (str(part.name) for part in nodes(node) if isinstance(part, c_ast.ID))


def _assigned(body: Any, declared: set[str]) -> Iterator[Any]:
    """Yield the lvalues of assignments to variables that are not declared in `body`."""
    for node in nodes(body):
        if isinstance(node, c_ast.Assignment):
            place = node.lvalue
        elif isinstance(node, c_ast.UnaryOp) and node.op in ("++", "p++", "--", "p--"):
            place = node.expr
        else:
            continue
        if not (isinstance(place, c_ast.ID) and place.name in declared):
            yield place


def _tells_apart(place: Any, iterator: str, deeper: set[str]) -> bool:
    """Return whether a subscript of an element is the iterator plus a term independent of it and of the `deeper` ones.
    """
    while isinstance(place, c_ast.ArrayRef):
        names = list(names_in(place.subscript))
        alone = any(isinstance(term, c_ast.ID) and term.name == iterator for term in _summands(place.subscript))
        if alone and names.count(iterator) == 1 and not deeper.intersection(names):
            return True
        place = place.name
    return False


def _summands(node: Any) -> Iterator[Any]:
    if isinstance(node, c_ast.BinaryOp) and node.op == "+":
        yield from _summands(node.left)
        yield from _summands(node.right)
    else:
        yield node
