"""Elements that a thread keeps in registers: loaded or set to neutral before its loops, stored or combined after them.

    used by one thread    load, update in registers, store
    shared by several     start from the neutral element, then combine: by atomic updates, or in shared memory or by
                          shuffles first and one atomic update per block or warp
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from generator.arithmetic import integer_limits
from generator.expr import Binary, Expr, Int, Load, Name, Real, Select, Unary
from generator.nest import Assign, Atomic, Declare, For, If, Node, Shuffle
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import Operator
from generator.polyhedral.memory.accumulate import Kept, Sharing
from generator.polyhedral.memory.mapping import Points, thread_names
from generator.program import ELEMENT_BYTES
from generator.target import LANES


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """An array kept in registers: variable `name` with one element per point in `points`.

    `loops`: per statement, the names of the loops over these points. `sharing`: the other threads that update an
    element; `operator` combines their values. `element`, `exists`: the subscripts of the element of point `names`, and
    whether it exists.
    """

    name: str
    array: str
    type: str
    kept: Kept
    points: tuple[Points, ...]
    loops: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]
    element: tuple[Expr, ...]
    exists: Expr
    sharing: Sharing
    operator: Operator | None
    loaded: bool

    def at(self, statement: str) -> Load:
        """Return the register that `statement` uses inside its loops."""
        return Load(self.name, tuple(Name(n) for n in self.loops[statement]))

    @property
    def here(self) -> Load:
        """The register of point `names`."""
        return Load(self.name, tuple(Name(n) for n in self.names))

    @property
    def target(self) -> Load:
        """The element in global memory of point `names`."""
        return Load(self.array, self.element)


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A variable of a thread that replaces `array`, which is not visible outside: one element per point in `points`.

    `points`, `loops`: as in Register. `kept`: the elements that it holds, if a point has only one.
    """

    name: str
    array: str
    type: str
    points: tuple[Points, ...]
    loops: Mapping[str, tuple[str, ...]]
    kept: Kept | None

    def at(self, statement: str) -> Load:
        """Return the variable that `statement` uses inside its loops."""
        return Load(self.name, tuple(Name(n) for n in self.loops[statement]))

    @property
    def declared(self) -> Node:
        """Its declaration: every read comes after a write."""
        return Declare(self.name, self.type, tuple(p.count for p in self.points))


def opening(register: Register) -> Iterator[Node]:
    """Yield the declaration and the initial values."""
    yield Declare(register.name, register.type, tuple(p.count for p in register.points))
    first: Expr = Int(0)
    if register.sharing != "thread":
        assert register.operator is not None, "only reductions are combined"
        first = neutral(register.operator, register.type)
    elif register.loaded:
        first = register.target if register.exists == Int(1) else Select(register.exists, register.target, Int(0))
    yield from _over_points(register, (Assign(register.here, "", first),))


def neutral(operator: Operator, kind: str) -> Expr:
    """Return the neutral element of type `kind`."""
    match operator:
        case "+":
            return Int(0)
        case "*":
            return Int(1)
        case "min" | "max":
            return extreme(kind, operator == "min")


def extreme(kind: str, greatest: bool) -> Expr:
    """Return the greatest (least) value of a C type."""
    if kind in ("float", "double"):
        return Real("INFINITY" if greatest else "-INFINITY")
    if kind.startswith("unsigned"):
        return Unary("~", Int(0)) if greatest else Int(0)  # all bits set, in any width
    low, high = integer_limits(kind)
    return Int(high) if greatest else Binary("-", Int(low + 1), Int(1))


def exchanges(plan: KernelPlan, kind: str) -> bool:
    """Return whether elements of this type are stored by atomic exchange: devices have none for small ones."""
    return plan.exchange and ELEMENT_BYTES[kind] >= 4


def closing(register: Register, plan: KernelPlan) -> Iterator[Node]:
    """Yield the nodes that bring the values back to global memory after the loops, one thread or warp at a time."""
    if register.sharing == "thread":
        store: Node = Assign(register.target, "", register.here)
        if exchanges(plan, register.type):
            store = Atomic(register.target, "=", register.here, register.type)
        yield from _over_points(register, guarded(register.exists, store))
        return
    yield from _over_points(register, tuple(_combine(register, plan)))


def reducing(register: Register, plan: KernelPlan) -> tuple[int, ...]:
    """Return the thread dimensions along which several threads update the same element."""
    return tuple(d for d, size in enumerate(plan.block) if size > 1 and d not in register.kept.owned)


def can_shuffle(register: Register, plan: KernelPlan) -> bool:
    """Return whether whole warps lie along x and update the same element."""
    return bool(plan.block) and len(plan.block) - 1 in reducing(register, plan) and plan.block[-1] % LANES == 0


def _combine(register: Register, plan: KernelPlan) -> Iterator[Node]:
    assert register.operator is not None
    threads = thread_names(len(plan.block))
    update = Atomic(register.target, register.operator, register.here, register.type)
    if plan.combine == "shuffle" and can_shuffle(register, plan):
        yield Shuffle(register.here, register.operator, register.type, LANES)
        first = _equal(threads[-1] if plan.block[-1] == LANES else Binary("%", Name(threads[-1]), Int(LANES)), 0)
        yield from guarded(_and(first, register.exists), update)
    else:
        yield from guarded(register.exists, update)


def flat(dims: tuple[int, ...], block: tuple[int, ...]) -> tuple[Expr, int]:
    """Return a number for the threads along `dims`, x fastest, and their count."""
    names = thread_names(len(block))
    number: Expr = Int(0)
    count = 1
    for d in dims:
        number = Name(names[d]) if count == 1 else Binary("+", Binary("*", number, Int(block[d])), Name(names[d]))
        count *= block[d]
    return number, count


def _over_points(register: Register, body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `body` for every point of the thread."""
    for name, points in reversed(list(zip(register.names, register.points, strict=True))):
        body = (For(name, Int(0), Binary("<", Name(name), Int(points.count)), 1, body, "", points.count),)
    return body


def guarded(condition: Expr, node: Node) -> tuple[Node, ...]:
    """Return the node under a condition, unless that always holds."""
    return (node,) if condition == Int(1) else (If(condition, (node,)),)


def _equal(value: Expr | str, number: int) -> Expr:
    return Binary("==", Name(value) if isinstance(value, str) else value, Int(number))


def _and(left: Expr, right: Expr) -> Expr:
    return left if right == Int(1) else Binary("&&", left, right)
