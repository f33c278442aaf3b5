"""Name values that an expression uses more than once, so that they appear once in the text.

    (a*a + a) * (a*a + a)  ->  value_0 = a*a + a;  value_0 * value_0

Front ends build expressions as graphs, with the same or equal objects in many places. Written as a tree, such an
expression may exceed memory. Named values are trees whose total length is about that of the graph.

A named value is always computed. So a value that the expression computes only under a condition may be named only if it
cannot fail: it has no integer division by a possible 0. Elements are read in any case, too: this is for languages in
which they exist wherever an expression is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from generator.arithmetic import FLOATING, c_type
from generator.expr import Binary, Call, Cast, Expr, Fold, Int, Load, Name, Real, Select, Unary, children, map_children

WORTH = 16
"""The number of operators, numbers and names that a name must save: compilers find shorter repetitions themselves."""
WORTH_OF_INDEX = 200
"""The same for values of iterators only: `emit/opaque.py` needs to see them whole."""
MOST = 20_000
"""The maximum number of operators, numbers and names of a statement; each takes about 10 characters of text."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Named values that expressions use repeatedly, each after those that it uses, and the expressions with these
    names.
    """

    lets: tuple[tuple[Name, Expr], ...]
    roots: tuple[Expr, ...]


class TooLong(Exception):
    """An expression has too many operators even with named values; `size` is their number."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


def shared(roots: Sequence[Expr], types: Mapping[str, str], taken: Collection[str],
           guard: Expr | None = None) -> Shared:
    """Name the repeated values of `roots`. `types`: those of arrays; `taken`: names that must not be used.

    All roots are computed where `guard` holds. The guard is computed before them and becomes the last root.

    Raises:
        TooLong: the result has more than MOST operators, numbers and names.
    """
    graph = _Graph(types)
    first = [] if guard is None else [graph.node(guard)]  # values of the guard are computed first
    before = len(graph.nodes)
    tops = [*map(graph.node, roots), *first]
    named = graph.named(tops, first, before)
    size = sum(graph.sizes[place] for place in (*tops, *named))
    if size > MOST:
        raise TooLong(size)
    written: list[Expr] = []
    lets: list[tuple[Name, Expr]] = []
    free = (name for name in (f"value_{number}" for number in count()) if name not in taken)
    for place, node in enumerate(graph.nodes):
        value = _with_operands(node, [written[child] for child in graph.operands[place]])
        if place in named:
            name = Name(next(free), graph.types[place])
            lets.append((name, value))
            value = name
        written.append(value)
    return Shared(tuple(lets), tuple(written[top] for top in tops))


def size_of(root: Expr) -> int:
    """Return the operators, numbers and names of `root` as a tree; fast even if that tree would be too long to build.
    """
    found: dict[int, int] = {}
    for expr in in_order(root):
        found[id(expr)] = 1 + sum(found[id(child)] for child in children(expr))
    return found[id(root)]


def in_order(root: Expr, below: Callable[[Expr], tuple[Expr, ...]] = children) -> Iterator[Expr]:
    """Yield all different objects in `root`, those `below` an expression before it."""
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        expr, ready = stack.pop()
        if ready:
            yield expr
        elif id(expr) not in seen:
            seen.add(id(expr))
            stack.append((expr, True))
            stack += [(child, False) for child in reversed(below(expr))]


class _Graph:
    """Different expressions by number, operands before their users.

    `types`: their types. `sizes`: their lengths as trees that end at named values.
    """

    def __init__(self, arrays: Mapping[str, str]) -> None:
        self.arrays = arrays
        self.nodes: list[Expr] = []
        self.types: list[str] = []
        self.operands: list[tuple[int, ...]] = []
        self.sizes: list[int] = []
        self.by_data: list[bool] = []
        self._by_object: dict[int, int] = {}
        self._by_content: dict[object, int] = {}

    def node(self, root: Expr) -> int:
        """Return the number of `root`; a new one if no equal expression has one."""
        for expr in in_order(root, _operands):
            if id(expr) not in self._by_object:
                self._by_object[id(expr)] = self._found(expr)
        return self._by_object[id(root)]

    def _found(self, expr: Expr) -> int:
        operands = tuple(self._by_object[id(child)] for child in _operands(expr))
        key = (_content(expr), operands)
        if key not in self._by_content:
            self._by_content[key] = len(self.nodes)
            self.nodes.append(expr)
            self.by_data.append(isinstance(expr, Load | Real) or any(self.by_data[operand] for operand in operands))
            kinds = [Name("", self.types[operand]) for operand in operands]
            self.types.append(c_type(_with_operands(expr, kinds), self.arrays))
            self.operands.append(operands)
        return self._by_content[key]

    def named(self, tops: Sequence[int], guard: Sequence[int], before: int) -> frozenset[int]:
        """Return the nodes that get names, and compute the sizes.

        The first `before` nodes belong to the `guard`; the others are computed after it.
        """
        risky = self._risky()
        surely = self._surely(risky) if any(risky) else []

        def possible(place: int) -> bool:
            """Exclude numbers, names, elements at positions that do not depend on data, and what may fail."""
            by = guard if place < before else tops
            return bool(self.operands[place]) and (not risky[place] or any(place in surely[top] for top in by))

        nameable = [possible(place) for place in range(len(self.nodes))]
        uses = self._uses(tops, nameable)
        found: set[int] = set()
        for place, node in enumerate(self.nodes):
            operands = self.operands[place]
            size = _own_size(node) + sum(1 if child in found else self.sizes[child] for child in operands)
            self.sizes.append(size)
            worth = WORTH if self.by_data[place] else WORTH_OF_INDEX
            if nameable[place] and (size - 1) * (uses[place] - 1) >= worth:
                found.add(place)
        return frozenset(found)

    def _uses(self, tops: Sequence[int], nameable: Sequence[bool]) -> list[int]:
        """Return how often each node is an operand in the text; counts from WORTH_OF_INDEX on are inexact."""
        uses = [0] * len(self.nodes)
        for top in tops:
            uses[top] += 1
        for place in reversed(range(len(self.nodes))):
            for child in self.operands[place]:
                uses[child] += 1 if nameable[place] else min(uses[place], WORTH_OF_INDEX)
        return uses

    def _risky(self) -> list[bool]:
        """Return which nodes might fail if they were computed unconditionally."""
        found: list[bool] = []
        for place, node in enumerate(self.nodes):
            divides = isinstance(node, Binary) and node.op in ("/", "%")
            harmful = divides and isinstance(node, Binary) and not _divides_safely(node, self.types[place])
            found.append(harmful or any(found[child] for child in self.operands[place]))
        return found

    def _surely(self, risky: Sequence[bool]) -> list[frozenset[int]]:
        """Return, for every node, the risky ones that it always computes."""
        found: list[frozenset[int]] = []
        for place, node in enumerate(self.nodes):
            below = [found[child] for child in self.operands[place]]
            match node:
                case Select():
                    inside = below[0] | (below[1] & below[2])
                case Binary("&&" | "||"):
                    inside = below[0]
                case _:
                    inside = frozenset().union(*below)
            found.append(inside | {place} if risky[place] else inside)
        return found


def _divides_safely(node: Binary, kind: str) -> bool:
    """Return whether a division is one of real numbers, or by a positive number. `kind`: its type."""
    match node.right:
        case Int(value) | Cast(_, Int(value)) if value > 0:
            return True
        case _:
            return kind in FLOATING


def _operands(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands that may be named or may contain named values."""
    match expr:
        case Load():
            return tuple(index for index in expr.index if depends_on_data(index))
        case Fold():
            return ()
        case _:
            return children(expr)


def depends_on_data(index: Expr) -> bool:
    """Return whether a subscript reads an element or has a part that is not an integer."""
    return any(isinstance(part, Load | Real | Call) for part in in_order(index))


def _own_size(expr: Expr) -> int:
    """Return the size of `expr` without its operands."""
    if not isinstance(expr, Load):
        return 1
    return 1 + sum(size_of(index) for index in expr.index if not depends_on_data(index))


def _content(expr: Expr) -> object:
    """Return what distinguishes `expr` from others with the same operands."""
    match expr:
        case Int() | Real():
            return expr
        case Name(name, kind):
            return (Name, name, kind)
        case Load(array, index, access):
            return Load, array, tuple(None if depends_on_data(i) else i for i in index), access
        case Unary(op, _) | Binary(op, _, _):
            return type(expr), op
        case Call(function, arguments):
            return Call, function, len(arguments)
        case Cast(kind, _):
            return Cast, kind
        case Select():
            return Select
        case Fold():
            return id(expr)


def _with_operands(expr: Expr, new: Sequence[Expr]) -> Expr:
    """Return `expr` with other operands, in their order."""
    if not new:
        return expr
    if isinstance(expr, Load):
        left = iter(new)
        index = tuple(next(left) if depends_on_data(i) else i for i in expr.index)
        return Load(expr.array, index, expr.access)
    given = iter(new)
    return map_children(expr, lambda _: next(given))
