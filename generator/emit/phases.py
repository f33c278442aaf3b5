"""Long loops whose iterations do different work for even and odd elements run two iterations at a time.

    for (int x = 0; x <= 639; ++x) out[x] = x % 2 == 0 ? even[x / 2] : odd[x / 2];      becomes

    for (int x_pair = 0; x_pair < 320; ++x_pair) { out[2 * x_pair] = even[x_pair]; out[2 * x_pair + 1] = odd[x_pair]; }

Compilers compute both values for all elements, and gather `even[x / 2]` element by element, because they do not know
that these are neighbours. A condition on the parity of a row is decided before the loop. This is what upsampling, and
the pattern of colours on a sensor need. The iterations stay in order, so that all loops may be written in this way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from generator.emit.names import free_name
from generator.expr import Binary, Expr, Fold, Int, Load, Name, Select, loads_of, map_children, names_of, parts
from generator.intervals import Interval, Intervals
from generator.linear import Residues, combination, is_plain, plain_form, residue, simplify, substitute, terms
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, If, Node, Note, expressions, map_expressions, rounds, walk

LEAST_TRIPS = 32
MOST_LOADS = 64
"""The most loads in a loop: its text is printed up to four times."""
_TWO = Int(2)


def in_phases(kernel: LoweredKernel, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `nodes`, the body of `kernel`, with such innermost loops in pairs of iterations."""
    indices = zip("bt", (kernel.grid, kernel.block), strict=True)
    ranges = {f"{letter}{d}": (0, n - 1) for letter, sizes in indices for d, n in enumerate(reversed(sizes))}
    types: dict[str, str] = {one.name: one.type for one in (*kernel.arrays, *kernel.scalars)}
    types |= {box.name: box.type for box in kernel.shared}
    types |= {node.name: node.type for node in walk(nodes) if isinstance(node, Declare)}
    mentioned = {name for node in walk(nodes) for expr in expressions(node)
                 for name in (*names_of(expr), *(load.array for load in loads_of(expr)))}
    iterators = {*kernel.iterators, *ranges, *(node.iterator for node in walk(nodes) if isinstance(node, For))}
    return _Phases(_assigned_once(nodes) - iterators, types, {*types, *mentioned, *iterators}).nodes(
        nodes, _Known(ranges, {}))


def _assigned_once(nodes: tuple[Node, ...]) -> frozenset[str]:
    """Return the variables of type int that are declared and assigned once."""
    declared = [node for node in walk(nodes) if isinstance(node, Declare)]
    counts = Counter(node.name for node in declared) + Counter(
        node.target.array for node in walk(nodes) if isinstance(node, Assign))
    return frozenset(node.name for node in declared if node.type == "int" and not node.sizes and counts[node.name] == 2)


@dataclass(frozen=True, slots=True)
class _Known:
    """Ranges and remainders of indices and iterators."""

    ranges: Mapping[str, Interval]
    rests: Residues


@dataclass(slots=True)
class _Phases:
    """`once`: variables of type int that are assigned once; `facts` and `rests`: ranges and remainders of those met so
    far. `taken`: all names.
    """

    once: frozenset[str]
    types: Mapping[str, str]
    taken: set[str]
    facts: dict[str, Interval] = field(default_factory=dict)
    rests: dict[str, tuple[int, int]] = field(default_factory=dict)

    def nodes(self, nodes: Sequence[Node], known: _Known) -> tuple[Node, ...]:
        """Return `nodes`, inside loops with `known` iterators."""
        return tuple(new for node in nodes for new in self._node(node, known))

    def _node(self, node: Node, known: _Known) -> tuple[Node, ...]:
        match node:
            case If(condition, then, otherwise):
                return (If(condition, self.nodes(then, known), self.nodes(otherwise, known)),)
            case For(body=body) if any(isinstance(inner, For) for inner in walk(body)):
                return (replace(node, body=self.nodes(body, self._inside(node, known))),)
            case For():
                return self._loop(node, known)
            case Assign(target=Load(name, ()), value=value) if name in self.once and not node.op:
                self.facts[name] = self.intervals().integer(value, known.ranges)
                rest = self.rest(self.named(value), known)
                if rest is not None:
                    self.rests[name] = rest, 2
                return (node,)
            case _:
                return (node,)

    def intervals(self) -> Intervals:
        """Return the ranges of expressions by what is known of variables."""
        return Intervals(self.facts, self.types)

    def _inside(self, loop: For, known: _Known) -> _Known:
        """Return what is known inside of `loop`."""
        ranges = {name: one for name, one in known.ranges.items() if name != loop.iterator}
        rests = {name: one for name, one in known.rests.items() if name != loop.iterator}
        last, find = _last(loop), self.intervals().integer
        if last is not None and loop.step > 0:
            ranges[loop.iterator] = find(loop.start, known.ranges)[0], find(last, known.ranges)[1]
        if isinstance(loop.start, Int):
            rests[loop.iterator] = loop.start.value % loop.step, abs(loop.step)
        return _Known(ranges, rests)

    def named(self, expr: Expr, but: Collection[str] = ()) -> Expr:
        """Return `expr` with names in place of variables of type int that are assigned once, `but` some."""
        if isinstance(expr, Load) and not expr.index and expr.array in self.once and expr.array not in but:
            return Name(expr.array)
        return map_children(expr, lambda child: self.named(child, but))

    def rest(self, expr: Expr, known: _Known) -> int | None:
        """Return the remainder of `expr`, in names, divided by 2; None if it is not known."""
        match expr:
            case Binary("min" | "max", left, right) | Select(_, left, right):
                found = self.rest(left, known)
                return found if found == self.rest(right, known) else None
            case _ if not is_plain(expr):
                return None
            case _:
                pass
        form, total = _split(expr)
        odd = [atom for atom, factor in form.items() if factor % 2]
        if odd == [expr]:
            return residue(expr, 2, {**self.rests, **known.rests})
        for atom in odd:
            one = self.rest(atom, known)
            if one is None:
                return None
            total += one
        return total % 2

    def _loop(self, loop: For, known: _Known) -> tuple[Node, ...]:
        """Return an innermost loop in pairs of iterations, if that makes it simpler."""
        last = _last(loop)
        if last is None or not self._can_be_paired(loop, last):
            return (loop,)
        count = self.named(simplify(Binary("+", Binary("-", last, loop.start), Int(1))))
        if not _is_of_ints(count):
            return (loop,)
        whole = Name(free_name(f"{loop.iterator}_pair", self.taken))
        most = self.intervals().integer(count, {**known.ranges, **self.facts})[1] // 2
        inside = _Known({**known.ranges, **self.facts, whole.name: (0, max(0, most - 1))}, known.rests)
        first = Binary("+", self.named(loop.start), Binary("*", _TWO, whole))
        changed = _changed(loop)
        copies = [_Copy(self, inside, loop.iterator, whole, simplify(Binary("+", first, Int(phase))), changed)
                  for phase in (0, 1)]
        bodies = [map_expressions(loop.body, copy.put) for copy in copies]
        if not all(copy.simpler for copy in copies):
            return (loop,)
        self.taken.add(whole.name)
        pairs = replace(loop, iterator=whole.name, start=Int(0), body=(*bodies[0], *self._renamed(bodies[1])), step=1,
                        condition=Binary("<", whole, Int(count.value // 2) if isinstance(count, Int)
                                         else Binary("/", count, _TWO)))
        return *_decided(pairs), *self._remainder(loop, last, count, known)

    def _can_be_paired(self, loop: For, last: Expr) -> bool:
        """Return whether the loop is long, its bounds stay, and its body contains only assignments."""
        nodes = list(walk(loop.body))
        if loop.step != 1 or loop.unroll > 1 or loop.once or loop.vector or loop.in_order or loop.points or loop.wanted:
            return False
        if not all(isinstance(n, Note) or (isinstance(n, Assign) and not n.wide and not n.later)
                   or (isinstance(n, Declare) and not n.sizes) for n in nodes):
            return False
        changed = _changed(loop)
        if any(changed & {*names_of(end), *(load.array for load in loads_of(end))} for end in (loop.start, last)):
            return False
        every = [part for n in nodes for expr in expressions(n) for part in parts(expr)]
        loads = sum(isinstance(part, Load) and bool(part.index) for part in every)
        return (loads <= MOST_LOADS and not any(isinstance(part, Fold) for part in every)
                and (rounds(loop) is None or (rounds(loop) or 0) >= LEAST_TRIPS))

    def _renamed(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return `body` with new names for its variables."""
        names = {node.name: free_name(f"{node.name}_next", self.taken) for node in body if isinstance(node, Declare)}
        self.taken.update(names.values())

        def put(expr: Expr) -> Expr:
            match map_children(expr, put):
                case Load(array, index, access) if array in names:
                    return Load(names[array], index, access)
                case Name(name, kind) if name in names:
                    return Name(names[name], kind)
                case other:
                    return other

        return tuple(replace(node, name=names[node.name]) if isinstance(node, Declare) else node
                     for node in map_expressions(body, put))

    def _remainder(self, loop: For, last: Expr, count: Expr, known: _Known) -> tuple[Node, ...]:
        """Return what is left after the pairs: the last iteration, if their number is odd."""
        if self.rest(count, known) == 0:
            return ()
        values = {loop.iterator: self.named(last)}
        body = self._renamed(map_expressions(loop.body, lambda expr: substitute(expr, values)))
        if isinstance(count, Int):
            return body
        return (If(Binary("&&", Binary(">", count, Int(0)), Binary("!=", Binary("%", count, _TWO), Int(0))), body),)


@dataclass(slots=True)
class _Copy:
    """Puts `value`, the first or the second of a pair, in place of `iterator`. `changed`: variables that iterations
    assign. `simpler`: a division is gone.
    """

    phases: _Phases
    known: _Known
    iterator: str
    whole: Name
    value: Expr
    changed: frozenset[str]
    simpler: bool = False

    def put(self, expr: Expr) -> Expr:
        """Return `expr` with the value, and without divisions by 2 and conditions that it decides."""
        match expr:
            case Name(name) if name == self.iterator:
                return self.value
            case Binary("/" | "%" | "&" as op, inner, Int(number)) if number == (1 if op == "&" else 2):
                found = self._divided(op, inner)
                if found is not None:
                    self.simpler = True
                    return found
            case Binary("==" | "!=" as op, Binary("%", inner, Int(2)), Int(0)):
                rest = self._parity(inner)
                if rest is not None:
                    self.simpler = True
                    return Int(int((rest == 0) == (op == "==")))
            case _:
                pass
        changed = map_children(expr, self.put)
        if changed is expr:
            return expr
        return _chosen(plain_form(changed) or changed)

    def _sum(self, inner: Expr) -> Expr | None:
        """Return `inner`, in names, at this place; None if it has no such iterator."""
        if self.iterator not in names_of(inner):
            return None
        named = self.phases.named(substitute(inner, {self.iterator: self.value}), self.changed)
        return simplify(named) if _is_of_ints(named) else None

    def _parity(self, inner: Expr) -> int | None:
        """Return the remainder of `inner` divided by 2."""
        found = self._sum(inner)
        return None if found is None else self.phases.rest(found, self._with_pairs())

    def _with_pairs(self) -> _Known:
        return _Known(self.known.ranges, {**self.known.rests, self.whole.name: (0, 1)})

    def _divided(self, op: str, inner: Expr) -> Expr | None:
        """Return `inner / 2`, `inner % 2` or `inner & 1`; None if it stays a division."""
        found = self._sum(inner)
        if found is None:
            return None
        form, constant = _split(found)
        factor = form.pop(self.whole, 0)
        rest = combination(form, constant)
        parity = self.phases.rest(found, self._with_pairs())
        positive = factor >= 0 and self.phases.intervals().integer(rest, self.known.ranges)[0] >= 0
        if op != "/":
            return Int(parity) if parity == 0 or (parity == 1 and (op == "&" or positive)) else None
        if factor <= 0 or factor % 2 or not (positive or parity == 0):
            return None
        half: Expr = Binary("/", rest, _TWO)
        if all(one % 2 == 0 for one in form.values()):
            half = combination({atom: one // 2 for atom, one in form.items()}, constant // 2)
        return simplify(Binary("+", Binary("*", Int(factor // 2), self.whole), half))


def _split(expr: Expr) -> tuple[dict[Expr, int], int]:
    """Return the terms of a sum with their factors, and its constant."""
    form = terms(expr)
    return {atom: factor for atom, factor in form.items() if atom is not None}, form.get(None, 0)


def _last(loop: For) -> Expr | None:
    """Return the last value of its iterator; None if the condition is of another kind."""
    match loop.condition:
        case Binary("<=", Name(name), bound) if name == loop.iterator:
            return bound
        case Binary("<", Name(name), bound) if name == loop.iterator:
            return simplify(Binary("-", bound, Int(1)))
        case _:
            return None


def _chosen(expr: Expr) -> Expr:
    """Return the branch that a constant condition chooses."""
    match expr:
        case Select(Int(value), then, otherwise):
            return then if value else otherwise
        case _:
            return expr


def _changed(loop: For) -> frozenset[str]:
    """Return the names of arrays and variables that iterations assign or declare."""
    return frozenset(node.name if isinstance(node, Declare) else node.target.array
                     for node in walk(loop.body) if isinstance(node, Declare | Assign))


def _is_of_ints(expr: Expr) -> bool:
    """Return whether `expr` is arithmetic of names of type int."""
    return is_plain(expr) and all(part.type == "int" for part in parts(expr) if isinstance(part, Name))


def _decided(loop: For) -> tuple[Node, ...]:
    """Return the loop, or two for both values of a condition on parity that does not change in it."""
    changed = _changed(loop) | {loop.iterator}
    for expr in (expr for node in walk(loop.body) for expr in expressions(node)):
        for part in parts(expr):
            if isinstance(part, Select) and _is_parity(part.condition, changed):
                true, false = (replace(loop, body=map_expressions(loop.body, _Deciding(part.condition, value).put))
                               for value in (1, 0))
                return (If(part.condition, (true,), (false,)),)
    return (loop,)


def _is_parity(expr: Expr, changed: frozenset[str]) -> bool:
    """Return whether it tests the parity of a number that can be computed before the loop, without `changed` names."""
    match expr:
        case Binary("==" | "!=", Binary("%", inner, Int(2)), Int(0)):
            return all(isinstance(part, Int) or (isinstance(part, Name) and part.name not in changed)
                       or (isinstance(part, Load) and not part.index and part.array not in changed)
                       or (isinstance(part, Binary) and (part.op in ("+", "-", "*") or (
                           part.op == "/" and isinstance(part.right, Int) and part.right.value > 0)))
                       for part in parts(inner))
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Deciding:
    """Puts a constant in place of `condition`."""

    condition: Expr
    value: int

    def put(self, expr: Expr) -> Expr:
        """Return `expr` with the constant, and without what it does not choose."""
        if expr == self.condition:
            return Int(self.value)
        return _chosen(map_children(expr, self.put))
