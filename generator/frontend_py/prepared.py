"""Process values that are meaningful only in a definition: `undef`, random numbers, `print` and `require`.

    undef            0 in the pure definition; the old value in an update, which is the same as storing nothing
    random_int(s)    a hash of s and the coordinates of the definition: `random.py`
    print, require   only the value; the message or check becomes a Note, which only the interpreter uses
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from generator.errors import Location
from generator.frontend_py.nodes import Call, Const, Expr, Op, Pixel, operands, parts
from generator.frontend_py.random import Unseeded, number_of

MARKS = ("undef", "random", "print", "require")
"""Operations that this removes."""


@dataclass(frozen=True, slots=True, eq=False)
class Noted(Op):
    """`print(...)` or `require(...)`: the value, the condition, then the message.

    `words`: the texts of the message, empty for an operand.
    """

    words: tuple[str, ...]
    at: Location


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """A message where `condition` holds, or (`required`) a failure where it does not."""

    required: bool
    condition: Expr
    words: tuple[str | Expr, ...]
    at: Location

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """All evaluated expressions."""
        return (self.condition, *(word for word in self.words if isinstance(word, Expr)))


def defined_values(values: Sequence[Expr], old: Callable[[int], Expr]) -> tuple[Expr, ...]:
    """Return `values` with `undef`, alone or in a `select` that is a value, replaced by `old(k)`."""
    return tuple(_defined(value, k, old) for k, value in enumerate(values))


def _defined(value: Expr, index: int, old: Callable[[int], Expr]) -> Expr:
    if isinstance(value, Op) and value.name == "undef":
        return old(index)
    if isinstance(value, Op) and value.name == "select":
        chosen = tuple(_defined(v, index, old) for v in value.args[1:])
        if any(a is not b for a, b in zip(chosen, value.args[1:], strict=True)):
            return replace(value, args=(value.args[0], *chosen))
    return value


def nothing(kind_of: Callable[[int], Expr]) -> Callable[[int], Expr]:
    """Return 0 of the type of value `k`, for an `undef` of a pure definition."""
    return lambda k: Const(kind_of(k).type, 0.0 if kind_of(k).type.is_float() else 0)


def prepared(
    roots: Sequence[Expr], coordinates: Sequence[Expr], number: int
) -> tuple[tuple[Expr, ...], tuple[Note, ...]]:
    """Return `roots` of definition `number` of a Func without random numbers and notes, and the notes.

    `coordinates`: those on which random numbers depend; without a seed they also depend on their position in the Func.
    """
    done: dict[int, Expr] = {}
    notes: list[Note] = []
    count = 0
    for node in parts(*roots):
        args = tuple(done.get(id(child), child) for child in operands(node))
        changed = any(a is not b for a, b in zip(args, operands(node), strict=True))
        if isinstance(node, Noted):
            notes.append(_note(node, args))
            done[id(node)] = args[0]
        elif isinstance(node, Op) and node.name == "random":
            seed = args[0] if args else Unseeded(f"{number}:{count}").as_expr()
            done[id(node)] = number_of(node.kind, seed, coordinates)
            count += not args
        elif changed and isinstance(node, Call | Pixel | Op):
            done[id(node)] = replace(node, args=args)
    return tuple(done.get(id(root), root) for root in roots), tuple(notes)


def _note(node: Noted, args: tuple[Expr, ...]) -> Note:
    rest = iter(args[2:])
    return Note(node.name == "require", args[1], tuple(word or next(rest) for word in node.words), node.at)
