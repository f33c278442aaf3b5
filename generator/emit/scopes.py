"""Innermost loops of a kernel, with what is known of the names around them: base of the passes that rewrite such loops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from generator.expr import Binary, Expr, Int, Load, Name, Select, loads_of, map_children, names_of
from generator.intervals import Interval, Intervals
from generator.linear import Residues, is_plain, residue, simplify, terms
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, If, Node, expressions, walk


@dataclass(frozen=True, slots=True)
class Known:
    """Ranges and remainders of indices and iterators."""

    ranges: Mapping[str, Interval]
    rests: Residues


@dataclass(slots=True)
class Scopes(ABC):
    """A walk over a kernel. `once`: variables of type int that are assigned once; `facts` and `rests`: ranges and
    remainders of those met so far. `types`: those of arrays and variables. `taken`: all names.
    """

    once: frozenset[str]
    types: Mapping[str, str]
    taken: set[str]
    facts: dict[str, Interval] = field(default_factory=dict)
    rests: dict[str, tuple[int, int]] = field(default_factory=dict)

    def nodes(self, nodes: Sequence[Node], known: Known) -> tuple[Node, ...]:
        """Return `nodes`, inside loops with `known` iterators."""
        return tuple(new for node in nodes for new in self._node(node, known))

    def _node(self, node: Node, known: Known) -> tuple[Node, ...]:
        match node:
            case If(condition, then, otherwise):
                return (If(condition, self.nodes(then, known), self.nodes(otherwise, known)),)
            case For(body=body) if any(isinstance(inner, For) for inner in walk(body)):
                return (replace(node, body=self.nodes(body, self.inside(node, known))),)
            case For():
                return self.innermost(node, known)
            case Assign(target=Load(name, ()), value=value) if name in self.once and not node.op:
                self.facts[name] = self.intervals().integer(value, known.ranges)
                rest = self.rest(self.named(value), known)
                if rest is not None:
                    self.rests[name] = rest, 2
                return (node,)
            case _:
                return (node,)

    @abstractmethod
    def innermost(self, loop: For, known: Known) -> tuple[Node, ...]:
        """Return what replaces an innermost loop, in which other names are `known`."""

    def intervals(self) -> Intervals:
        """Return the ranges of expressions by what is known of variables."""
        return Intervals(self.facts, self.types)

    def inside(self, loop: For, known: Known) -> Known:
        """Return what is known inside of `loop`."""
        ranges = {name: one for name, one in known.ranges.items() if name != loop.iterator}
        rests = {name: one for name, one in known.rests.items() if name != loop.iterator}
        last, find = last_of(loop), self.intervals().integer
        if last is not None and loop.step > 0:
            ranges[loop.iterator] = find(loop.start, known.ranges)[0], find(last, known.ranges)[1]
        if isinstance(loop.start, Int):
            rests[loop.iterator] = loop.start.value % loop.step, abs(loop.step)
        return Known(ranges, rests)

    def named(self, expr: Expr, but: Collection[str] = ()) -> Expr:
        """Return `expr` with names in place of variables of type int that are assigned once, `but` some."""
        if isinstance(expr, Load) and not expr.index and expr.array in self.once and expr.array not in but:
            return Name(expr.array)
        return map_children(expr, lambda child: self.named(child, but))

    def rest(self, expr: Expr, known: Known) -> int | None:
        """Return the remainder of `expr`, in names, divided by 2; None if it is not known."""
        match expr:
            case Binary("min" | "max", left, right) | Select(_, left, right):
                found = self.rest(left, known)
                return found if found == self.rest(right, known) else None
            case _ if not is_plain(expr):
                return None
            case _:
                pass
        form, total = split(expr)
        odd = [atom for atom, factor in form.items() if factor % 2]
        if odd == [expr]:
            return residue(expr, 2, {**self.rests, **known.rests})
        for atom in odd:
            one = self.rest(atom, known)
            if one is None:
                return None
            total += one
        return total % 2


def scopes_of(kernel: LoweredKernel, nodes: tuple[Node, ...]) -> tuple[frozenset[str], dict[str, str], set[str], Known]:
    """Return the first fields of Scopes for `nodes`, the body of `kernel`, and what is known around them."""
    indices = zip("bt", (kernel.grid, kernel.block), strict=True)
    ranges = {f"{letter}{d}": (0, n - 1) for letter, sizes in indices for d, n in enumerate(reversed(sizes))}
    types: dict[str, str] = {one.name: one.type for one in (*kernel.arrays, *kernel.scalars)}
    types |= {box.name: box.type for box in kernel.shared}
    types |= {node.name: node.type for node in walk(nodes) if isinstance(node, Declare)}
    mentioned = {name for node in walk(nodes) for expr in expressions(node)
                 for name in (*names_of(expr), *(load.array for load in loads_of(expr)))}
    iterators = {*kernel.outer, *ranges, *(node.iterator for node in walk(nodes) if isinstance(node, For))}
    return _assigned_once(nodes) - iterators, types, {*types, *mentioned, *iterators}, Known(ranges, {})


def _assigned_once(nodes: tuple[Node, ...]) -> frozenset[str]:
    """Return the variables of type int that are declared and assigned once."""
    declared = [node for node in walk(nodes) if isinstance(node, Declare)]
    counts = Counter(node.name for node in declared) + Counter(
        node.target.array for node in walk(nodes) if isinstance(node, Assign))
    return frozenset(node.name for node in declared if node.type == "int" and not node.sizes and counts[node.name] == 2)


def split(expr: Expr) -> tuple[dict[Expr, int], int]:
    """Return the terms of a sum with their factors, and its constant."""
    form = terms(expr)
    return {atom: factor for atom, factor in form.items() if atom is not None}, form.get(None, 0)


def last_of(loop: For) -> Expr | None:
    """Return the last value of its iterator; None if the condition is of another kind."""
    match loop.condition:
        case Binary("<=", Name(name), bound) if name == loop.iterator:
            return bound
        case Binary("<", Name(name), bound) if name == loop.iterator:
            return simplify(Binary("-", bound, Int(1)))
        case _:
            return None
