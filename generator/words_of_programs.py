"""Check that a Program read from a file contains only words that are safe to print as code.

A store may come from outside. All parts of a kernel's text are checked here: names are identifiers, types, operators
and functions are those of the language, numbers are numbers. `generator.polyhedral.dependences.inside` checks that
subscripts stay inside their arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NoReturn, assert_never, get_args

from generator.arithmetic import BIT_FUNCTIONS, FUNCTIONS
from generator.errors import InputError
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary, children, loads_of
from generator.plain_text import one_line
from generator.program import AccessKind, Array, ElementType, Program, Role, Statement

_NAME = re.compile(r"[A-Za-z_]\w{0,255}", re.ASCII)
_NOT_IN_PROGRAM = re.compile(r"[^\w.+-]")
_REAL = re.compile(
    r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fF]?|0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[fF]?",
    re.ASCII,
)
_FOLD = "fold_"
_SHARED = re.compile(r"value_\d{1,6}", re.ASCII)
_UNARY = ("+", "-", "!", "~")
_BINARY = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "min",
    "max",
)
_UPDATES = ("", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "min", "max")
_ALL_FUNCTIONS = frozenset([*FUNCTIONS, *BIT_FUNCTIONS, "rint", "rintf"])
_DEEPEST, _MOST_DIMENSIONS, _LARGEST = 400, 32, 2**64


def program_name(text: str) -> str:
    """Return `text` as the name of a program, of which kernels, functions and folders are named: a file may be called
    anything.
    """
    return _NOT_IN_PROGRAM.sub("_", text)[:255] or "_"


def check_words(program: Program) -> None:
    """Raise InputError for a word of `program` that no front end makes. Raises AttributeError or TypeError for a wrong
    type.
    """
    if program.name != program_name(program.name):
        _refuse("the name", program.name)
    if program.stages:
        _refuse("stages", program.stages[0].array)
    _names([name for name, _ in program.parameters])
    _names([array.name for array in program.arrays])
    _names([statement.name for statement in program.statements])
    _integers(value for _, value in program.parameters)
    for array in program.arrays:
        _check_array(array)
    arrays = {array.name for array in program.arrays}
    for statement in program.statements:
        _check_statement(statement, arrays)
    _names(program.arguments)
    _names(program.constants)
    if unknown := [name for name in (*program.arguments, *program.constants) if name not in arrays]:
        _refuse("an argument", unknown[0])
    written = {statement.body.target.array for statement in program.statements}
    if wrong := [array for array in program.arrays if array.role == "in" and array.name in written]:
        _refuse("a role", (wrong[0].name, wrong[0].role))
    for box in program.poison:
        if box.array not in arrays:
            _refuse("an array", box.array)
        _integers((*box.low, *box.high))


def _check_array(array: Array) -> None:
    if array.type not in get_args(ElementType) or array.role not in get_args(Role):
        _refuse("a type or role", (array.type, array.role))
    if type(array.boolean) is not bool or (array.boolean and array.type != "unsigned char"):
        _refuse("a type", (array.type, array.boolean))
    _integers((*array.extents, *array.declared))
    if (
        min((1, *array.extents, *array.declared)) < 1
        or len(array.extents) > _MOST_DIMENSIONS
        or array.own_elements > array.elements
    ):
        _refuse("extents", array.extents)
    _names(array.expanded)


def _check_statement(statement: Statement, arrays: set[str]) -> None:
    _names(statement.iterators)
    if any(name.startswith(_FOLD) for name in statement.iterators):
        _refuse("iterators", statement.iterators)
    _integers([statement.line])
    if any(access.kind not in get_args(AccessKind) or access.array not in arrays for access in statement.accesses):
        _refuse("an access", statement.accesses)
    body = statement.body
    if body.op not in _UPDATES:
        _refuse("an operator", body.op)
    known = frozenset(statement.iterators)
    for name, value in body.lets:
        _check_expression(value, known, arrays)
        if not _SHARED.fullmatch(name.name) or name.name in known | arrays:
            _refuse("a name", name.name)
        _among("a type", name.type, get_args(ElementType))
        known |= {name.name}
    for expr in (body.target, body.value, *(() if body.guard is None else (body.guard,))):
        _check_expression(expr, known, arrays)
    _check_kinds(statement)


def _check_expression(expr: Expr, known: frozenset[str], arrays: set[str]) -> None:
    """Check an expression that may use the variables `known`."""
    seen: set[str] = set()
    for part, variables in _parts(expr, known):
        _check_part(part, variables, arrays)
        if isinstance(part, Fold):
            _check_fold(part, seen)


def _check_kinds(statement: Statement) -> None:
    """Check that the target is written and all other accesses are reads.

    Otherwise data could change that the proof assumes to be constant.
    """
    body = statement.body
    read = [
        load
        for expr in (*body.target.index, *body.computed, *(() if body.guard is None else (body.guard,)))
        for load in loads_of(expr)
    ]
    for load in read:
        _check_kind(statement, load.access, load.array, ("read",))
    _check_kind(statement, body.target.access, body.target.array, ("write", "may_write"))
    if body.op:
        _check_kind(statement, body.target.access - 1, body.target.array, ("read",))


def _check_kind(statement: Statement, number: int, array: str, kinds: tuple[AccessKind, ...]) -> None:
    if not 0 <= number < len(statement.accesses):
        _refuse("an access", number)
    access = statement.accesses[number]
    if access.array != array or access.kind not in kinds:
        _refuse("an access", access)


def _parts(expr: Expr, variables: frozenset[str], depth: int = 0) -> Iterator[tuple[Expr, frozenset[str]]]:
    """Yield `expr` and all its subexpressions, each with the variables that it may use."""
    if depth > _DEEPEST:
        _refuse("an expression", f"more than {_DEEPEST} operators deep")
    yield expr, variables
    inside = variables | _declared(expr) if isinstance(expr, Fold) else variables
    for child in children(expr):
        yield from _parts(child, inside, depth + 1)


def _declared(fold: Fold) -> frozenset[str]:
    """Return the variables of a fold."""
    return frozenset(
        [fold.iterator.name, *(name.name for name, _, _ in fold.changes), *(name.name for name, _ in fold.lets)]
    )


def _check_fold(fold: Fold, seen: set[str]) -> None:
    """Check that a fold has its own variables, distinct from all generated names and from those `seen` so far."""
    listed = [fold.iterator, *(name for name, _, _ in fold.changes), *(name for name, _ in fold.lets)]
    for name in listed:
        if (
            not _NAME.fullmatch(name.name)
            or not name.name.startswith(_FOLD)
            or name.name in seen
            or name.type not in get_args(ElementType)
        ):
            _refuse("a variable of a loop", name.name)
        seen.add(name.name)
    _integers((fold.step, fold.usual))
    if not fold.changes or fold.step == 0:
        _refuse("a loop", listed)


def _check_part(part: Expr, variables: frozenset[str], arrays: set[str]) -> None:
    match part:
        case Int(value):
            _integers([value])
        case Real(text):
            _among("a number", text, [text] if _REAL.fullmatch(text) else ())
        case Name(name, kind):
            _among("a variable", name, variables)
            _among("a type", kind, get_args(ElementType))
        case Load(array, _, access):
            _among("an array", array, arrays)
            _integers([access])
        case Unary(op, _):
            _among("an operator", op, _UNARY)
        case Binary(op, _, _):
            _among("an operator", op, _BINARY)
        case Call(function, _):
            _among("a function", function, _ALL_FUNCTIONS)
        case Cast(kind, _):
            _among("a type", kind, get_args(ElementType))
        case Select() | Fold():
            pass
        case _:
            assert_never(part)


def _among(what: str, word: str, known: Iterable[str]) -> None:
    if word not in known:
        _refuse(what, word)


def _names(names: Iterable[str]) -> None:
    """Check that these are different identifiers."""
    seen = set()
    for name in names:
        if not _NAME.fullmatch(name) or name in seen:
            _refuse("a name", name)
        seen.add(name)


def _integers(values: Iterable[object]) -> None:
    for value in values:
        if type(value) is not int or abs(value) >= _LARGEST:
            _refuse("a number", value)


def _refuse(what: str, found: object) -> NoReturn:
    raise InputError(
        f"the stored program has {what} that no program of antune has: {one_line(repr(found))}; the file was "
        "changed or made by something else, so start a new run from the source"
    )
