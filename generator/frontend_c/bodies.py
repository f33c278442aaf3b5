"""The return value of a pure function as one expression of the calling SCoP.

The body is followed statement by statement; each of its variables becomes an expression of the caller's variables.
After `if (c) x = 1;`, `x` is `c ? 1 : x`; the code after an `if` with a `return` belongs to the branch that continues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pycparser import c_ast

from generator.arithmetic import FUNCTIONS
from generator.errors import InputError
from generator.frontend_c.ctypes import declared, is_truth, to_c
from generator.frontend_c.functions import Function, cannot_inline, read_function, returns_within, used_names
from generator.frontend_c.places import where
from generator.frontend_c.pointers import Pointer, check_shape, element, pointer
from generator.frontend_c.temporaries import Condition, Path, Temporaries
from generator.program import ElementType

_MOST_STEPS = 2000  # statements followed for one call in the SCoP's text
_CHANGES = ("++", "p++", "--", "p--")


@dataclass(frozen=True, slots=True)
class Local:
    """A number of a function under evaluation. `value`: None before it is set."""

    kind: ElementType
    truth: bool
    value: Any


Value: TypeAlias = Local | Pointer


@dataclass(frozen=True)
class Frame:
    """The context of an expression: in `function` (None: the SCoP) with its variables, on a path of conditions."""

    function: Function | None = None
    names: Mapping[str, Value] = field(default_factory=dict)
    path: Path = ()
    calls: tuple[str, ...] = ()


@dataclass(eq=False)
class Bodies:
    """Evaluates expressions of a SCoP and bodies of the functions `defined` in its file (syntax trees).

    `variables`: the declarations of the SCoP's names. `common`: names that mean the same in all functions. `outside`:
    the functions that cannot be called because they contain the SCoP.
    """

    temporaries: Temporaries
    defined: Mapping[str, Any]
    typedefs: Mapping[str, Any]
    variables: Mapping[str, Any]
    common: frozenset[str]
    outside: tuple[str, ...]
    known: dict[str, Function] = field(default_factory=dict)
    steps: int = 0

    def value(self, node: Any, frame: Frame) -> Any:
        """Return an expression of the SCoP's variables with the value of `node`. Raises InputError."""
        match node:
            case c_ast.Constant() | c_ast.Typename() | None:
                return node
            case c_ast.ID():
                return self.name(node, frame)
            case c_ast.ArrayRef() | c_ast.UnaryOp(op="*") if frame.function is not None:
                return element(node, frame.names, lambda n: self.value(n, frame))
            case c_ast.ArrayRef():
                return c_ast.ArrayRef(self.value(node.name, frame), self.value(node.subscript, frame), node.coord)
            case c_ast.UnaryOp() if node.op not in (*_CHANGES, "&", "sizeof"):
                return c_ast.UnaryOp(node.op, self.value(node.expr, frame), node.coord)
            case c_ast.Cast():
                return c_ast.Cast(node.to_type, self.value(node.expr, frame), node.coord)
            case c_ast.BinaryOp(op="&&" | "||"):
                left, right = self.chosen(node.left, frame, [(node.right, node.op == "&&")])
                return c_ast.BinaryOp(node.op, left, right, node.coord)
            case c_ast.BinaryOp():
                return c_ast.BinaryOp(node.op, self.value(node.left, frame), self.value(node.right, frame), node.coord)
            case c_ast.TernaryOp():
                return c_ast.TernaryOp(*self.chosen(node.cond, frame, [(node.iftrue, True), (node.iffalse, False)]),
                                       node.coord)
            case c_ast.FuncCall():
                return self.call(node, frame)
        if frame.function is None:
            return node  # unsupported syntax is refused later
        raise cannot_inline(frame.function.name, f"`{to_c(node)}` cannot be part of an expression", node)

    def name(self, node: Any, frame: Frame) -> Any:
        """Return the expression of a variable."""
        if frame.function is None:
            return node
        if node.name in frame.names:
            local = frame.names[node.name]
            if isinstance(local, Pointer):
                raise cannot_inline(
                    frame.function.name,
                    f"the pointer `{node.name}` is used as a value; only its elements can be read",
                    node,
                )
            if local.value is None:
                raise cannot_inline(frame.function.name, f"`{node.name}` may have no value here", node)
            return local.value
        if node.name not in self.common:
            raise cannot_inline(
                frame.function.name,
                f"`{node.name}` is not visible in the SCoP, or something else has that name "
                "there; pass it as an argument",
                node,
            )
        return node

    def chosen(self, test: Any, frame: Frame, parts: Sequence[tuple[Any, bool]]) -> list[Any]:
        """Return a condition and expressions that are evaluated only where it is true or false."""
        condition = Condition(self.value(test, frame), frame.path, self.base(frame, "test"))
        found = [self.value(part, under(frame, condition, holds)) for part, holds in parts]
        return [condition.node, *found]

    def base(self, frame: Frame, name: str) -> str:
        """Return the name of the SCoP's variable for a value of a function."""
        return f"{frame.function.name}_{name}" if frame.function else name

    def call(self, node: Any, frame: Frame) -> Any:
        """Return a call: of a function of the file, or of one that stays a call."""
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        arguments = node.args.exprs if node.args else []
        if name not in self.defined:
            if frame.function is not None and name not in FUNCTIONS:
                raise cannot_inline(
                    frame.function.name, f"it calls `{to_c(node.name)}`, whose effects are unknown", node
                )
            values = c_ast.ExprList([self.value(a, frame) for a in arguments], node.coord)
            return c_ast.FuncCall(node.name, values if arguments else None, node.coord)
        if name in (*frame.calls, *self.outside):
            raise cannot_inline(name, "it calls itself" if name in frame.calls else "it holds the SCoP", node)
        if frame.function is None:
            self.steps = 0
        function = self.function(name)
        if len(arguments) != len(function.parameters):
            raise InputError(f"`{to_c(node)}`: `{name}` has {len(function.parameters)} parameters", where(node))
        inner = Frame(function, self.arguments(function, arguments, frame), frame.path, (*frame.calls, name))
        result = self.run(function.body, inner)
        if result is None:
            raise cannot_inline(name, "it can end without a `return`", self.defined[name].decl)
        return result

    def function(self, name: str) -> Function:
        """Return a function of the file by its name."""
        if name not in self.known:
            self.known[name] = read_function(self.defined[name], self.typedefs)
            self.temporaries.returns[name] = self.known[name].returns
        return self.known[name]

    def arguments(self, function: Function, nodes: Sequence[Any], frame: Frame) -> dict[str, Value]:
        """Return the variables of a function at its start."""
        uses = used_names(function.body)
        found: dict[str, Value] = {}
        for parameter, node in zip(function.parameters, nodes, strict=True):
            _refuse_effects(node, self.defined)
            if parameter.kind.extents:
                found[parameter.name] = pointer(node, frame.names, lambda n: self.value(n, frame))
            else:
                empty = Local(parameter.kind.element, parameter.truth, None)
                found[parameter.name] = self.local(empty, self.value(node, frame), frame.path,
                                                   f"{function.name}_{parameter.name}", uses.get(parameter.name, 0))
        for parameter in function.parameters:
            target = found[parameter.name]
            if isinstance(target, Pointer):
                check_shape(function, parameter, target, found, self.variables, self.typedefs)
        return found

    def local(self, old: Local, value: Any, path: Path, base: str, uses: int) -> Local:
        """Return a variable after an assignment; a value that is used several times is computed once."""
        value = self.temporaries.converted(value, old.kind, old.truth)
        return replace(old, value=self.temporaries.shared(value, base, path) if uses > 1 else value)

    def run(self, items: Sequence[Any], frame: Frame) -> Any:
        """Return the value that statements return; None if they end without a `return`."""
        assert frame.function is not None
        for k, node in enumerate(items):
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise cannot_inline(frame.function.name, "too many ways lead through it", node)
            rest = items[k + 1:]
            match node:
                case c_ast.Return():
                    value = self.value(node.expr, frame)
                    return self.temporaries.converted(value, frame.function.returns, frame.function.truth)
                case c_ast.Compound():
                    return self.run([*(node.block_items or []), *rest], frame)
                case c_ast.If() if returns_within(node):
                    return self.either(node, rest, frame)
                case _:
                    frame = self.step(node, frame)
        return None

    def either(self, node: Any, rest: Sequence[Any], frame: Frame) -> Any:
        """Return the value of an `if` with a `return` in it, and of the code that follows it."""
        condition = Condition(self.value(node.cond, frame), frame.path, self.base(frame, "test"))
        yes = self.run([node.iftrue, *rest], under(frame, condition, True))
        no = self.run([*([node.iffalse] if node.iffalse else []), *rest], under(frame, condition, False))
        return c_ast.TernaryOp(condition.node, yes, no, node.coord) if yes is not None and no is not None else None

    def step(self, node: Any, frame: Frame) -> Frame:
        """Return the variables after one statement without a `return`."""
        function = frame.function
        assert function is not None
        match node:
            case c_ast.Decl():
                return self.declare(node, frame)
            case c_ast.Assignment(lvalue=c_ast.ID(name=name)) if name in frame.names:
                value = node.rvalue if node.op == "=" else c_ast.BinaryOp(node.op[:-1], node.lvalue, node.rvalue,
                                                                          node.coord)
                return self.assign(name, value, frame)
            case c_ast.UnaryOp(expr=c_ast.ID(name=name)) if node.op in _CHANGES and name in frame.names:
                one = c_ast.Constant("int", "1", node.coord)
                return self.assign(name, c_ast.BinaryOp(node.op[-1], node.expr, one, node.coord), frame)
            case c_ast.If():
                return self.merged(node, frame)
            case c_ast.Compound():
                for item in node.block_items or []:
                    frame = self.step(item, frame)
                return frame
            case None | c_ast.EmptyStatement() | c_ast.Pragma():
                return frame
        raise _not_pure(function.name, node)

    def declare(self, node: Any, frame: Frame) -> Frame:
        """Declare a local variable."""
        assert frame.function is not None
        kind = declared(node.type, self.typedefs)
        if kind is None or kind.extents or {"static", "extern"} & set(node.storage):
            raise cannot_inline(
                frame.function.name,
                f"`{to_c(node)}`: its local variables must be numbers of their own "
                "(no arrays, pointers, structures, `static`)",
                node,
            )
        empty = Local(kind.element, is_truth(node.type, self.typedefs), None)
        frame = replace(frame, names={**frame.names, node.name: empty})
        return frame if node.init is None else self.assign(node.name, node.init, frame)

    def assign(self, name: str, node: Any, frame: Frame) -> Frame:
        """Return the variables after `name = node`."""
        assert frame.function is not None
        old = frame.names[name]
        if isinstance(old, Pointer):
            raise cannot_inline(frame.function.name, f"it changes the pointer `{name}`", node)
        new = self.local(old, self.value(node, frame), frame.path, self.base(frame, name),
                         used_names(frame.function.body).get(name, 0))
        return replace(frame, names={**frame.names, name: new})

    def merged(self, node: Any, frame: Frame) -> Frame:
        """Return the variables after an `if` without a `return`."""
        condition = Condition(self.value(node.cond, frame), frame.path, self.base(frame, "test"))
        yes, no = (self.step(part, under(frame, condition, holds)).names
                   for part, holds in ((node.iftrue, True), (node.iffalse, False)))
        names = dict(frame.names)
        changed = [n for n in names if yes[n] is not no[n]]
        if len(changed) > 1:
            self.temporaries.kept(condition)
        for name in changed:
            one, other = yes[name], no[name]
            assert isinstance(one, Local) and isinstance(other, Local)
            if one.value is None or other.value is None:  # it has a value in one branch only, or is never read
                names[name] = other if one.value is None else one
                continue
            value = c_ast.TernaryOp(condition.node, one.value, other.value, node.coord)
            assert frame.function is not None
            names[name] = self.local(one, value, frame.path, self.base(frame, name),
                                     used_names(frame.function.body).get(name, 0))
        return replace(frame, names=names)


def under(frame: Frame, condition: Condition, holds: bool) -> Frame:
    """Return the same context with one more condition, which holds or does not."""
    return replace(frame, path=(*frame.path, (condition, holds)))


def _not_pure(function: str, node: Any) -> InputError:
    """Return the reason why a function with the statement `node` is not inlined."""
    match node:
        case c_ast.Assignment() | c_ast.UnaryOp(op="++" | "p++" | "--" | "p--"):
            reason = f"`{to_c(node)}` changes something else than its own variables"
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            reason = "it has a loop; put the loop into the SCoP"
        case _:
            reason = (f"`{to_c(node).split(' {')[0][:60]}` is more than declarations, assignments to its own "
                      "variables, `if`/`else` and `return`")
    return cannot_inline(function, reason, node)


def _refuse_effects(node: Any, defined: Mapping[str, Any]) -> None:
    """Raise InputError for an argument with a side effect: it may be evaluated never or twice."""
    name = node.name.name if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) else None
    if isinstance(node, c_ast.Assignment) or getattr(node, "op", "") in _CHANGES or (
            isinstance(node, c_ast.FuncCall) and name not in defined and name not in FUNCTIONS):
        raise InputError(
            f"`{to_c(node)}`, given to a function that is inlined, has or may have an effect; compute it in a "
            "statement before",
            where(node),
        )
    for _, child in node.children():
        _refuse_effects(child, defined)
