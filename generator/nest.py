"""The kernel IR: a small closed union of frozen nodes between schedule trees and text.

`polyhedral/kit/ast.py` makes For, If and Instance; lowering replaces every Instance by the other nodes;
`emit/` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from generator.expr import Binary, Call, Expr, Int, Load, Name
from generator.precision import DEPTH, SIDE, Precision
from generator.program import ELEMENT_BYTES

Level: TypeAlias = Literal["block", "sub-group", "thread"]
"""Threads that work together: all of a block, those of a sub-group (a warp), or each by itself."""


@dataclass(frozen=True, slots=True)
class For:
    """`for (int iterator = start; condition; iterator += step) body`; `note` says what the loop is.

    `unroll` is the factor by which it is to be unrolled; 0: no plan has a say in that. `once`: `condition` is `iterator
    <= bound`, and the bound is computed before the loop and not each time round. Compilers find that themselves for
    most loops, and some of them vectorize less then; between barriers they do not find it. `vector`: its `unroll`
    iterations, which are all, work on neighbours (`lowering/core/vectors.py`). `points`: it is over so many points of
    a thread, which registers tell apart (0: another loop). `rolled`: compilers are told not to unroll it
    (`emit/rolled.py`). `in_order`: they are told not to vectorize it (`emit/in_order.py`). `wanted`: the factor that
    the plan has for this loop alone (0: none).
    """

    iterator: str
    start: Expr
    condition: Expr
    step: int
    body: tuple[Node, ...]
    note: str = ""
    unroll: int = 1
    once: bool = False
    vector: bool = False
    rolled: bool = False
    in_order: bool = False
    points: int = 0
    wanted: int = 0


@dataclass(frozen=True, slots=True)
class If:
    """`if (condition) then else otherwise`."""

    condition: Expr
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """One execution of a statement (or of a stage or a launch) with these iterator values."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Wide:
    """`lanes` neighbours in memory of a C type, which begin at a multiple of their size."""

    type: str
    lanes: int

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return ELEMENT_BYTES[self.type] * self.lanes


def most_lanes(kind: str, width: int) -> int:
    """How many of `width` neighbours of a C type one access takes: 16 bytes at most."""
    return min(width, 16 // ELEMENT_BYTES[kind])


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op= value`.

    `wide`: it copies so many neighbours, from what `value` loads on to `target` and those behind it.

    `later`: it is a copy from global to shared memory that is done when the thread has waited for it.

    `any_order`: it is one of many updates of floating-point numbers that may run in any order, so that compilers may
    sum up in vectors.
    """

    target: Load
    op: str
    value: Expr
    any_order: bool = False
    wide: Wide | None = None
    later: bool = False


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block or sub-group wait here for each other; what they have in shared memory is consistent
    afterwards, and with `arrays` what is in global memory, too. With `copies` each waits for its own copies (`later`)
    before.
    """

    level: Level = "block"
    arrays: bool = False
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable of this thread, or an array of `sizes`; with constant subscripts it lives in registers. `note` says
    what it is.
    """

    name: str
    type: str
    sizes: tuple[int, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Atomic:
    """`target = target operator value`, in one step with regard to all threads; operator "=" stores `value`.

    `shared`: the target is in shared memory, not in global memory.
    """

    target: Load
    operator: str
    value: Expr
    type: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Shuffle:
    """`variable` becomes the `operator` of its values in all `lanes` neighbouring threads of a sub-group (warp)."""

    variable: Load
    operator: str
    type: str
    lanes: int


@dataclass(frozen=True, slots=True)
class Receive:
    """`variable` becomes what the variable `source` is in lane `lane` of the sub-group; lanes count along x first.

    All lanes run it together, whatever they make of the result.
    """

    variable: Load
    source: Load
    lane: Expr


@dataclass(frozen=True, slots=True)
class SharedFactor:
    """A factor of a tile in shared memory: an array whose rows have `row` elements as declared. `turned`: its rows
    belong to what is summed over, not to rows (columns) of the sums.
    """

    name: str
    row: int
    turned: bool


@dataclass(frozen=True, slots=True)
class WarpTile:
    """How the warps of a block multiply a tile on tensor cores: `depth` terms of a sum at a time.

    `warps` in rows and columns, each with `each` fragments of SIDE x SIDE sums, whose factors have `precision`. They
    are variables of a warp called `parts`; the array `sums` takes them, with rows of `row` elements as declared.
    """

    precision: Precision
    warps: tuple[int, int]
    each: tuple[int, int]
    depth: int
    left: SharedFactor
    right: SharedFactor
    parts: str
    sums: str
    row: int

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        return self.warps[0] * self.each[0] * SIDE, self.warps[1] * self.each[1] * SIDE

    @property
    def multiplications(self) -> int:
        """Of a thread, each with an addition, in one step over `depth` terms."""
        rows, columns = self.sizes
        return rows * columns * -(-self.depth // DEPTH[self.precision]) * DEPTH[self.precision] // (32 * self.count)

    @property
    def count(self) -> int:
        """The warps."""
        return self.warps[0] * self.warps[1]


@dataclass(frozen=True, slots=True)
class Fragments:
    """A step of all warps of a block on fragments of a `tile`: declare the sums and make them 0 (`clear`), add the
    products of what is in shared memory (`multiply`), put them into shared memory (`store`). `warp` numbers the warps.
    """

    step: Literal["clear", "multiply", "store"]
    tile: WarpTile
    warp: Expr


Node: TypeAlias = For | If | Instance | Assign | Barrier | Declare | Atomic | Shuffle | Receive | Fragments


def apply(target: Load, operator: str, value: Expr, kind: str) -> Assign:
    """`target = target operator value` as an assignment."""
    if operator in ("+", "*"):
        return Assign(target, operator, value)
    if kind in ("float", "double"):
        return Assign(target, "", Call(f"f{operator}{'f' if kind == 'float' else ''}", (target, value)))
    return Assign(target, "", Binary(operator, target, value))


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """All nodes, in text order, parents first."""
    for node in nodes:
        yield node
        if isinstance(node, For):
            yield from walk(node.body)
        elif isinstance(node, If):
            yield from walk(node.then)
            yield from walk(node.otherwise)


def rounds(loop: For) -> int | None:
    """How often the loop runs, if that is a constant."""
    match loop.start, loop.condition:
        case Int(first), Binary("<" | "<=" as op, Name(name), Int(bound)) if name == loop.iterator and loop.step > 0:
            return max(0, -(-(bound + (op == "<=") - first) // loop.step))
        case _:
            return None


def expressions(node: Node) -> tuple[Expr, ...]:
    """The expressions of `node` itself, not those of nodes in it."""
    match node:
        case For():
            return node.start, node.condition
        case If():
            return (node.condition,)
        case Assign() | Atomic():
            return node.target, node.value
        case Instance():
            return node.arguments
        case Shuffle():
            return (node.variable,)
        case Receive():
            return node.variable, node.source, node.lane
        case Fragments():
            return (node.warp,)
        case Barrier() | Declare():
            return ()
        case _:
            assert_never(node)


def map_expressions(nodes: tuple[Node, ...], function: Callable[[Expr], Expr]) -> tuple[Node, ...]:
    """`nodes` with `function` applied to all their expressions; it makes Loads of Loads."""
    return tuple(_mapped(node, function) for node in nodes)


def _mapped(node: Node, function: Callable[[Expr], Expr]) -> Node:
    match node:
        case For():
            return replace(node, start=function(node.start), condition=function(node.condition),
                           body=map_expressions(node.body, function))
        case If(condition, then, otherwise):
            return If(function(condition), map_expressions(then, function), map_expressions(otherwise, function))
        case Assign() | Atomic():
            return replace(node, target=_load(function(node.target)), value=function(node.value))
        case Instance(name, arguments):
            return Instance(name, tuple(map(function, arguments)))
        case Shuffle():
            return replace(node, variable=_load(function(node.variable)))
        case Receive(variable, source, lane):
            return Receive(_load(function(variable)), _load(function(source)), function(lane))
        case Fragments():
            return replace(node, warp=function(node.warp))
        case Barrier() | Declare():
            return node
        case _:
            assert_never(node)


def _load(expr: Expr) -> Load:
    assert isinstance(expr, Load)
    return expr
