"""The composition of a stage: counts of operators and kinds of accesses, by type, as features of learned cost models.

After the algorithm features of Adams et al. 2019, section 4, as used by Anderson et al. 2021. The text that computes an
element is counted once, without subscripts; reduction loops do not multiply it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from generator.dataflow import Reach, Read
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary, children, loads_of
from generator.program import Program, Step

OPERATORS = (
    "constant", "cast", "variable", "parameter", "add", "subtract", "modulo", "multiply", "divide", "min", "max",
    "equal", "not equal", "less", "less or equal", "and", "or", "not", "select", "image", "stage", "self", "call",
    "let",
)  # fmt: skip
ACCESSES = tuple(f"{kind} {what}" for what in ("stage", "self", "image", "store")
                 for kind in ("pointwise", "transpose", "broadcast", "slice"))
TYPES = ("bool", "8 bits", "16 bits", "32 bits", "64 bits", "float", "double")
ROWS = OPERATORS + ACCESSES
_BINARY: Mapping[str, str] = {
    "+": "add", "-": "subtract", "%": "modulo", "*": "multiply", "/": "divide", "min": "min", "max": "max",
    "==": "equal", "!=": "not equal", "<": "less", ">": "less", "<=": "less or equal", ">=": "less or equal",
    "&&": "and", "||": "or", "&": "and", "|": "or", "^": "or", "<<": "multiply", ">>": "divide"}  # fmt: skip
_TRUTH = frozenset(["==", "!=", "<", ">", "<=", ">=", "&&", "||"])
_NAMED = {"_Bool": "bool", "bool": "bool", "char": "8 bits", "signed char": "8 bits", "unsigned char": "8 bits",
          "int8_t": "8 bits", "uint8_t": "8 bits", "short": "16 bits", "unsigned short": "16 bits",
          "int16_t": "16 bits", "uint16_t": "16 bits", "int": "32 bits", "unsigned int": "32 bits",
          "int32_t": "32 bits", "uint32_t": "32 bits", "long": "64 bits", "unsigned long": "64 bits",
          "int64_t": "64 bits", "uint64_t": "64 bits", "double": "double"}  # fmt: skip
"""Types of C; all others count as float."""


def histogram(program: Program, array: str, steps: Sequence[Step], reads: Sequence[Read]) -> tuple[float, ...]:
    """Return counts by row (`ROWS`) and type (`TYPES`, fastest) of what computes `array`. `reads`: one by one."""
    types = {one.name: one.type for one in program.arrays}
    inputs = {one.name for one in program.arrays if one.role != "temp"}
    local = {step.statement.body.target.array for step in steps if step.local}
    counts = [0.0] * (len(ROWS) * len(TYPES))

    def count(row: str, kind: str) -> None:
        counts[ROWS.index(row) * len(TYPES) + TYPES.index(kind)] += 1.0

    def visit(expr: Expr) -> None:
        if isinstance(expr, Load) and expr.array in local:
            count("variable", type_of(expr, types))
        elif (row := _row(expr, array, inputs)) is not None:
            count(row, type_of(expr, types))
        for part in () if isinstance(expr, Load) else children(expr):
            visit(part)

    for step in steps:
        body, own, kinds = step.statement.body, type_of(Load(array), types), access_kinds(_own_element(array, step))
        for value in body.computed:
            visit(value)
        if body.op:
            count(_BINARY.get(body.op, "call"), own)
            count("self", own)
        if body.op or any(load.array == array for value in body.computed for load in loads_of(value)):
            for kind in kinds:
                count(f"{kind} self", own)
        for kind in () if step.local else kinds:
            count(f"{kind} store", own)
    for read in reads:
        for kind in access_kinds(read) if read.elements else ():
            count(f"{kind} {'image' if read.array in inputs else 'stage'}", type_of(Load(read.array), types))
    return tuple(counts)


def _own_element(array: str, step: Step) -> Read:
    """Return the access of a step to the element that it computes, in terms of all loops around it, with those of a
    sum.
    """
    loops = range(len(step.statement.iterators))
    slopes = (tuple(float(loop == position) for loop in loops) for position, _ in step.dims)
    return Read(array, tuple(Reach(one, 0.0, 0.0) for one in slopes), 1, 1.0, 1.0, False)


def _row(expr: Expr, own: str, inputs: set[str]) -> str | None:
    """Return the row in which an expression is counted."""
    match expr:
        case Int() | Real():
            return "constant"
        case Name():
            return "variable"
        case Load(array, index):
            return "parameter" if not index else "self" if array == own else "image" if array in inputs else "stage"
        case Unary("!" | "~", _):
            return "not"
        case Unary("-", _):
            return "subtract"
        case Unary():
            return None
        case Binary(op, _, _):
            return _BINARY.get(op, "call")
        case Call():
            return "call"
        case Cast():
            return "cast"
        case Select():
            return "select"
        case Fold():
            return "let"
        case _:
            assert_never(expr)


def type_of(expr: Expr, types: Mapping[str, str]) -> str:
    """Return the type of a value, one of TYPES: the widest of its parts where C decides by rank."""
    match expr:
        case Int():
            return "32 bits"
        case Real(text):
            return "float" if text.endswith(("f", "F")) else "double"
        case Name(_, kind):
            return _NAMED.get(kind, "float")
        case Load(array, _, _):
            return _NAMED.get(types.get(array, "float"), "float")
        case Cast(kind, _):
            return _NAMED.get(kind, "float")
        case Unary("!", _):
            return "bool"
        case Binary(op, _, _) if op in _TRUTH:
            return "bool"
        case Select(_, then, otherwise):
            return _widest((type_of(then, types), type_of(otherwise, types)))
        case Fold():
            return type_of(expr.total, types)
        case Unary() | Binary() | Call():
            return _widest([type_of(part, types) for part in children(expr)])
        case _:
            assert_never(expr)


def _widest(found: Sequence[str]) -> str:
    return max(found, key=TYPES.index, default="float")


def access_kinds(read: Read) -> tuple[str, ...]:
    """Return the kinds of an access: none or several of pointwise, transpose, broadcast and slice."""
    if read.by_data or not read.reach:
        return ()
    rows = [reach.slopes for reach in read.reach]
    loops = len(rows[0])
    unit = [[slope == 1.0 for slope in row] for row in rows]
    clean = all(slope in (0.0, 1.0) for row in rows for slope in row)
    one_loop = clean and all(sum(row) == 1 for row in unit)
    one_index = clean and all(sum(row[q] for row in unit) == 1 for q in range(loops))
    square = len(rows) == loops
    identity = square and clean and all(unit[d][q] == (d == q) for d in range(loops) for q in range(loops))
    found = (("pointwise", identity), ("transpose", square and one_loop and one_index), ("broadcast", one_loop),
             ("slice", one_index))
    return tuple(kind for kind, holds in found if holds)
