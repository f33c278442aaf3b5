"""`kernel_facts`: the work of the lowered kernels of a plan, as numbers.

Executions come from sampled launches, blocks and iterations (`sampling`, `counting`), strides from the subscripts
(`addresses`). Conditions that depend on data count as true. An element that one statement loads several times counts
once; the facts ignore all other compiler optimizations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import Protocol

import numpy as np

from generator.expr import Binary, Expr, Fold, Int, Load, Name, Select, loads_of, parts
from generator.facts import Access, AccessMode, KernelFacts, Operations, Space
from generator.linear import substitute
from generator.lowered_kernel import LoweredKernel
from generator.lowering.analysis.addresses import Enclosing, Point, access_facts, enter, outer_point
from generator.lowering.analysis.counting import Counts, Grounds, NodePath, children_of, count
from generator.lowering.analysis.index_values import with_index_values
from generator.lowering.analysis.sampling import samples, trips, values
from generator.lowering.core.assemble import some_kernels
from generator.nest import Assign, Atomic, Barrier, Declare, For, Fragments, If, Node, Shuffle, walk
from generator.operations import binary_operation, is_floating, operations_of
from generator.plan import KernelPlan, Plan
from generator.polyhedral.memory.mapping import block_names, thread_names
from generator.program import ELEMENT_BYTES, Program
from generator.target import Target
from generator.variant import HostBranch, HostLoop, HostOp, Launch, kernel_name

SHALLOW, DEEP = 5, 3  # samples per dimension of a grid and per host loop: with at most two, with more
Run = tuple[str, float, tuple[int, ...]]
"""A sampled launch: the kernel, the number of launches that it represents, the values of its host iterators."""


def kernel_facts(program: Program, plan: Plan, target: Target) -> tuple[KernelFacts, ...]:
    """Return the facts of the kernels of `plan`, in launch order.

    Raises:
        IllegalPlan: the plan does not fit the program or breaks a dependence.
    """
    return some_facts(program, plan, target, {kernel.statements for kernel in plan.kernels})


def some_facts(program: Program, plan: Plan, target: Target,
               wanted: Collection[tuple[str, ...]]) -> tuple[KernelFacts, ...]:
    """Return the facts of the kernels of `plan` with the statements `wanted`, in launch order.

    Raises IllegalPlan as `kernel_facts`, but not for other kernels.
    """
    lowered, host = some_kernels(program, plan, target.language, wanted)
    runs = list(sampled_launches(host, {}, 1.0, 1))
    return tuple(replace(_facts(kernel, _points_per_thread(plan.kernel(kernel.statements)), _runs_of(number, runs)),
                         name=kernel_name(number))
                 for number, kernel in lowered.items())


def _points_per_thread(plan: KernelPlan) -> tuple[int, ...]:
    """Return the points of a thread in each dimension, x first."""
    return tuple(max(1, t // b) for t, b in zip(reversed(plan.tile), reversed(plan.block), strict=True)) or (1,)


def _runs_of(number: int, runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the launches of a kernel without its name: plans number their kernels differently."""
    return tuple(("", weight, values) for name, weight, values in runs if name == kernel_name(number))


@dataclass(frozen=True, slots=True)
class SharedUse:
    """A kernel's accesses to shared memory, as in KernelFacts, with the threads and bytes of a block."""

    statements: tuple[str, ...]
    block: tuple[int, ...]
    local_bytes: int
    accesses: tuple[Access, ...]


def shared_use(program: Program, plan: Plan, target: Target,
               wanted: Collection[tuple[str, ...]]) -> tuple[SharedUse, ...]:
    """Return the SharedUse of the kernels of `plan` with the statements `wanted`, in launch order: much less work than
    all facts, above all for several plans whose kernels differ only in their subscripts.

    Raises IllegalPlan as `kernel_facts`, but not for other kernels.
    """
    lowered, host = some_kernels(program, plan, target.language, wanted)
    runs = list(sampled_launches(host, {}, 1.0, 1))
    return tuple(_shared_use(kernel, _runs_of(number, runs)) for number, kernel in lowered.items())


@lru_cache(maxsize=256)
def _shared_use(kernel: LoweredKernel, runs: tuple[Run, ...]) -> SharedUse:
    """Return its SharedUse; cached by the kernel itself, which is the same object in all plans that have it."""
    layouts = {name: layout for name, layout in _layouts(kernel).items() if layout.space == "shared"}
    study = _Study(_types(kernel), layouts)
    body = _pruned(_as_loops(with_index_values(kernel.body)), study)
    accesses = tuple(study.accesses(body, _middle(kernel, body, runs), _counts(
        _Skeleton(_skeleton(body), kernel.block, kernel.grid, kernel.iterators, runs)))) if body else ()
    return SharedUse(kernel.statements, kernel.block, kernel.local_bytes, accesses)


def _pruned(nodes: tuple[Node, ...], study: _Study) -> tuple[Node, ...]:
    """Return the nodes that `study` counts, and loops and conditions around them."""
    result: list[Node] = []
    for node in nodes:
        match node:
            case For(body=body):
                inside = _pruned(body, study)
                result += [replace(node, body=inside)] if inside else []
            case If(condition, then, otherwise):
                parts = _pruned(then, study), _pruned(otherwise, study)
                result += [If(condition, *parts)] if any(parts) else []
            case _:
                result += [node] if study.touches(node) else []
    return tuple(result)


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """All that the executions in a kernel depend on: its `body` has no assignments, but barriers in their places."""

    body: tuple[Node, ...]
    block: tuple[int, ...]
    grid: tuple[int, ...]
    iterators: tuple[str, ...]
    runs: tuple[Run, ...]


def _skeleton(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        match node:
            case For(body=body):
                result.append(replace(node, body=_skeleton(body), note=""))
            case If(condition, then, otherwise):
                result.append(If(condition, _skeleton(then), _skeleton(otherwise)))
            case _:
                result.append(Barrier())
    return tuple(result)


@lru_cache(maxsize=64)
def _counts(kernel: _Skeleton) -> Counts:
    return count(kernel.body, grounds(kernel, kernel.runs), lambda _: 0.0)


class Launched(Protocol):
    """A kernel with its sizes, x first, and the names of the host loops around its launches."""

    @property
    def block(self) -> tuple[int, ...]:
        """Threads of a block."""

    @property
    def grid(self) -> tuple[int, ...]:
        """Blocks of a launch."""

    @property
    def iterators(self) -> tuple[str, ...]:
        """Names of host loops."""


def sampled_launches(operations: Sequence[HostOp], names: Mapping[str, int], weight: float,
                     depth: int) -> Iterator[Run]:
    """Yield representatives of the launches of a host program; the weights of a kernel add up to its launches.

    `depth`: the number of the host loop, counted from the outside, from 1.
    """
    arrays = {name: np.asarray(value) for name, value in names.items()}
    for operation in operations:
        match operation:
            case Launch(kernel, _, iterators):
                yield kernel, weight, tuple(int(values(i, arrays)) for i in iterators)
            case HostBranch(condition, then, otherwise):
                yield from sampled_launches(then if values(condition, arrays) else otherwise, names, weight, depth)
            case HostLoop(iterator, start, condition, step, body):
                first = values(start, arrays)
                often = int(trips(iterator, first, condition, step, arrays))
                for ordinal, part in samples(often, SHALLOW if depth == 1 else DEEP):
                    here = {**names, iterator: int(first) + step * ordinal}
                    yield from sampled_launches(body, here, weight * part, depth + 1)


@lru_cache(maxsize=128)
def _facts(kernel: LoweredKernel, points: tuple[int, ...], runs: tuple[Run, ...]) -> KernelFacts:
    """Return the facts of a kernel, without its name; cached as `_shared_use`."""
    body = _as_loops(with_index_values(kernel.body))
    study = _Study(_types(kernel), _layouts(kernel))
    launches = sum(weight for _, weight, _ in runs)
    counts = count(body, grounds(kernel, runs), study.cost)
    found = tuple(study.accesses(body, _middle(kernel, body, runs), counts))
    work = Operations()
    for place, node in _leaves(body, ()):
        work = work.plus(study.operations(node), counts.executions.get(place, 0.0))
    return KernelFacts("", kernel.statements, kernel.block, kernel.grid, points, launches, kernel.local_bytes,
                       counts.balance, work, found, tuple((array.name, array.bytes) for array in kernel.arrays))


def _as_loops(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes with index-dependent selects as conditions, and folds as loops."""
    result: list[Node] = []
    for node in nodes:
        match node:
            case For(body=inside):
                result.append(replace(node, body=_as_loops(inside)))
            case If(condition, then, otherwise):
                result.append(If(condition, _as_loops(then), _as_loops(otherwise)))
            case Assign(target, op, Select(condition, then, otherwise)) if not any(loads_of(condition)):
                result.append(If(condition, (Assign(target, op, then),), (Assign(target, op, otherwise),)))
            case Assign(value=Fold() as fold) | Atomic(value=Fold() as fold):
                result += [*_as_loop(fold), replace(node, value=Load(fold.total.name))]
            case _:
                result.append(node)
    return tuple(result)


def _as_loop(fold: Fold) -> Iterator[Node]:
    """Yield a fold as a loop with its usual trip count, whose subscripts and conditions still depend on data."""
    counter = Name(f"{fold.iterator.name} counted")
    variables = [*(name for name, _, _ in fold.changes), *(name for name, _ in fold.lets)]
    values: dict[str, Expr] = {name.name: Load(name.name) for name in variables}
    values[fold.iterator.name] = Binary("+", fold.start, Binary("*", Int(fold.step), counter))
    computed = (*fold.lets, *((name, following) for name, _, following in fold.changes))
    inside = tuple(node for name, value in computed for node in _as_stores(name, substitute(value, values)))
    yield from (Declare(name.name, name.type, ()) for name in variables)
    for name, first, _ in fold.changes:
        yield from _as_stores(name, first)
    yield For(counter.name, Int(0), Binary("<", counter, Int(fold.usual)), 1, inside)


def _as_stores(total: Name, value: Expr) -> Iterator[Node]:
    """Yield `total = value` without folds in the value."""
    store = Load(total.name)
    match value:
        case Fold():
            yield from _as_loop(value)
            yield Assign(store, "", Load(value.total.name))
        case Select(condition, then, otherwise) if any(isinstance(part, Fold) for part in parts(value)):
            yield If(condition, tuple(_as_stores(total, then)), tuple(_as_stores(total, otherwise)))
        case _:
            yield Assign(store, "", value)


def grounds(lowered: Launched, runs: Sequence[Run]) -> Grounds:
    """Return sampled launches and blocks with all threads."""
    block = tuple(reversed(lowered.block))
    grid = tuple(reversed(lowered.grid))
    most = SHALLOW if len(grid) + len(lowered.iterators) <= 2 else DEEP
    blocks = list(product(*(samples(n, most) for n in grid)))
    chosen = [(weight * prod(w for _, w in places), (*values_, *(b for b, _ in places)))
              for _, weight, values_ in runs for places in blocks] or [(1.0, (0,) * len(grid))]
    flat = (-1, *(1,) * len(block))
    outer = (*lowered.iterators, *block_names(len(grid)))
    names = {name: np.array([at[k] for _, at in chosen], dtype=np.int64).reshape(flat) for k, name in enumerate(outer)}
    for dim, name in enumerate(thread_names(len(block))):
        shape = [1] * (len(block) + 1)
        shape[dim + 1] = block[dim]
        names[name] = np.arange(block[dim], dtype=np.int64).reshape(shape)
    return Grounds(names, np.array([weight for weight, _ in chosen]), (len(chosen), *block))


def _middle(lowered: LoweredKernel, body: tuple[Node, ...], runs: Sequence[Run]) -> Point:
    """Return the point in the middle of launches, blocks and threads."""
    threads = list(zip(reversed(thread_names(len(lowered.block))), lowered.block, strict=True))
    _, _, host = runs[len(runs) // 2]
    others = [(name, value, len({run[2][k] for run in runs}) > 1)
              for k, (name, value) in enumerate(zip(lowered.iterators, host, strict=True))]
    others += [(name, max(0, size // 2 - 1), size > 1)
               for name, size in zip(reversed(block_names(len(lowered.grid))), lowered.grid, strict=True)]
    return outer_point(threads, others, _depth(body))


def _depth(nodes: tuple[Node, ...]) -> int:
    return max((_depth(children_of(n)) + isinstance(n, For) for n in nodes), default=0)


def _leaves(nodes: tuple[Node, ...], at: NodePath) -> Iterator[tuple[NodePath, Node]]:
    for position, node in enumerate(nodes):
        if isinstance(node, For | If):
            yield from _leaves(children_of(node), (*at, position))
        else:
            yield (*at, position), node


def _types(lowered: LoweredKernel) -> dict[str, str]:
    """Return the C types of everything that is loaded or stored."""
    types: dict[str, str] = {array.name: array.type for array in (*lowered.arrays, *lowered.scalars)}
    types |= {array.name: array.type for array in lowered.shared}
    return types | {node.name: node.type for node in walk(lowered.body) if isinstance(node, Declare)}


@dataclass(frozen=True, slots=True)
class _Layout:
    space: Space
    element: int
    sizes: tuple[int, ...]


def _layouts(lowered: LoweredKernel) -> dict[str, _Layout]:
    """Return the layouts of the kernel's arrays in memory, including padding."""
    found = {array.name: _Layout("global", ELEMENT_BYTES[array.type], array.extents) for array in lowered.arrays}
    return found | {array.name: _Layout("shared", ELEMENT_BYTES[array.type], array.sizes) for array in lowered.shared}


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """Analyses the nodes of one kernel. Names without a layout are registers and cost nothing.

    `costs`, `found`: what is known about nodes, by identity; nodes are kept, so that no other one has it.
    """

    types: Mapping[str, str]
    layouts: Mapping[str, _Layout]
    costs: dict[int, tuple[Node, float]] = field(default_factory=dict)
    found: dict[int, tuple[Node, list[tuple[AccessMode, Load]]]] = field(default_factory=dict)

    def cost(self, node: Node) -> float:
        """Return memory accesses plus operations of one execution, cached per node."""
        if id(node) not in self.costs:
            self.costs[id(node)] = (node, len(self._touched(node)) + self.operations(node).total)
        return self.costs[id(node)][1]

    def touches(self, node: Node) -> bool:
        """Return whether it accesses memory."""
        return bool(self._touched(node))

    def operations(self, node: Node) -> Operations:
        """Return the operations of one execution."""
        match node:
            case Assign(target, op, value) | Atomic(target, op, value, _):
                floating = is_floating(target, self.types) or is_floating(value, self.types)
                return operations_of(value, self.types).plus(binary_operation(op, floating))
            case Shuffle(variable, operator, _, lanes):
                return Operations().plus(binary_operation(operator, is_floating(variable, self.types)),
                                         lanes.bit_length() - 1)
            case Fragments("multiply", tile, _):
                return Operations(adds=tile.multiplications, muls=tile.multiplications)
            case _:
                return Operations()

    def accesses(self, nodes: tuple[Node, ...], point: Point, counts: Counts) -> Iterator[Access]:
        """Yield all accesses in text order, except those that no sampled thread executes."""
        yield from self._inside(nodes, (), point, (), counts)

    def _inside(self, nodes: tuple[Node, ...], at: NodePath, point: Point, loops: tuple[Enclosing, ...],
                counts: Counts) -> Iterator[Access]:
        for position, node in enumerate(nodes):
            place = (*at, position)
            match node:
                case For(body=body):
                    around = (*loops, Enclosing(node, place, point.free))
                    yield from self._inside(body, place, enter(point, node), around, counts)
                case If():
                    yield from self._inside(children_of(node), place, point, loops, counts)
                case _ if counts.executions.get(place, 0.0) > 0:
                    for mode, load in self._touched(node):
                        layout = self.layouts[load.array]
                        at_once = node.wide.lanes if isinstance(node, Assign) and node.wide else 1
                        yield access_facts(load, layout.space, mode, (layout.element, layout.sizes, at_once), point,
                                           loops, counts, counts.executions[place])

    def _touched(self, node: Node) -> list[tuple[AccessMode, Load]]:
        """Return the accesses to memory of one execution, each element once, cached per node."""
        if id(node) not in self.found:
            self.found[id(node)] = (node, self._accessed(node))
        return self.found[id(node)][1]

    def _accessed(self, node: Node) -> list[tuple[AccessMode, Load]]:
        found: list[tuple[AccessMode, Load]] = []
        match node:
            case Assign(target, op, value):
                read: tuple[Expr, ...] = (*target.index, value, *((target,) if op else ()))
                found = [*self._loads(read), ("write", target)]
            case Atomic(target, _, value, _):
                found = [*self._loads((*target.index, value)), ("atomic", target)]
            case _:
                pass
        return [(mode, load) for mode, load in found if load.array in self.layouts]

    def _loads(self, expressions: Sequence[Expr]) -> list[tuple[AccessMode, Load]]:
        loads = {(load.array, load.index): load for e in expressions for load in loads_of(e)}
        return [("read", load) for load in loads.values()]
