"""Affine expressions and conditions over loop iterators, as isl objects.

An `Iteration` is the set of iterations around a statement under construction: iterator names and the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl

from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Select, Unary, names_of
from generator.polyhedral.kit.members import ends
from generator.polyhedral.kit.wrapping import wrapped

_COMPARE = {"<": "lt_set", "<=": "le_set", ">": "gt_set", ">=": "ge_set", "==": "eq_set", "!=": "ne_set"}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class NotAffine(Exception):
    """The expression is not an affine function of iterators; the message says why."""


class DependsOnData(NotAffine):
    """The expression loads an element of an array or a scalar."""


class Undefined(NotAffine):
    """The expression has no value."""


@dataclass(frozen=True, slots=True)
class Relation:
    """An access relation as isl text. `exact[d]`: whether subscript d is affine; otherwise it may be any index."""

    text: str
    exact: tuple[bool, ...]


_ISL_WORDS = frozenset(["and", "or", "not", "exists", "implies", "min", "max", "mod", "floor", "ceil", "floord",
                        "ceild", "infty", "infinity", "nan", "rat", "true", "false"])
"""Reserved words of isl's texts, in upper and lower case; found by experiment."""


def isl_word(name: str) -> bool:
    """Return whether isl cannot parse texts in which a dimension or parameter has this name."""
    return name.lower() in _ISL_WORDS


@dataclass(frozen=True, slots=True)
class Iteration:
    """Iterator names, outermost first, and the iterations that exist (an isl Set of that dimension)."""

    iterators: tuple[str, ...]
    domain: Any

    def enter(self, iterator: str) -> Iteration:
        """Return the iterations one loop deeper, not yet bounded."""
        depth = len(self.iterators)
        taken = {self.domain.get_dim_name(isl.dim_type.set, dim) for dim in range(depth)}
        name = iterator
        while name in taken or isl_word(name):
            name += "_"
        domain = self.domain.add_dims(isl.dim_type.set, 1).set_dim_name(isl.dim_type.set, depth, name)
        return Iteration((*self.iterators, iterator), domain)

    def restrict(self, condition: Any) -> Iteration:
        """Return only the iterations in `condition` (an isl Set)."""
        return Iteration(self.iterators, self.domain.intersect(condition))


def top() -> Iteration:
    """Return the single iteration outside of all loops."""
    return Iteration((), isl.Set("{ [] }"))


def affine(expr: Expr, at: Iteration) -> Any:
    """Return the isl PwAff of `expr` over the iterators of `at`. Raises NotAffine."""
    return Reading(at).value(expr)


def condition(expr: Expr, at: Iteration) -> Any:
    """Return the isl Set of iterations in which `expr` holds. Raises NotAffine."""
    return Reading(at).condition(expr)


class Reading:
    """Converts expressions over the iterators of `at`, each object once, however often it is used."""

    def __init__(self, at: Iteration) -> None:
        self.at = at
        self._values: dict[int, tuple[Expr, Any]] = {}
        self._conditions: dict[int, tuple[Expr, Any]] = {}

    def value(self, expr: Expr) -> Any:
        """Return the isl PwAff of `expr`. Raises NotAffine."""
        if id(expr) not in self._values:
            self._values[id(expr)] = expr, self._value(expr)
        return self._values[id(expr)][1]

    def condition(self, expr: Expr) -> Any:
        """Return the isl Set of iterations in which `expr` holds. Raises NotAffine."""
        if id(expr) not in self._conditions:
            self._conditions[id(expr)] = expr, self._condition(expr)
        return self._conditions[id(expr)][1]

    def _value(self, expr: Expr) -> Any:
        match expr:
            case Int(value):
                return _constant(value, self.at)
            case Name(name) if name not in self.at.iterators:
                raise DependsOnData(f"it depends on `{name}`, which counts in a loop with bounds that are data")
            case Name(name):
                zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self.at.domain.space))
                position = self.at.iterators.index(name)
                return isl.PwAff.from_aff(zero.set_coefficient_val(isl.dim_type.in_, position, 1))
            case Unary("-", operand):
                return self.value(operand).neg()
            case Unary("+", operand):
                return self.value(operand)
            case Cast(kind, operand) if kind not in ("float", "double"):
                return self.value(operand)
            case Binary("+", left, right):
                return self.value(left).add(self.value(right))
            case Binary("-", left, right):
                return self.value(left).sub(self.value(right))
            case Binary("*" | "/" | "%" as op, left, right):
                return _product(op, self.value(left), self.value(right))
            case Binary("<<" | ">>" | "&" as op, left, right):
                return _bits(op, self.value(left), self.value(right))
            case Binary("min", left, right):
                return self.value(left).min(self.value(right))
            case Binary("max", left, right):
                return self.value(left).max(self.value(right))
            case Select(test, then, otherwise):
                yes = self.condition(test)
                no = isl.Set.universe(self.at.domain.space).subtract(yes)
                return self.value(then).intersect_domain(yes).union_add(self.value(otherwise).intersect_domain(no))
            case Call("floor" | "ceil" as function, (Binary("/", Cast("double", dividend), Cast("double", divisor)),)):
                # floord, ceild of polyhedral tools
                return _rounded(function, self.value(dividend), self.value(divisor))
            case Load(array):
                raise DependsOnData(f"it depends on the data in `{array}`")
            case _:
                raise NotAffine("only + - * / % << >> by constants and ?: of iterators and parameters are affine")

    def _condition(self, expr: Expr) -> Any:
        match expr:
            case Binary(op, left, right) if op in _COMPARE:
                return getattr(self.value(left), _COMPARE[op])(self.value(right))
            case Binary("&&", left, right):
                return self.condition(left).intersect(self.condition(right))
            case Binary("||", left, right):
                return self.condition(left).union(self.condition(right))
            case Unary("!", Binary(op, left, right)) if op in _NEGATED:
                return self.condition(Binary(_NEGATED[op], left, right))
            case Unary("!", operand):
                return isl.Set.universe(self.at.domain.space).subtract(self.condition(operand))
            case Select(test, then, otherwise):
                yes = self.condition(test)
                no = isl.Set.universe(self.at.domain.space).subtract(yes)
                return self.condition(then).intersect(yes).union(self.condition(otherwise).intersect(no))
            case _:
                return self.value(expr).ne_set(_constant(0, self.at))


def _constant(value: int, at: Iteration) -> Any:
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(at.domain.space))
    return isl.PwAff.from_aff(zero.set_constant_val(isl.Val(str(value))))  # as text: any size


def _product(op: str, left: Any, right: Any) -> Any:
    if op == "*":
        if not (left.is_cst() or right.is_cst()):
            raise NotAffine("it multiplies two iterators")
        return left.mul(right)
    if not right.is_cst() or right.min_val().ne(right.max_val()):
        raise NotAffine("it divides by something that is not constant")
    divisor = right.max_val()
    if divisor.is_zero():
        raise Undefined("it divides by 0")
    magnitude = right.neg() if divisor.is_neg() else right  # isl truncates towards 0 for positive divisors only
    if op == "%":
        return left.tdiv_r(magnitude)
    quotient = left.tdiv_q(magnitude)
    return quotient.neg() if divisor.is_neg() else quotient


def _bits(op: str, left: Any, right: Any) -> Any:
    """Return shifts by a constant, and the lowest bits of a number (`i & 7`), as in two's complement."""
    if not right.is_cst() or right.min_val().ne(right.max_val()):
        raise NotAffine(f"the right side of `{op}` is not constant")
    bits = right.max_val().to_python()
    if op == "&":
        if bits < 0 or bits & (bits + 1):
            raise NotAffine("only the lowest bits are affine (`i & 7`, not `i & 6`)")
        return left.mod_val(isl.Val(str(bits + 1)))
    if not 0 <= bits < 64:
        raise Undefined(f"it shifts by {bits}")
    factor = isl.Val(str(2 ** bits))
    return left.scale_val(factor) if op == "<<" else left.scale_down_val(factor).floor()


def _rounded(function: str, dividend: Any, divisor: Any) -> Any:
    """Return the quotient of integers, rounded down (`floor`) or up."""
    if not divisor.is_cst() or divisor.min_val().ne(divisor.max_val()):
        raise NotAffine("it divides by something that is not constant")
    if divisor.max_val().is_zero():
        raise Undefined("it divides by 0")
    quotient = dividend.div(divisor)
    return quotient.floor() if function == "floor" else quotient.ceil()


def loop_domain(at: Iteration, start: Expr, test: Expr, step: int, quick: bool = False) -> Iteration:
    """Return the iterations of `for (i = start; test; i += step)`, where i is the last iterator of `at`.

    `quick` computes the same set with less work, but not always with the same text, which is part of a program's
    identity.

    Raises:
        NotAffine: start or test is not affine, or the loop never ends.
    """
    first = affine(start, at)
    iterator = affine(Name(at.iterators[-1]), at)
    begun = iterator.ge_set(first) if step > 0 else iterator.le_set(first)
    reached = at.restrict(begun)
    if abs(step) != 1:
        reached = reached.restrict(iterator.sub(first).mod_val(isl.Val(str(abs(step)))).eq_set(_constant(0, at)))
    holds = condition(test, at)
    inside = reached.domain.intersect(holds)
    if not (quick and stays_false(test, at.iterators[-1], step)):
        inside = inside.subtract(_after_end(reached, holds, step))
    if not inside.is_bounded():
        raise NotAffine("the loop has no end, or reaches it only as its iterator wraps around")
    _refuse_wrapping(start, at, lambda: reached.domain)
    _refuse_wrapping(test, at, lambda: reached.domain.subtract(_after_end(reached, holds, step)))
    return Iteration(at.iterators, inside.coalesce())


def _after_end(reached: Iteration, holds: Any, step: int) -> Any:
    """Return the iterations of a loop after the one at which its condition first fails (an isl Set).

    `holds`: where the condition holds.
    """
    space = reached.domain.space
    order = isl.Map.lex_lt(space) if step > 0 else isl.Map.lex_gt(space)
    for dim in range(len(reached.iterators) - 1):
        order = order.equate(isl.dim_type.in_, dim, isl.dim_type.out, dim)
    return reached.domain.subtract(holds).apply(order)


def stays_false(test: Expr, iterator: str, step: int) -> bool:
    """Return whether `test` obviously stays false once it fails: `i < e` without `i` in `e`, where i grows."""
    match test:
        case Binary("<" | "<=", Name(name), bound) if step > 0:
            return name == iterator and iterator not in names_of(bound)
        case Binary(">" | ">=", Name(name), bound) if step < 0:
            return name == iterator and iterator not in names_of(bound)
        case Binary("&&", left, right):
            return stays_false(left, iterator, step) and stays_false(right, iterator, step)
        case _:
            return False


def _refuse_wrapping(expr: Expr, at: Iteration, points: Callable[[], Any]) -> None:
    """Raise NotAffine if C's value of `expr` differs from the affine one at one of `points` (an isl Set)."""
    reading = Reading(at)
    wrong = wrapped(expr, reading.value, reading.condition)
    if wrong is not None and not wrong.intersect(points()).is_empty():
        raise NotAffine("its unsigned or narrow integers wrap around")


def holds(expr: Expr, at: Iteration) -> Any:
    """Return the isl Set of the iterations of `at` in which the condition `expr` holds. Raises NotAffine."""
    result = condition(expr, at).intersect(at.domain)
    _refuse_wrapping(expr, at, lambda: at.domain)
    return result


def subtract(at: Iteration, removed: Any) -> Iteration:
    """Return the iterations of `at` that are not in the isl Set `removed`."""
    return Iteration(at.iterators, at.domain.subtract(removed).coalesce())


def bounds(at: Iteration) -> tuple[tuple[int, int], ...]:
    """Return the least and the greatest value of each iterator of `at`, which must not be empty."""
    return ends(at.domain)


def relation(at: Iteration, statement: str, array: str, subscripts: Sequence[Expr],
             extents: Sequence[int | None]) -> Relation:
    """Return `{ statement[iterators] -> array[subscripts] }` on the domain.

    A subscript that is not affine may be any index of its dimension: 0 .. extent - 1.

    Raises:
        NotAffine: such a subscript, if the extent is None (unknown).
        Undefined: a subscript without a value.
    """
    result = isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, len(at.iterators), 0))
    exact = []
    for subscript, extent in zip(subscripts, extents, strict=True):
        try:
            index = isl.Map.from_pw_aff(affine(subscript, at))
            _refuse_wrapping(subscript, at, lambda: at.domain)
        except NotAffine as error:
            if extent is None or isinstance(error, Undefined):
                raise
            index, known = _anywhere(at, extent), False
        else:
            known = True
        result = result.flat_range_product(index)
        exact.append(known)
    result = result.intersect_domain(at.domain)
    named = result.set_tuple_name(isl.dim_type.in_, statement).set_tuple_name(isl.dim_type.out, array)
    return Relation(str(named), tuple(exact))


def _anywhere(at: Iteration, extent: int) -> Any:
    """Return the isl Map from all iterations to 0 .. extent - 1."""
    return isl.Map.from_domain_and_range(isl.Set.universe(at.domain.space), isl.Set(f"{{ [e] : 0 <= e < {extent} }}"))


def domain_text(at: Iteration, statement: str) -> str:
    """Return the domain as isl text, with the statement's name."""
    return str(at.domain.coalesce().set_tuple_name(statement))
