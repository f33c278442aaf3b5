"""Running error bounds: expressions as C that computes, beside each number, a bound on its rounding error.

The bound is of first order (J. H. Wilkinson, Error analysis revisited, 1986; N. J. Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed. 2002, section 3.3), and 0 for numbers that no operation rounded. A number that is
truncated or compared has an undecided answer if numbers within its error have others (a test of J. Vignes, Math.
Comput. Simul. 35, 1993). `jumps.h` has the functions in C, and says which answer is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from generator.arithmetic import BIT_FUNCTIONS, FLOATING, REAL, TO_FLOAT, TO_HALF, c_type, common_type, integer_limits
from generator.emit.cstyle import Printer
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Select, Unary, map_children, parts

LOOP = "loop_"
"""What the names of loop variables begin with."""
STEPS = frozenset(["floor", "ceil", "rint", "round", "trunc"])
COMPARED = frozenset(["<", "<=", ">", ">=", "==", "!="])
BITS_OF = frozenset(["antune_as_uint", "antune_as_ulong"])
_EXACT = "0"
_CHANGING = {"+": "sum", "-": "sum", "*": "product", "/": "quotient"}
_NARROW = frozenset(["char", "unsigned char", "short", "unsigned short"])


@dataclass(frozen=True, slots=True)
class Bounded:
    """An expression whose parts have been computed, its C type, and the C text of its error."""

    expr: Expr
    kind: str
    error: str = _EXACT

    @property
    def exact(self) -> bool:
        """Whether no operation rounded it, whatever the data are."""
        return self.error == _EXACT


def is_jump(expr: Expr, types: Mapping[str, str]) -> bool:
    """Return whether `expr` truncates or compares real numbers, or takes their bits."""
    match expr:
        case Cast(kind, operand):
            return kind not in REAL and c_type(operand, types) in REAL
        case Binary(op, left, right):
            kinds = {c_type(left, types), c_type(right, types)}
            return (op in COMPARED and bool(kinds & FLOATING)) or "half" in kinds
        case Call(function, _):
            return function in BITS_OF or function.removesuffix("f") in STEPS
        case _:
            return False


@dataclass(slots=True)
class ErrorBounds:
    """Turns expressions of one statement into declarations (`lines`), in order of computation.

    `types`, `shapes`: of all arrays. `errors`: the arrays of errors, by array; the elements of other arrays are exact.
    `known`: variables of the statement, and what was computed before. `selected`: how many selections are around, whose
    values are both computed, and `&&` and `||`, whose operands are.
    """

    printer: Printer
    types: Mapping[str, str]
    shapes: Mapping[str, tuple[int, ...]]
    errors: Mapping[str, str]
    lines: list[str] = field(default_factory=list)
    known: dict[Expr, Bounded] = field(default_factory=dict)
    variables: int = 0
    selected: int = 0

    def of(self, expr: Expr) -> Bounded:
        """Return `expr` with its error."""
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = self._of(expr)
        return found

    def place(self, load: Load) -> Load:
        """Return an element with computed subscripts; those that depend on data stay within the array."""
        index = [self.of(one).expr for one in load.index]
        shape = self.shapes.get(load.array, ())
        return Load(load.array, tuple(_inside(one, extent, self.selected) for one, extent
                                      in zip(index, shape, strict=True)))

    def text(self, expr: Expr, outer: int = 0) -> str:
        """Return the C text of an expression (see `Printer.text`)."""
        return self.printer.text(expr, outer)

    def number(self, text: str, kind: str = "double") -> Name:
        """Return a new variable with the value `text`."""
        name = self._new(kind)
        self.lines.append(f"const {kind} {name.name} = {text};")
        return name

    def _new(self, kind: str) -> Name:
        self.variables += 1
        return Name(f"antune_{'e' if kind == 'double' else 'v'}{self.variables}", kind)

    def reach(self, value: Bounded) -> str:
        """Return how far the number may be from that of another program."""
        kind = "double" if value.kind == "double" else "float"
        return f"antune_reach_{kind}({self.text(value.expr)}, {value.error})"

    def cut(self, value: Bounded, kind: str) -> Bounded:
        """Return a number as an integer."""
        value = self.bits(value)
        if value.exact or value.kind not in FLOATING:
            return Bounded(Cast(kind, value.expr), kind)
        least, most = integer_limits(kind)
        operands = f"{self.text(value.expr)}, {self.reach(value)}, {float(least)!r}, {float(most)!r}"
        return Bounded(self.number(f"({kind})antune_cut({operands})", kind), kind)

    def bits(self, value: Bounded) -> Bounded:
        """Return the bits of a half, which is used as an integer; other values as they are."""
        if value.kind != "half" or value.exact:
            return value
        number = Call(TO_FLOAT, (value.expr,))
        return self._moved_bits(TO_HALF, Bounded(number, "float", value.error), "unsigned short")

    def _moved_bits(self, function: str, value: Bounded, kind: str) -> Bounded:
        text = f"ANTUNE_BITS({function}, {self.text(value.expr)}, {self.reach(value)})"
        return Bounded(self.number(text, kind), kind)

    def _of(self, expr: Expr) -> Bounded:
        match expr:
            case Load():
                return self._load(expr)
            case Binary():
                return self._binary(expr)
            case Select():
                return self._select(expr)
            case Cast(kind, operand):
                return self._cast(kind, self.of(operand))
            case Call(function, arguments):
                return self._call(function, [self.of(one) for one in arguments])
            case Unary("-" | "+", operand) if not (inner := self.of(operand)).exact:
                return self._kept(Unary(expr.op, inner.expr), inner.error)
            case _:
                made = map_children(expr, lambda child: self.of(child).expr)
                return Bounded(made, c_type(made, self.types))

    def _kept(self, expr: Expr, error: str) -> Bounded:
        """Return the value in a variable, with this error."""
        kind = c_type(expr, self.types)
        value = self.number(self.text(expr), kind)
        return Bounded(value, kind, error if error == _EXACT else self.number(error).name)

    def _load(self, load: Load) -> Bounded:
        place = self.place(load)
        if load.array not in self.errors:
            return Bounded(place, self.types[load.array])
        return self._kept(place, self.text(Load(self.errors[load.array], place.index)))

    def _binary(self, expr: Binary) -> Bounded:
        left, later = self.bits(self.of(expr.left)), expr.op in ("&&", "||")
        self.selected += later
        right = self.bits(self.of(expr.right))
        self.selected -= later
        kind = common_type(left.kind, right.kind)
        divides = self.selected and expr.op in ("/", "%") and kind not in FLOATING and not isinstance(right.expr, Int)
        divisor = self.number(f"antune_divisor({self.text(right.expr)})", right.kind) if divides else right.expr
        made = Binary(expr.op, left.expr, divisor)
        if kind not in FLOATING:
            return Bounded(made, c_type(made, self.types))
        if expr.op in COMPARED:
            return self._compared(made, left, right, kind)
        if expr.op in ("min", "max"):
            return self._extreme(made, left, right)
        if expr.op not in _CHANGING:
            return Bounded(made, c_type(made, self.types))
        a, b = (self.number(self.text(one.expr), kind) for one in (left, right))
        value = self.number(self.text(Binary(expr.op, a, b)), kind)
        sign = "-" if expr.op == "-" else ""
        operands = f"{a.name}, {sign}{b.name}, {value.name}, {left.error}, {right.error}"
        error = f"antune_{_CHANGING[expr.op]}_{kind}({operands})"
        for one, name in ((left, a), (right, b)):  # an integer that the number's type may not hold
            if one.kind not in FLOATING and one.kind not in _NARROW and not isinstance(one.expr, Int):
                error += f" + antune_rounded_{kind}({self.text(one.expr)}, {name.name}, 0)"
        return Bounded(value, kind, self.number(error).name)

    def _compared(self, made: Binary, left: Bounded, right: Bounded, kind: str) -> Bounded:
        if left.exact and right.exact:
            return Bounded(made, "int")
        plain = self.text(made)
        match made.op:
            case "==" | "!=":
                up = f"!({plain})"
            case _:
                up = "1" if made.op in (">", ">=") else "0"
        operands = f"{self.text(left.expr)}, {self.text(right.expr)}, {left.error} + {right.error}"
        return Bounded(self.number(f"antune_compared_{kind}({plain}, {up}, {operands})", "int"), "int")

    def _extreme(self, made: Expr, left: Bounded, right: Bounded) -> Bounded:
        value = self._kept(made, _EXACT)
        if left.exact and right.exact:
            return value
        texts = ", ".join(self.text(one.expr) for one in (left, right, value))
        error = f"antune_extreme_{value.kind}({texts}, {left.error}, {right.error})"
        return Bounded(value.expr, value.kind, self.number(error).name)

    def _branch(self, expr: Expr) -> tuple[Bounded, list[str]]:
        """Return an expression and the lines that compute it, which nothing else may use."""
        before, known = self.lines, self.known
        self.lines, self.known = [], dict(known)
        made = self.of(expr)
        lines, self.lines, self.known = self.lines, before, known
        return made, lines

    def _chosen(self, expr: Select) -> Bounded:
        """Return a selection by loop variables, of which only one value is computed."""
        chosen = self.text(self.of(expr.condition).expr)
        (then, first), (otherwise, second) = self._branch(expr.then), self._branch(expr.otherwise)
        kind = common_type(then.kind, otherwise.kind)
        value, error = self._new(kind), self._new("double")
        self.lines.append(f"{kind} {value.name}; double {error.name};")
        for head, lines, made in ((f"if ({chosen}) {{", first, then), ("} else {", second, otherwise)):
            self.lines += [head, *lines, f"{value.name} = {self.text(made.expr)}; {error.name} = {made.error};"]
        self.lines.append("}")
        return Bounded(value, kind, _EXACT if then.exact and otherwise.exact else error.name)

    def _select(self, expr: Select) -> Bounded:
        kinds = {c_type(one, self.types) for one in (expr.then, expr.otherwise)}
        if kinds <= FLOATING and _of_loops(expr.condition):
            return self._chosen(expr)
        self.selected += 1
        then, otherwise = self.of(expr.then), self.of(expr.otherwise)
        self.selected -= 1
        if common_type(then.kind, otherwise.kind) in FLOATING and _takes_extreme(expr):
            condition = map_children(expr.condition, lambda child: self.of(child).expr)
            return self._extreme(Select(condition, then.expr, otherwise.expr), then, otherwise)
        if common_type(then.kind, otherwise.kind) not in FLOATING:
            then, otherwise = self.bits(then), self.bits(otherwise)
        made = Select(self.of(expr.condition).expr, then.expr, otherwise.expr)
        if then.exact and otherwise.exact:
            return Bounded(made, c_type(made, self.types))
        condition_text = self.text(made.condition, 4)
        return self._kept(made, f"{condition_text} ? {then.error} : {otherwise.error}")

    def _cast(self, kind: str, value: Bounded) -> Bounded:
        if kind not in FLOATING:
            return self.cut(value, kind)
        made = Cast(kind, value.expr)
        if kind == "double" and value.kind != "double" and "long" not in value.kind:
            return Bounded(made, kind) if value.exact else self._kept(made, value.error)
        if value.kind in _NARROW or value.kind == kind:
            return Bounded(made, kind, value.error)
        result = self.number(self.text(made), kind)
        error = f"antune_rounded_{kind}({self.text(value.expr)}, {result.name}, {value.error})"
        return Bounded(result, kind, self.number(error).name)

    def _call(self, function: str, values: Sequence[Bounded]) -> Bounded:
        made = Call(function, tuple(value.expr for value in values))
        kind, name = c_type(made, self.types), function.removesuffix("f")
        if function in (TO_FLOAT, TO_HALF):
            return self._half(made, values[0])
        if function in BITS_OF and not values[0].exact:
            return self._moved_bits(function, values[0], kind)
        if kind not in FLOATING or function in BIT_FUNCTIONS:
            return Bounded(made, kind)
        if name in ("fmin", "fmax"):
            return self._extreme(made, *values)
        if name == "fabs":
            return Bounded(made, kind) if values[0].exact else self._kept(made, values[0].error)
        if name in STEPS:
            return Bounded(made, kind) if values[0].exact else Bounded(self.number(
                f"ANTUNE_STEP({name}, {self.text(values[0].expr)}, {self.reach(values[0])})", kind), kind)
        return self._function(made, kind, values)

    def _half(self, made: Call, value: Bounded) -> Bounded:
        """Return a conversion from or to a half; the error is that of the number. An exact one is rounded alike
        everywhere.
        """
        if value.exact:
            return Bounded(made, c_type(made, self.types))
        if made.function == TO_FLOAT:
            return self._kept(made, value.error)
        number = self.text(value.expr)
        back = self.text(Call(TO_FLOAT, (made,)))
        return self._kept(made, f"{value.error} > 0 ? {value.error} + __builtin_fabs((double){back} - ({number})) : 0")

    def _function(self, made: Call, kind: str, values: Sequence[Bounded]) -> Bounded:
        """Return a value of a function whose error in units depends on the library."""
        result = self.number(self.text(made), kind)
        errors = [f"8 * antune_unit_{kind}({result.name})"]
        for place, value in enumerate(values):
            if value.exact:
                continue
            ends = []
            for sign in "-+":
                moved = Name(f"({self.text(value.expr)}) {sign} ANTUNE_REACH * {value.error}", value.kind)
                before, after = made.arguments[:place], made.arguments[place + 1:]
                ends.append(self.text(Call(made.function, (*before, moved, *after))))
            errors.append(f"ANTUNE_CHANGE({ends[0]}, {result.name}, {ends[1]})")
        return Bounded(result, kind, self.number(" + ".join(errors)).name)


def _takes_extreme(expr: Select) -> bool:
    """Return whether the selection is the lesser or the greater one of two numbers: it does not jump."""
    match expr.condition:
        case Binary("<" | "<=" | ">" | ">=", left, right):
            return (expr.then, expr.otherwise) in ((left, right), (right, left))
        case _:
            return False


def _inside(index: Expr, extent: int, selected: int) -> Expr:
    """Return a subscript that is within an array of this extent, unless it depends on iterators alone in any case."""
    if _of_loops(index) and not selected:
        return index
    return Call("antune_index", (index, Int(extent)))


def _of_loops(expr: Expr) -> bool:
    """Return whether an expression depends on loop variables alone."""
    return all(part.name.startswith(LOOP) if isinstance(part, Name) else isinstance(part, Int | Unary | Binary)
               for part in parts(expr))
