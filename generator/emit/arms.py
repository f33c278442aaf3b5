"""All values of a choice are computed before it, where all elements that they need exist.

    out[x] = c[x] ? a[x] - a[x + 1] : b[x] - b[x + 1];      becomes

    short then = a[x] - a[x + 1], otherwise = b[x] - b[x + 1];  out[x] = c[x] ? then : otherwise;

Compilers must not load an element that a condition excludes, unless they know that it exists. Intel's CPU runtime
(2026.22.10) then loads 16-bit elements of vectors one by one, behind a branch each. Subscripts in the ranges of their
indices and iterators prove that elements exist. Done in long loops, for values without calls and divisions by names.

So are all values of a choice between several numbers, wherever it is in an expression:

    out[x] = min(c == 0 ? red : c == 1 ? green : blue, 255);

It becomes a jump to one of three places, and loops with such jumps are not vectorized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from generator.arithmetic import FLOATING, REAL, c_type
from generator.emit.names import free_name
from generator.emit.scopes import Known, Scopes, scopes_of
from generator.expr import Binary, Call, Expr, Fold, Int, Load, Select, loads_of, map_children, parts
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, Node, rounds, walk

LEAST_TRIPS = 32


def with_both_arms(kernel: LoweredKernel, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return `nodes`, the body of `kernel`, whose long innermost loops compute both values of such choices."""
    once, types, taken, known = scopes_of(kernel, nodes)
    sizes = {array.name: array.extents for array in kernel.arrays} | {box.name: box.sizes for box in kernel.shared}
    sizes |= {node.name: node.sizes for node in walk(nodes) if isinstance(node, Declare)}
    return _Arms(once, types, taken, sizes=sizes).nodes(nodes, known)


@dataclass(slots=True)
class _Arms(Scopes):
    """Rewrites choices. `sizes`: the extents of all arrays."""

    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def innermost(self, loop: For, known: Known) -> tuple[Node, ...]:
        """Return the loop with such choices."""
        count = rounds(loop)
        if count is not None and count < LEAST_TRIPS:
            return (loop,)
        inside = self.inside(loop, known)
        return (replace(loop, body=tuple(new for node in loop.body for new in self._computed(node, inside))),)

    def _computed(self, node: Node, known: Known) -> tuple[Node, ...]:
        """Return an assignment of a choice, after those of its values."""
        if not isinstance(node, Assign) or node.wide is not None or node.later:
            return (node,)
        if any(isinstance(part, Fold) for part in parts(node.value)):  # its variables have values in its loop only
            return (node,)
        choice = next(filter(is_jump, parts(node.value)), node.value)
        arms = _arms(choice)
        needed = is_jump(choice) or any(load.index for arm in arms for load in loads_of(arm))
        if not isinstance(choice, Select) or not needed or not all(self._is_harmless(arm, known) for arm in arms):
            return (node,)
        before, names = list[Node](), list[Expr]()
        words = ("then", "otherwise") if len(arms) == 2 else tuple(f"choice{k}" for k in range(len(arms)))
        for word, arm in zip(words, arms, strict=True):
            name = free_name(f"{node.target.array}_{word}", self.taken)
            self.taken.add(name)
            names.append(Load(name))
            before += [Declare(name, c_type(arm, self.types), ()), Assign(Load(name), "", arm)]
        return (*before, replace(node, value=_replaced(node.value, choice, _with_arms(choice, names))))

    def _is_harmless(self, arm: Expr, known: Known) -> bool:
        """Return whether `arm` may be computed whatever the condition is, and takes only some instructions."""
        known_types = all(load.array in self.types for load in loads_of(arm))
        if not known_types or c_type(arm, self.types) in REAL - FLOATING:
            return False
        for part in parts(arm):
            match part:
                case Call() | Fold() | Binary("<<" | ">>", _, _):
                    return False
                case Binary("/" | "%", _, Int(divisor)) if divisor > 0:
                    pass
                case Binary("/" | "%", _, _) if c_type(part, self.types) not in FLOATING:
                    return False
                case Load(index=index) if index and not self._exists(part, known):
                    return False
                case _:
                    pass
        return True

    def _exists(self, load: Load, known: Known) -> bool:
        """Return whether the array has this element."""
        sizes = self.sizes.get(load.array, ())
        if len(sizes) != len(load.index):
            return False
        spans = [self.intervals().integer(index, known.ranges) for index in load.index]
        return all(low >= 0 and high < size for (low, high), size in zip(spans, sizes, strict=True))


def is_jump(choice: Expr) -> bool:
    """Return whether compilers make a jump of a choice: between several numbers that one value may have."""
    match choice:
        case Select(Binary("==", one, Int()), _, Select(Binary("==", other, Int()), _, _)):
            return one == other
        case _:
            return False


def _arms(choice: Expr) -> tuple[Expr, ...]:
    """Return the values of a choice; of one between several numbers, all of them."""
    if not isinstance(choice, Select):
        return ()
    return (choice.then, *(_arms(choice.otherwise) if is_jump(choice) else (choice.otherwise,)))


def _with_arms(choice: Expr, arms: Sequence[Expr]) -> Expr:
    """Return the choice with other values."""
    assert isinstance(choice, Select)
    otherwise = _with_arms(choice.otherwise, arms[1:]) if is_jump(choice) else arms[1]
    return Select(choice.condition, arms[0], otherwise)


def _replaced(expr: Expr, part: Expr, new: Expr) -> Expr:
    """Return `expr` with `new` in place of its part `part`."""
    return new if expr == part else map_children(expr, lambda child: _replaced(child, part, new))
