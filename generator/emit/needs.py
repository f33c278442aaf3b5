"""The names that a kernel mentions, and the definitions that it needs: found in its nodes, before printing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from generator.emit.tensor_cores import ALIGNMENT
from generator.expr import Binary, Call, Expr, Fold, Load, Name, names_of, parts
from generator.nest import (
    Assign,
    Atomic,
    Barrier,
    Declare,
    For,
    Fragments,
    Node,
    Receive,
    Shuffle,
    Streamed,
    Wide,
    apply,
    expressions,
    walk,
)
from generator.precision import Precision
from generator.variant import Placed


@dataclass(frozen=True, slots=True)
class Needs:
    """The definitions that kernels need (`emit/preamble.py`).

    `atomics`: operator, type, and whether in shared memory. `functions`: called by the dialect's names;
    `own_functions`: by those of `emit/inlined.py`. `halves`: converts halves (`emit/half.py`). `later`: has
    asynchronous copies. `fragments`: the precisions in which it multiplies on tensor cores. `streams`: writes
    single elements past the caches; `rows`: rows of these C types (`emit/streams.py`).
    """

    placements: frozenset[Placed] = frozenset()
    atomics: frozenset[tuple[str, str, bool]] = frozenset()
    functions: frozenset[str] = frozenset()
    own_functions: frozenset[str] = frozenset()
    sub_groups: bool = False
    any_order: bool = False
    vectors: bool = False
    halves: bool = False
    later: bool = False
    fragments: frozenset[Precision] = frozenset()
    streams: bool = False
    rows: frozenset[str] = frozenset()

    def with_those_of(self, other: Needs) -> Needs:
        """Return the union of both."""
        return Needs(self.placements | other.placements, self.atomics | other.atomics, self.functions | other.functions,
                     self.own_functions | other.own_functions, self.sub_groups or other.sub_groups,
                     self.any_order or other.any_order, self.vectors or other.vectors, self.halves or other.halves,
                     self.later or other.later, self.fragments | other.fragments, self.streams or other.streams,
                     self.rows | other.rows)


@dataclass(frozen=True, slots=True)
class Mentioned:
    """`names` of variables, arrays and indices; `plain`: those without arrays; the C names of `functions`; the
    `written` arrays; atomic updates and exchanges; `aligned`: arrays with vector accesses, with their bytes; `rows`:
    the C types of rows that are written past the caches.
    """

    names: frozenset[str]
    plain: frozenset[str]
    functions: frozenset[str]
    written: frozenset[str]
    atomics: frozenset[tuple[str, str, bool]]
    sub_groups: bool
    any_order: bool
    vectors: bool
    later: bool
    fragments: frozenset[Precision]
    aligned: Mapping[str, int]
    rows: frozenset[str]


def mentioned(body: tuple[Node, ...]) -> Mentioned:
    """Return what `body` mentions."""
    names, functions, written, atomics = set[str](), set[str](), set[str](), set[tuple[str, str, bool]]()
    sub_groups = any_order = vectors = False
    fragments = set[Precision]()
    aligned = dict[str, int]()
    for node in walk(body):
        for expr in expressions(node):
            _read(expr, names, functions)
        match node:
            case For(iterator=iterator):
                names.add(iterator)
                vectors = vectors or node.vector
            case Assign(target=target, value=Load(array), wide=Wide() as wide):
                written.add(target.array)
                aligned |= {name: max(wide.bytes, aligned.get(name, 0)) for name in (target.array, array)}
            case Assign(target=target):
                written.add(target.array)
                any_order = any_order or node.any_order
            case Streamed(target):
                written.add(target.array)
            case Atomic(target, operator, _, kind, shared):
                written.add(target.array)
                atomics.add((operator, kind, shared))
            case Declare(name=name):
                names.add(name)
            case Shuffle(variable, operator, kind, _):
                sub_groups = True
                _read(apply(variable, operator, variable, kind).value, names, functions)
            case Barrier(level="sub-group") | Receive():
                sub_groups = True
            case Fragments(_, tile, _):
                fragments.add(tile.precision)
                aligned |= dict.fromkeys((tile.left.name, tile.right.name, tile.sums), ALIGNMENT)
                names |= {tile.parts}
    plain = frozenset(name for node in walk(body) for expr in expressions(node) for name in names_of(expr))
    later = any(isinstance(node, Barrier) and node.copies for node in walk(body))
    rows = frozenset(node.type for node in walk(body) if isinstance(node, Streamed))
    return Mentioned(frozenset(names), plain, frozenset(functions), frozenset(written), frozenset(atomics), sub_groups,
                     any_order, vectors, later, frozenset(fragments), aligned, rows)


def _read(expr: Expr, names: set[str], functions: set[str]) -> None:
    """Add the names that `expr` mentions."""
    for part in parts(expr):
        if isinstance(part, Name):
            names.add(part.name)
        elif isinstance(part, Load):
            names.add(part.array)
        elif isinstance(part, Binary):
            if part.op in ("min", "max"):
                functions.add(part.op)
        elif isinstance(part, Call):
            functions.add(part.function)
        elif isinstance(part, Fold):
            names.update(_variables(part))


def _variables(fold: Fold) -> Iterator[str]:
    """Yield the variables that the loop of a fold declares (`emit/folds.py`)."""
    yield fold.iterator.name
    for name, _, _ in fold.changes:
        yield from (name.name, f"{name.name}_next")
    yield from (name.name for name, _ in fold.lets)
