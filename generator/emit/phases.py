"""Long loops whose iterations do different work for even and odd elements run two iterations at a time.

    for (int x = 0; x <= 639; ++x) out[x] = x % 2 == 0 ? even[x / 2] : odd[x / 2];      becomes

    for (int x_pair = 0; x_pair < 320; ++x_pair) { out[2 * x_pair] = even[x_pair]; out[2 * x_pair + 1] = odd[x_pair]; }

Compilers compute both values for all elements, and gather `even[x / 2]` element by element, because they do not know
that these are neighbours. A condition on the parity of a row is decided before the loop. This is what upsampling, and
the pattern of colours on a sensor need. The iterations stay in order, so that all loops may be written in this way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from generator.emit.names import free_name
from generator.emit.scopes import Known, Scopes, last_of, scopes_of, split
from generator.expr import Binary, Expr, Fold, Int, Load, Name, Select, loads_of, map_children, names_of, parts
from generator.linear import combination, is_plain, plain_form, simplify, substitute
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, If, Node, Note, expressions, map_expressions, rounds, walk

LEAST_TRIPS = 32
MOST_LOADS = 64
"""The most loads in a loop: its text is printed up to four times."""
_TWO = Int(2)


def in_phases(kernel: LoweredKernel, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `nodes`, the body of `kernel`, with such innermost loops in pairs of iterations."""
    once, types, taken, known = scopes_of(kernel, nodes)
    return _Phases(once, types, taken).nodes(nodes, known)


@dataclass(slots=True)
class _Phases(Scopes):
    """Rewrites loops in pairs of iterations."""

    def innermost(self, loop: For, known: Known) -> tuple[Node, ...]:
        """Return a loop in pairs of iterations, if that makes it simpler."""
        last = last_of(loop)
        if last is None or not self._can_be_paired(loop, last):
            return (loop,)
        count = self.named(simplify(Binary("+", Binary("-", last, loop.start), Int(1))))
        if not _is_of_ints(count):
            return (loop,)
        whole = Name(free_name(f"{loop.iterator}_pair", self.taken))
        most = self.intervals().integer(count, {**known.ranges, **self.facts})[1] // 2
        inside = Known({**known.ranges, **self.facts, whole.name: (0, max(0, most - 1))}, known.rests)
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

    def _remainder(self, loop: For, last: Expr, count: Expr, known: Known) -> tuple[Node, ...]:
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
    known: Known
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

    def _with_pairs(self) -> Known:
        return Known(self.known.ranges, {**self.known.rests, self.whole.name: (0, 1)})

    def _divided(self, op: str, inner: Expr) -> Expr | None:
        """Return `inner / 2`, `inner % 2` or `inner & 1`; None if it stays a division."""
        found = self._sum(inner)
        if found is None:
            return None
        form, constant = split(found)
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
