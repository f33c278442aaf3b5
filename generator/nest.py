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
"""Threads that work together: a block, a sub-group (warp), or a single thread."""
Levels: TypeAlias = tuple[tuple[str, Level], ...]
"""Stages of a kernel with levels of their own, sorted by name."""


@dataclass(frozen=True, slots=True)
class For:
    """`for (int iterator = start; condition; iterator += step) body`; `note` describes the loop.

    `unroll`: the unroll factor; 0: no plan decides about it. `once`: `condition` is `iterator <= bound`, and the bound
    is computed once, before the loop. Compilers do this themselves for most loops, and some vectorize less if it is
    explicit; they do not do it between barriers. `vector`: its `unroll` iterations, which are all, work on neighbours
    (`lowering/core/vectors.py`). `points`: the loop runs over so many points of a thread, each with its own registers
    (0: another loop). `rolled`: tells compilers not to unroll it (`emit/rolled.py`). `in_order`: tells compilers not to
    vectorize it (`emit/in_order.py`). `wanted`: the plan's factor for this loop alone (0: none). `spread`: the loop
    over so many points of a thread is to be inside the sums of its body (`lowering/core/sums_of_points.py`).
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
    spread: int = 0


@dataclass(frozen=True, slots=True)
class If:
    """`if (condition) then else otherwise`."""

    condition: Expr
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """One execution of a statement (or of a stage or a launch) for these iterator values."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Wide:
    """`lanes` adjacent elements of a C type, aligned to their total size."""

    type: str
    lanes: int

    @property
    def bytes(self) -> int:
        """The size of all lanes."""
        return ELEMENT_BYTES[self.type] * self.lanes


def most_lanes(kind: str, width: int) -> int:
    """Return how many of `width` neighbours of a C type one access transfers: at most 16 bytes."""
    return min(width, 16 // ELEMENT_BYTES[kind])


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op= value`.

    `wide`: copies so many adjacent elements, starting at the one that `value` loads and at `target`.

    `later`: an asynchronous copy from global to shared memory, complete when the thread has waited for it.

    `any_order`: one of many floating-point updates that may run in any order, so compilers may vectorize the sum.
    """

    target: Load
    op: str
    value: Expr
    any_order: bool = False
    wide: Wide | None = None
    later: bool = False


@dataclass(frozen=True, slots=True)
class Streamed:
    """Copy `count` elements of a C type to `target` and its neighbours, past the caches, from `source` (an array of the
    thread) and its neighbours.
    """

    target: Load
    source: Load
    count: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block or sub-group wait for each other. Afterwards shared memory is consistent.

    `arrays`: global memory is consistent, too. `copies`: each thread first waits for its own copies (`Assign.later`).
    """

    level: Level = "block"
    arrays: bool = False
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable of this thread, or an array of `sizes`, which is in registers if its subscripts are constant.

    `note` describes it.
    """

    name: str
    type: str
    sizes: tuple[int, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Atomic:
    """`target = target operator value`, atomically; operator "=" stores `value`.

    `shared`: the target is in shared memory, not in global memory.
    """

    target: Load
    operator: str
    value: Expr
    type: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Set `variable` to the reduction with `operator` of its values in `lanes` neighbouring threads of a sub-group
    (warp).
    """

    variable: Load
    operator: str
    type: str
    lanes: int


@dataclass(frozen=True, slots=True)
class Receive:
    """Set `variable` to the value of `source` in lane `lane` of the sub-group; lanes are numbered along x first.

    All lanes must execute it together.
    """

    variable: Load
    source: Load
    lane: Expr


@dataclass(frozen=True, slots=True)
class SharedFactor:
    """A factor of a tile in shared memory: an array whose rows are declared with `row` elements.

    `turned`: its rows belong to the summation index, not to rows (columns) of the sums.
    """

    name: str
    row: int
    turned: bool


@dataclass(frozen=True, slots=True)
class WarpTile:
    """The multiplication of a tile by the warps of a block on tensor cores, `depth` terms of a sum at a time.

    `warps`: their numbers along rows and columns, each with `each` fragments of SIDE x SIDE sums; the factors have
    `precision`. `parts`: the fragment variables of a warp. `sums`: the array that receives them, declared with rows of
    `row` elements. `raw`: factors are in shared memory as in the program, in two places, and are rounded after loading.
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
    raw: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        return self.warps[0] * self.each[0] * SIDE, self.warps[1] * self.each[1] * SIDE

    @property
    def multiplications(self) -> int:
        """The multiplications (each with an addition) of a thread in one step over `depth` terms."""
        rows, columns = self.sizes
        return rows * columns * -(-self.depth // DEPTH[self.precision]) * DEPTH[self.precision] // (32 * self.count)

    @property
    def count(self) -> int:
        """The number of warps."""
        return self.warps[0] * self.warps[1]


@dataclass(frozen=True, slots=True)
class Fragments:
    """A step of all warps of a block on fragments of a `tile`. `warp`: the number of the warp.

    `clear` declares the sums and sets them to 0; `multiply` adds the products of the factors in shared memory; `store`
    writes the sums to shared memory. `place`: which of two places has the factors (None: there is one).
    """

    step: Literal["clear", "multiply", "store"]
    tile: WarpTile
    warp: Expr
    place: Expr | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A comment on the nodes after it."""

    text: str


Node: TypeAlias = (
    For | If | Instance | Assign | Streamed | Barrier | Declare | Atomic | Shuffle | Receive | Fragments | Note
)


def apply(target: Load, operator: str, value: Expr, kind: str) -> Assign:
    """Return `target = target operator value` as an assignment."""
    if operator in ("+", "*"):
        return Assign(target, operator, value)
    if kind in ("float", "double"):
        return Assign(target, "", Call(f"f{operator}{'f' if kind == 'float' else ''}", (target, value)))
    return Assign(target, "", Binary(operator, target, value))


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield all nodes in text order, parents first."""
    for node in nodes:
        yield node
        if isinstance(node, For):
            yield from walk(node.body)
        elif isinstance(node, If):
            yield from walk(node.then)
            yield from walk(node.otherwise)


def rounds(loop: For) -> int | None:
    """Return the number of iterations of the loop if it is a constant; else None."""
    match loop.start, loop.condition:
        case Int(first), Binary("<" | "<=" as op, Name(name), Int(bound)) if name == loop.iterator and loop.step > 0:
            return max(0, -(-(bound + (op == "<=") - first) // loop.step))
        case _:
            return None


def expressions(node: Node) -> tuple[Expr, ...]:
    """Return the expressions of `node` itself, without those of nodes in it."""
    match node:
        case For():
            return node.start, node.condition
        case If():
            return (node.condition,)
        case Assign() | Atomic():
            return node.target, node.value
        case Streamed():
            return node.target, node.source, node.count
        case Instance():
            return node.arguments
        case Shuffle():
            return (node.variable,)
        case Receive():
            return node.variable, node.source, node.lane
        case Fragments():
            return (node.warp,) if node.place is None else (node.warp, node.place)
        case Barrier() | Declare() | Note():
            return ()
        case _:
            assert_never(node)


def map_expressions(nodes: tuple[Node, ...], function: Callable[[Expr], Expr]) -> tuple[Node, ...]:
    """Return `nodes` with `function` applied to all their expressions; it must map Loads to Loads."""
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
        case Streamed():
            return replace(node, target=_load(function(node.target)), source=_load(function(node.source)),
                           count=function(node.count))
        case Instance(name, arguments):
            return Instance(name, tuple(map(function, arguments)))
        case Shuffle():
            return replace(node, variable=_load(function(node.variable)))
        case Receive(variable, source, lane):
            return Receive(_load(function(variable)), _load(function(source)), function(lane))
        case Fragments():
            place = None if node.place is None else function(node.place)
            return replace(node, warp=function(node.warp), place=place)
        case Barrier() | Declare() | Note():
            return node
        case _:
            assert_never(node)


def _load(expr: Expr) -> Load:
    assert isinstance(expr, Load)
    return expr
