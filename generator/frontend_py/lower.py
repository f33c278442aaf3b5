"""A pipeline as a Program: every Func becomes an array over its region, every definition a statement, in order of
execution.

    blur[x, y] = in[x, y] + in[x + 1, y]   ->   for (y) for (x) blur[y][x] = in[y][x] + in[y][x + 1];

The last coordinate becomes the first subscript, so that x runs over adjacent elements. The values of a tuple are
separate arrays, each with its statement. Intermediate Funcs are temporary arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from generator.arithmetic import TO_FLOAT, TO_HALF
from generator.errors import InputError
from generator.expr import Binary, Call, Expr, Int, Load, Select
from generator.frontend_c.expressions import without_casts
from generator.frontend_py import nodes
from generator.frontend_py.bounds import Bounds, ComputeScope
from generator.frontend_py.carried import carried_last
from generator.frontend_py.collect import Collected, computed
from generator.frontend_py.definition import Definition
from generator.frontend_py.func import Func
from generator.frontend_py.images import Image
from generator.frontend_py.intervals import Intervals
from generator.frontend_py.show import describe
from generator.frontend_py.trees import merged, same
from generator.frontend_py.types import FLOAT16
from generator.frontend_py.values import Values
from generator.linear import simplify
from generator.polyhedral.dependences.original import Block, Loop, Once, Order, original_schedule
from generator.polyhedral.kit.affine import domain_text, relation
from generator.program import Access, AccessKind, Array, Assignment, Box, Program, Role, Statement
from generator.sharing import TooLong, shared, size_of

_LONGEST_SUBSCRIPT = 1000


def lower(bounds: Bounds, name: str, file: str, parameters: Sequence[tuple[str, int]]) -> Program:
    """Return the Program of a pipeline whose regions are known; `name` and `file`: its origin."""
    builder = _Builder(bounds)
    orders = [order for func in computed(bounds.collected) for d in func.definitions
              if (order := builder.definition(func, d)) is not None]
    order = orders[0] if len(orders) == 1 else Block(tuple(orders))
    schedule = original_schedule(order, {s.name: s for s in builder.statements})
    arrays = tuple(sorted(builder.arrays.values(), key=lambda a: a.name))
    poison = tuple(
        Box(a.name, (0,) * len(a.extents), tuple(n - 1 for n in a.extents)) for a in arrays if a.role != "in"
    )
    used = {access.array for s in builder.statements for access in s.accesses}
    return Program(name, file, tuple(a for a in arrays if a.name in used), tuple(builder.statements), schedule,
                   tuple(parameters), poison, arguments=tuple(n for n in _arguments(bounds.collected) if n in used),
                   constants=tuple(n for n in _constants(bounds.collected) if n in used))


def _arguments(collected: Collected) -> Iterator[str]:
    """Yield the names of the inputs and of the arrays of the outputs, as users pass them."""
    yield from map(collected.name, collected.declared())
    for func in collected.outputs:
        yield from collected.arrays(func)


def _constants(collected: Collected) -> Iterator[str]:
    """Yield the names of the arrays that are the pipeline's own."""
    return (collected.name(image) for image in collected.declared() if image.fixed and image.dims)


@dataclass
class _Builder:
    """Collects arrays and statements."""

    bounds: Bounds
    arrays: dict[str, Array] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        collected = self.bounds.collected
        results = {id(f) for f in collected.outputs}
        for image in collected.images:
            name = collected.name(image)
            self.arrays[name] = Array(name, image.type.element, self.extents(image), "in",
                                      boolean=image.type.is_bool())
        for func in collected.funcs:
            for name, kind in zip(collected.arrays(func), func.types(), strict=True):
                role: Role = "out" if id(func) in results else "temp"
                self.arrays[name] = Array(name, kind.element, self.extents(func), role, boolean=kind.is_bool())

    def extents(self, thing: Func | Image) -> tuple[int, ...]:
        """Return the extents of its array."""
        return tuple(extent for _, extent in reversed(self.bounds.regions[id(thing)]))

    def definition(self, func: Func, definition: Definition) -> Order | None:
        """Return the statements of a definition, in its loops."""
        place = self.bounds.place(func, definition)
        if place is None:
            return None
        definition, place = _merged(*_unguarded(func, definition, place))
        pieces: list[Once] = []
        for index, through in self.sequence(func, definition):
            name = f"S{len(self.statements)}"
            self.statements.append(_Writer(self, func, definition, place, name).statement(index, through))
            pieces.append(Once(name))
        order: Order = pieces[0] if len(pieces) == 1 else Block(tuple(pieces))
        for depth in reversed(range(len(place.at.iterators))):
            order = Loop(depth, 1, order)
        return order

    def sequence(self, func: Func, definition: Definition) -> list[tuple[int, str | None]]:
        """Return the values of a definition in an order in which none is changed before another one reads it.

        If there is no such order, all new values go through scalars: (index, scalar) computes the scalar, (-1 - index,
        scalar) stores it.
        """
        count = len(definition.values)
        reads = [{n.index for n in nodes.parts(value, *definition.args) if isinstance(n, nodes.Call) and n.func is func}
                 for value in definition.values]
        order: list[int] = []
        while len(order) < count:
            free = [k for k in range(count) if k not in order
                    and not any(k in reads[j] for j in range(count) if j != k and j not in order)]
            if not free:
                scalars = self.scalars(func)
                return [*enumerate(scalars), *((-1 - k, scalar) for k, scalar in enumerate(scalars))]
            order.append(free[0])
        return [(k, None) for k in order]

    def scalars(self, func: Func) -> list[str]:
        """Return new temporary scalars, one per value of `func`."""
        names = []
        for array, kind in zip(self.bounds.collected.arrays(func), func.types(), strict=True):
            name = f"{array}_new"
            while name in self.arrays and self.arrays[name].extents:
                name += "_"
            self.arrays[name] = Array(name, kind.element, (), "temp")
            names.append(name)
        return names


class _Writer:
    """Makes the statements of one definition."""

    def __init__(self, builder: _Builder, func: Func, definition: Definition, place: ComputeScope, name: str) -> None:
        self.builder, self.func, self.definition, self.place, self.name = builder, func, definition, place, name
        self.found: list[Access] = []
        self.ordered = carried_last(func, definition)
        self.conditional = place.guard is not None
        types = {a.name: a.type for a in builder.arrays.values()}
        self.types = types
        self.values = Values(Intervals(builder.bounds.sizes, place.ranges), place.names, self.load, types)

    def load(self, node: nodes.Call | nodes.Pixel, args: tuple[Expr, ...]) -> Load:
        """Return the load of an element, recorded as a read."""
        collected = self.builder.bounds.collected
        if isinstance(node, nodes.Pixel):
            return self.access(collected.name(node.image), node.image, args, "read")
        return self.access(collected.arrays(node.func)[node.index], node.func, args, "read")

    def access(self, array: str, thing: Func | Image, args: Sequence[Expr], kind: AccessKind) -> Load:
        """Return the element of `array` at the coordinates `args`, recorded as an access."""
        region = self.builder.bounds.regions[id(thing)]
        index = tuple(_minus(arg, low) for arg, (low, _) in zip(reversed(args), reversed(region), strict=True))
        reached = relation(self.place.at, self.name, array, index, self.builder.arrays[array].extents)
        if kind == "write" and (self.conditional or not all(reached.exact)):
            kind = "may_write"
        self.found.append(Access(array, reached.text, kind))
        plain = tuple(self.plain(i) if exact else i for i, exact in zip(index, reached.exact, strict=True))
        return Load(array, plain, len(self.found) - 1)

    def plain(self, index: Expr) -> Expr:
        """Return a subscript of iterators only. Raises InputError if its text would be too long."""
        if (size := size_of(index)) > _LONGEST_SUBSCRIPT:
            raise InputError(
                f"a coordinate in the definition of Func `{self.func.title}` has {size} operations, at most "
                f"{_LONGEST_SUBSCRIPT} are possible: give it, or a part of it, a Func of its own",
                self.definition.at,
            )
        return simplify(without_casts(index))

    def statement(self, index: int, through: str | None) -> Statement:
        """Return the statement of value `index`, or of its scalar, as in `_Builder.sequence`."""
        guard = self.values.of(self.place.guard) if self.place.guard is not None else None
        if index < 0:
            return self.stored(-1 - index, through, guard)
        op, value = self.update(index)
        given = self.values.of(value)
        if through is None:
            target = self.target(index, bool(op))
        else:
            op, given = "", self.values.of(self.ordered[index])
            target = self.scalar(through, "write")
        if self.types[target.array] == "half":
            given = _bits(given)
        return self.made(target, op, given, guard, index)

    def stored(self, index: int, scalar: str | None, guard: Expr | None) -> Statement:
        """Return the statement that stores a scalar as value `index`."""
        assert scalar is not None
        value = self.scalar(scalar, "read")
        return self.made(self.target(index, False), "", value, guard, index)

    def scalar(self, name: str, kind: AccessKind) -> Load:
        """Return an access to a scalar."""
        reached = relation(self.place.at, self.name, name, (), ())
        self.found.append(Access(name, reached.text, "may_write" if kind == "write" and self.conditional else kind))
        return Load(name, (), len(self.found) - 1)

    def target(self, index: int, compound: bool) -> Load:
        """Return the written element, recorded; for a compound assignment right after the read."""
        name = self.builder.bounds.collected.arrays(self.func)[index]
        args = [self.values.of(a) for a in self.definition.args]
        if compound:
            self.access(name, self.func, args, "read")
        return self.access(name, self.func, args, "write")

    def update(self, index: int) -> tuple[str, nodes.Expr]:
        """Return `f[x] = f[x] + e` as the compound assignment (`+`, e) if C's is equivalent."""
        value = self.ordered[index]
        if (isinstance(value, nodes.Op) and value.name in ("+", "-", "*") and self.is_target(value.args[0], index)
                and value.type != FLOAT16):
            return value.name, value.args[1]
        return "", value

    def is_target(self, expr: nodes.Expr, index: int) -> bool:
        """Return whether `expr` is the element that the definition writes."""
        return (isinstance(expr, nodes.Call) and expr.func is self.func and expr.index == index
                and all(same(a, b) for a, b in zip(expr.args, self.definition.args, strict=True)))

    def made(self, target: Load, op: str, value: Expr, guard: Expr | None, index: int) -> Statement:
        """Return the statement `target op= value`."""
        name = self.builder.bounds.collected.name(self.func)
        taken = {*self.builder.arrays, *self.place.at.iterators}
        try:
            found = shared((_extreme(value), target), self.types, taken, guard)
        except TooLong as long:
            raise InputError(
                f"the definition of Func `{self.func.title}` has {long.size} operations, with those that it repeats "
                f"counted once: give parts of it Funcs of their own",
                self.definition.at,
            ) from None
        value, place, *guards = found.roots
        assert isinstance(place, Load)
        body = Assignment(place, op, value, guards[0] if guards else None, found.lets)
        return Statement(self.name, self.place.at.iterators, domain_text(self.place.at, self.name), body,
                         tuple(self.found), describe(name, self.definition, index), self.definition.at.line)


def _merged(definition: Definition, place: ComputeScope) -> tuple[Definition, ComputeScope]:
    """Return the definition with one object for all equal expressions, so that an element is read by one access."""
    count, guard = len(definition.args), () if place.guard is None else (place.guard,)
    found = merged(*definition.args, *definition.values, *guard)
    args, values = found[:count], found[count:count + len(definition.values)]
    return replace(definition, args=args, values=values), replace(place, guard=found[-1] if guard else None)


def _unguarded(func: Func, definition: Definition, place: ComputeScope) -> tuple[Definition, ComputeScope]:
    """Return a tuple whose condition reads the Func itself without the condition.

    Its values are stored one by one, which would change the condition.
    """
    guard = place.guard
    if guard is None or len(definition.values) == 1 or not any(
            isinstance(n, nodes.Call) and n.func is func for n in nodes.parts(guard)):
        return definition, place
    values = tuple(nodes.Op("select", v.type, (guard, v, nodes.Call(func, definition.args, k, v.type, definition.at)))
                   for k, v in enumerate(definition.values))
    return replace(definition, values=values), replace(place, guard=None)


def _minus(coordinate: Expr, low: int) -> Expr:
    if low == 0:
        return coordinate
    return Binary("-", coordinate, Int(low)) if low > 0 else Binary("+", coordinate, Int(-low))


def _bits(value: Expr) -> Expr:
    """Return the bits of a number as a half; bits that were read are returned unchanged."""
    match value:
        case Call(function, (bits,)) if function == TO_FLOAT:
            return bits
        case _:
            return Call(TO_HALF, (value,))


def _extreme(value: Expr) -> Expr:
    """Return integer `min(a, b)` as a whole value as `a < b ? a : b`, so that reductions are recognised."""
    if isinstance(value, Binary) and value.op in ("min", "max"):
        return Select(Binary("<" if value.op == "min" else ">", value.left, value.right), value.left, value.right)
    return value

