"""One kernel: map its tree, check it exactly, generate its loops, fill in the statements, print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from generator.emit.kernel import kernel_text
from generator.errors import IllegalPlan
from generator.expr import Expr, Int, Load, children, map_children
from generator.linear import simplify, substitute
from generator.lowering.barriers import check_barriers
from generator.lowering.host import host_names
from generator.lowering.naming import loop_names
from generator.lowering.staging import LocalArray, copies, into_local, local_arrays, origin
from generator.nest import Assign, Barrier, Copy, For, If, Instance, Node, walk
from generator.plan import KernelPlan, ScheduleChoice
from generator.polyhedral.ast import box_context, enter, generate, index_filter, leave
from generator.polyhedral.coverage import check_instances, values_at
from generator.polyhedral.footprint import StagePoint, stage_points
from generator.polyhedral.kernels import KernelPart, dimension, schedule_kernels
from generator.polyhedral.legality import check_kernel, check_threads, indices
from generator.polyhedral.mapping import MappedKernel, block_names, map_kernel, thread_names
from generator.polyhedral.staged import check_stage
from generator.program import Assignment, Program
from generator.target import Dialect
from generator.variant import Kernel


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """A kernel with its grid (blocks in x, y, z) and its loops."""

    kernel: Kernel
    grid: tuple[int, ...]
    body: tuple[Node, ...]


@lru_cache(maxsize=512)
def lower_kernel(program: Program, choice: ScheduleChoice, number: int, plan: KernelPlan,
                 dialect: Dialect) -> LoweredKernel:
    """Kernel `number` of the schedule, by `plan`; cached, since walks share kernels.

    Raises:
        IllegalPlan: the plan breaks a dependence, a size rule or a barrier rule.
    """
    part = schedule_kernels(program, choice).kernels[number]
    points = stage_points(program, choice, number)
    mapped = map_kernel(part, plan, points)
    check_threads(mapped.tree, part.dependences)
    check_kernel(mapped.tree, part.dependences)
    arrays = local_arrays(program, part, plan, points)
    for local in arrays:
        check_stage(program, part, plan, points[local.stage], local.footprint, local.sizes)
    prefix = tuple(loop.name for loop in host_names(program, choice)[:len(part.prefix)])
    nest = _nest(program, part, plan, mapped, prefix)
    body = _Filler(program, part, plan, points, arrays).fill(nest, {})
    threads = thread_names(len(part.parallel))
    check_barriers(body, threads)
    body = tuple(_unrolled(node, plan.unroll) for node in body)
    names = _used_arrays(program, body)
    kernel = Kernel(
        f"kernel{number}", part.statements, tuple(n for n in names if not program.array(n).by_value),
        tuple(n for n in names if program.array(n).by_value), prefix, tuple(reversed(plan.block)) or (1,),
        sum(a.bytes for a in arrays), "")
    text = kernel_text(kernel, program, arrays, body, dialect)
    return LoweredKernel(replace(kernel, source=text), tuple(reversed(mapped.blocks)) or (1,), body)


def _nest(program: Program, part: KernelPart, plan: KernelPlan, mapped: MappedKernel,
          prefix: tuple[str, ...]) -> tuple[Node, ...]:
    """The loops of one thread, for given host iterators, block and thread indices."""
    ranges = [dimension(member, part.domain) for member in part.prefix]
    bounds = [(name, d.low, d.high) for name, d in zip(prefix, ranges, strict=True)]
    count = len(part.parallel)
    bounds += [(name, 0, n - 1) for name, n in zip(block_names(count), mapped.blocks, strict=True)]
    bounds += [(name, 0, b - 1) for name, b in zip(thread_names(count), plan.block, strict=True)]
    domain = part.domain
    if prefix:
        domain = domain.intersect(index_filter(part.prefix, prefix))
    names = loop_names(mapped.tree, program, [name for name, _, _ in bounds])
    nest = generate(mapped.tree, domain, box_context(bounds), names)
    places = (*part.prefix, *indices(mapped.tree, "block"), *indices(mapped.tree, "thread"))
    check_instances(nest, bounds, values_at(places, part.domain))
    return nest


class _Filler:
    """Replaces instances by assignments, copies and barriers."""

    def __init__(self, program: Program, part: KernelPart, plan: KernelPlan, points: tuple[StagePoint, ...],
                 arrays: tuple[LocalArray, ...]) -> None:
        self.program, self.part, self.plan, self.points, self.arrays = program, part, plan, points, arrays
        self.entering = {enter(n): n for n in range(len(points))}
        self.leaving = {leave(n): n for n in range(len(points))}

    def fill(self, nodes: tuple[Node, ...], tiles: dict[int, tuple[Expr, ...]]) -> tuple[Node, ...]:
        """`nodes` with every instance replaced; `tiles` holds the tile indices of the stages entered so far."""
        result: list[Node] = []
        for node in nodes:
            match node:
                case For():
                    result.append(replace(node, body=self.fill(node.body, dict(tiles))))
                case If(condition, then, otherwise):
                    result.append(If(condition, self.fill(then, dict(tiles)), self.fill(otherwise, dict(tiles))))
                case Instance(name, arguments) if name in self.entering:
                    tiles[self.entering[name]] = arguments
                    result += self._enter(self.entering[name], arguments)
                case Instance(name, arguments) if name in self.leaving:
                    if arguments:  # the stage is filled again in the next round of its tile loop
                        result.append(Barrier())
                case Instance():
                    result.append(self._assign(node, tiles))
                case Assign() | Barrier() | Copy():
                    result.append(node)
        return tuple(result)

    def _enter(self, number: int, arguments: tuple[Expr, ...]) -> Iterator[Node]:
        here = tuple(a for a in self.arrays if a.stage == number)
        point = self.points[number]
        yield from copies(here, self.program, self.part, self.plan, point, self._tiles(point, arguments))
        yield Barrier()

    def _tiles(self, point: StagePoint, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Tile indices of the tiled members; an untiled member has only one tile."""
        return arguments if self.plan.inner_tile > 1 else (Int(0),) * len(point.tiled)

    def _assign(self, instance: Instance, tiles: dict[int, tuple[Expr, ...]]) -> Assign:
        statement = self.program.statement(instance.name)
        values = dict(zip(statement.iterators, instance.arguments, strict=True))
        corners: dict[str, tuple[LocalArray, tuple[Expr, ...]]] = {}
        for local in self.arrays:
            point = self.points[local.stage]
            if instance.name in point.statements:
                if local.stage not in tiles:  # isl put the copies under a condition of their own
                    raise IllegalPlan("a barrier would stand under a condition")
                at = self._tiles(point, tiles[local.stage])
                corners[local.array] = (local, tuple(origin(e, self.part, self.plan, point, at)
                                                     for e in local.footprint.extents))
        body: Assignment = statement.body
        target = simplify(substitute(body.target, values))
        assert isinstance(target, Load)
        return Assign(target, body.op, _redirect(substitute(body.value, values), corners))


def _redirect(expr: Expr, corners: Mapping[str, tuple[LocalArray, tuple[Expr, ...]]]) -> Expr:
    """`expr` with loads of staged arrays taken from their shared copies, subscripts simplified."""
    if isinstance(expr, Load):
        if expr.array in corners:
            return into_local(expr, *corners[expr.array])
        return simplify(expr)
    return map_children(expr, lambda child: _redirect(child, corners))


def _used_arrays(program: Program, nodes: tuple[Node, ...]) -> list[str]:
    """Arrays and scalars of the program that the loops mention, sorted."""
    used: set[str] = set()
    for node in walk(nodes):
        if isinstance(node, Assign):
            used |= {node.target.array} | set(_loads(node.value))
        elif isinstance(node, Copy):
            used.add(node.array)
    return [array.name for array in program.arrays if array.name in used]


def _loads(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Load):
        yield expr.array
    for child in children(expr):
        yield from _loads(child)


def _unrolled(node: Node, factor: int) -> Node:
    """Innermost loops get the unroll factor."""
    match node:
        case For():
            inner = any(isinstance(n, For) for n in walk(node.body))
            if not inner:
                return replace(node, unroll=factor)
            return replace(node, body=tuple(_unrolled(n, factor) for n in node.body))
        case If(condition, then, otherwise):
            return If(condition, tuple(_unrolled(n, factor) for n in then),
                      tuple(_unrolled(n, factor) for n in otherwise))
        case Assign() | Barrier() | Copy() | Instance():
            return node
