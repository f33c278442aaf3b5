"""Which results depend on rounding because a number is truncated or compared: found by runs of the sequential C program
with running error bounds (`error_bounds.py`, `jumps.h`).

The first run finds, for each integer that is a truncated number, the values that the number's error permits. If other
answers are undecided (a comparison, a subscript, a truncation before the result), further runs give them other values;
the results of all runs bound those of other programs (`generator.rounding.from_other_answers`). Exact arithmetic leaves
nothing undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from generator.arithmetic import FLOATING, REAL, TO_FLOAT, c_type, integer_limits
from generator.emit.cstyle import Printer
from generator.expr import Binary, Cast, Expr, Load, parts
from generator.linear import substitute
from generator.nest import Instance
from generator.program import ELEMENT_BYTES, Array, ElementType, Program
from generator.sequential.error_bounds import Bounded, ErrorBounds, is_jump

HEAD = Path(__file__).with_name("jumps.h")
ENDS = ("least", "most")
BALANCED, GROUPS, APART, AROUND = "balanced", "groups", "apart", "around"
FEW = "few_ways"
"""The file that says that there was no time for enough runs."""
SAMPLED = "many_random_ways"
"""The file that says that there was time for many random ways."""
# Integers that may wrap, and the type of their differences modulo 2^n. In C, `int` and `long` do not wrap.
_WRAPS = {"unsigned int": "int", "unsigned long": "long", "unsigned short": "short", "short": "short",
          "unsigned char": "signed char", "char": "signed char"}
_ERRORS, _LOW, _HIGH = "antune_errors_", "antune_low_", "antune_high_"


def error_type(array: Array) -> ElementType:
    """Return the type of an array's errors and of sums of its changes: those of doubles can be beyond floats."""
    return "double" if array.type == "double" else "float"


@dataclass(frozen=True)
class Jumps:
    """The jumps of a program. `printer`: that of its sequential C."""

    program: Program
    printer: Printer = field(repr=False)

    @cached_property
    def found(self) -> bool:
        """Whether the program truncates or compares real numbers at all, or takes their bits."""
        return any(is_jump(part, self._types) for statement in self.program.statements
                   for expr in (*statement.body.computed, statement.body.target,
                                *([statement.body.guard] if statement.body.guard is not None else []))
                   for part in parts(expr)) or any(self._converts(s.body.target.array, s.body.value)
                                                   for s in self.program.statements)

    def memory(self) -> Iterator[str]:
        """Yield the lines of `main` for arrays of errors, of ends and of sums."""
        yield from (_new(error_type(a), _ERRORS + a.name, a) for a in self._with_errors if not _is_local(a))
        for array in self.program.outputs:
            for kept in (*ENDS, "plain"):
                yield _new(array.type, f"{kept}_{array.name}", array)
                yield f"__builtin_memcpy({kept}_{array.name}, {array.name}, {array.elements} * sizeof({array.type}));"
            yield from (_new(error_type(array), f"{kind}_{array.name}", array) for kind in ("gained", "lost"))
            if array.type in REAL:
                yield _new(error_type(array), f"{APART}_{array.name}", array)
            if array.type in _WRAPS:
                yield _new(error_type(array), f"{AROUND}_{array.name}", array)
            yield _new("unsigned char", f"{GROUPS}_{array.name}", array)
            if array.name in self._ended:
                yield from (_new(array.type, f"{name}{array.name}", array) for name in (_LOW, _HIGH))

    def runs(self, call: str) -> Iterator[str]:
        """Yield the lines of `main` that run and write what `bounds_of` reads; `call`: the function."""
        outputs = self.program.outputs
        yield "int antune_ways = 0;"
        yield "while (antune_another(antune_ways)) {"
        yield f"  {call};"
        yield from (f"  if (!antune_ways) ANTUNE_EQUAL({_number(a)}, {a.name}, plain_{a.name}, {a.elements});"
                    for a in outputs)
        yield from (f"  {line}" for a in outputs for line in self._gathered(a))
        yield "  antune_ways++;"
        yield "}"
        yield "if (antune_undecided_first && antune_ways < ANTUNE_LEAST_WAYS)"
        yield f'  antune_write("{FEW}", &antune_ways, 1, sizeof antune_ways);'
        yield f'if (antune_sampled()) antune_write("{SAMPLED}", &antune_ways, 1, sizeof antune_ways);'
        for a in outputs:  # real numbers differ only if answers were undecided
            yield from _written(f"antune_ways > {int(a.type in REAL)}",
                                [(f"{end}_{a.name}", f"{end}_{a.name}", a.type) for end in ENDS], a)
            if a.type in REAL:
                yield from _written("antune_ways", [(f"{APART}_{a.name}", f"{APART}_{a.name}", error_type(a))], a)
            if a.type in _WRAPS:
                yield from _written("antune_ways", [(f"{AROUND}_{a.name}", f"{AROUND}_{a.name}", error_type(a))], a)
            yield f"ANTUNE_BALANCE(gained_{a.name}, lost_{a.name}, {a.elements});"
            yield from _written("antune_grouped",
                                [(f"{BALANCED}_{a.name}", f"gained_{a.name}", error_type(a)),
                                 (f"{GROUPS}_{a.name}", f"{GROUPS}_{a.name}", "unsigned char")], a)

    def _gathered(self, a: Array) -> Iterator[str]:
        """Yield the lines that gather what a way gives for an output."""
        low, high = self.ends_of(a) or (a.name, a.name)
        number, name = _number(a), a.name
        yield f"ANTUNE_WIDEN({number}, {low}, {high}, plain_{name}, least_{name}, most_{name}, {a.elements});"
        more = "ANTUNE_MORE_LONG" if a.type in ("long", "unsigned long") else "ANTUNE_MORE"
        sums = f"gained_{name}, lost_{name}, {GROUPS}_{name}"
        yield f"ANTUNE_GROUPED({more}, {number}, {name}, plain_{name}, {sums}, {a.elements});"
        if a.type in _WRAPS:
            yield from (f"ANTUNE_AROUND({_WRAPS[a.type]}, {end}, plain_{name}, {AROUND}_{name}, {a.elements});"
                        for end in (low, high))
        if a.type in REAL:
            yield f"ANTUNE_APART({error_type(a)}, {number}, {name}, {_ERRORS}{name}, {APART}_{name}, {a.elements});"

    @property
    def arrays(self) -> Iterator[tuple[str, str]]:
        """The types and names of further arrays of the function."""
        yield from ((error_type(a), _ERRORS + a.name) for a in self._with_errors if not _is_local(a))
        yield from ((a.type, begin + a.name) for a in self.program.outputs if a.name in self._ended
                    for begin in (_LOW, _HIGH))

    @property
    def errors(self) -> Iterator[tuple[str, int]]:
        """The names of the arrays of errors, and their sizes in bytes."""
        yield from ((_ERRORS + a.name, a.elements * ELEMENT_BYTES[error_type(a)]) for a in self._with_errors
                    if not _is_local(a))

    def ends_of(self, array: Array) -> tuple[str, ...]:
        """Return the names of the arrays with the ends of an array's values in one run."""
        return (_LOW + array.name, _HIGH + array.name) if array.name in self._ended else ()

    @property
    def scalars(self) -> Iterator[tuple[str, str]]:
        """The types and names of further variables of the function."""
        yield from ((error_type(a), _ERRORS + a.name) for a in self._with_errors if _is_local(a))

    def statement(self, instance: Instance) -> Iterator[str]:
        """Yield a statement with error bounds."""
        statement = self.program.statement(instance.name)
        values = dict(zip(statement.iterators, instance.arguments, strict=True))
        body = statement.body
        errors = {a.name: _ERRORS + a.name for a in self._with_errors}
        bounds = ErrorBounds(self._all, self._types, {a.name: a.extents for a in self.program.arrays}, errors)
        yield "{"
        for number, (name, value) in enumerate(body.lets):
            if number == body.before_guard and body.guard is not None:
                yield from _guarded(bounds, substitute(body.guard, values))
            bounds.known[name] = _variable(bounds, bounds.of(substitute(value, values)), name.type)
        if body.before_guard == len(body.lets) and body.guard is not None:
            yield from _guarded(bounds, substitute(body.guard, values))
        self._store(bounds, substitute(body.target, values), body.op, substitute(body.value, values))
        yield from bounds.lines
        yield "}" if body.guard is None else "}}"

    def _store(self, bounds: ErrorBounds, target: Expr, op: str, value: Expr) -> None:
        """Add the lines that compute and store a value."""
        assert isinstance(target, Load)
        kind = self._types[target.array]
        if kind not in REAL and op and c_type(value, self._types) in FLOATING:
            op, value = "", Binary(op, target, value)
        place = bounds.place(target)
        text = bounds.text(place)
        if kind in REAL:
            _store_real(bounds, place, op, bounds.of(value), kind)
            return
        number = value.operand if isinstance(value, Cast) and value.type == kind else value
        if target.array in self._ended and c_type(number, self._types) in FLOATING:
            self._store_ended(bounds, place, bounds.of(number), kind)
            return
        found = bounds.of(value)
        if found.kind in REAL:
            found = bounds.cut(found, kind)
        bounds.lines.append(f"{text} {op}= {bounds.text(found.expr)};")
        if target.array in self._ended:
            bounds.lines += [f"{bounds.text(Load(begin + target.array, place.index))} = {text};"
                             for begin in (_LOW, _HIGH)]

    def _store_ended(self, bounds: ErrorBounds, place: Load, value: Bounded, kind: str) -> None:
        """Add the lines that store a truncated number, and the ends that its error permits."""
        number = bounds.number(bounds.text(value.expr), value.kind)
        reach = bounds.number(bounds.reach(Bounded(number, value.kind, value.error)))
        least, most = integer_limits(kind)
        bounds.lines.append(f"{bounds.text(place)} = ({kind}){number.name};")
        for begin, sign in ((_LOW, "-"), (_HIGH, "+")):
            end = f"antune_within({number.name} {sign} {reach.name}, {number.name}, {float(least)!r}, {float(most)!r})"
            bounds.lines.append(f"{bounds.text(Load(begin + place.array, place.index))} = "
                                f"{reach.name} > 0 ? ({kind}){end} : ({kind}){number.name};")

    def _converts(self, target: str, value: Expr) -> bool:
        return self._types[target] not in REAL and c_type(value, self._types) in REAL

    @cached_property
    def _types(self) -> dict[str, str]:
        return {a.name: a.type for a in self.program.arrays}

    @cached_property
    def _with_errors(self) -> tuple[Array, ...]:
        """The arrays with an array of errors: those of all real numbers that are computed."""
        return tuple(a for a in self.program.arrays if a.role != "in" and a.type in REAL)

    @cached_property
    def _all(self) -> Printer:
        """The printer for all arrays."""
        more = [(name, begin + name) for name in self._types for begin in (_ERRORS, _LOW, _HIGH)]
        shapes, scalars = self.printer.shapes, self.printer.scalars
        return replace(self.printer, shapes={**shapes, **{new: shapes[name] for name, new in more if name in shapes}},
                       scalars={**scalars, **{new: f"{new}[0]" for name, new in more if name in scalars}})

    @cached_property
    def _ended(self) -> frozenset[str]:
        """Outputs of integers that nothing reads: the last truncation is not moved, but both ends are stored."""
        read = {access.array for s in self.program.statements for access in s.accesses if access.kind == "read"}
        return frozenset(a.name for a in self.program.outputs if a.type not in REAL) - read


def _number(array: Array) -> str:
    """Return the C function that gives the number of an element, if there is one."""
    return TO_FLOAT if array.type == "half" else ""


def _is_local(array: Array) -> bool:
    return not array.extents and array.role == "temp"


def _written(condition: str, files: Sequence[tuple[str, str, str]], array: Array) -> Iterator[str]:
    """Yield the lines that write files: their names, arrays and types."""
    yield f"if ({condition}) {{"
    yield from (f'  antune_write("{file}", {data}, {array.elements}, sizeof({kind}));' for file, data, kind in files)
    yield "}"


def _new(kind: str, name: str, array: Array) -> str:
    return f"{kind} *{name} = antune_new({array.elements}, sizeof({kind}));"


def _guarded(bounds: ErrorBounds, guard: Expr) -> Sequence[str]:
    """Return what was computed so far, and the guard's `if`."""
    condition = bounds.text(bounds.of(guard).expr)
    before = (*bounds.lines, f"if ({condition}) {{")
    bounds.lines.clear()
    return before


def _variable(bounds: ErrorBounds, value: Bounded, kind: str) -> Bounded:
    """Return a let's value in a variable of the let's type."""
    if value.kind in REAL and kind not in REAL:
        value = bounds.cut(value, kind)
    name = bounds.number(bounds.text(value.expr), kind)
    if value.kind == "double" and kind == "float":
        error = f"antune_rounded_float({bounds.text(value.expr)}, {name.name}, {value.error})"
        return Bounded(name, kind, bounds.number(error).name)
    return Bounded(name, kind, value.error)


def _store_real(bounds: ErrorBounds, place: Load, op: str, value: Bounded, kind: str) -> None:
    """Add the lines that compute and store a number and its error."""
    text, error = bounds.text(place), bounds.text(Load(_ERRORS + place.array, place.index))
    if not op:
        bounds.lines.append(f"{text} = {bounds.text(value.expr)};")
        narrowed = f"antune_rounded_float({bounds.text(value.expr)}, {text}, {value.error})"
        bounds.lines.append(f"{error} = {narrowed if (value.kind, kind) == ('double', 'float') else value.error};")
        return
    old, before = bounds.number(text, kind), bounds.number(error)
    more = bounds.number(bounds.text(value.expr), value.kind)
    bounds.lines.append(f"{text} {op}= {more.name};")
    sign = "-" if op == "-" else ""
    name = {"+": "added", "-": "added", "*": "product", "/": "quotient"}[op]
    bounds.lines.append(f"{error} = antune_{name}_{kind}({old.name}, {sign}{more.name}, {text}, {before.name}, "
                        f"{value.error});")
