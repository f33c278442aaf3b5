"""Facts of kernels compared with simulated threads: every lane's subscripts evaluated, one by one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise, product
from math import prod
from typing import TypeAlias

import numpy as np
import pytest

from antune import halide as hl
from explorer.registry import make_explorer
from generator.emit.kernel import printed
from generator.expr import Expr, Int, Load, Select, children, evaluate, map_children
from generator.facts import Access
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowered_kernel import LoweredKernel
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.core.assemble import lower, lowered_program
from generator.lowering.heuristics.default import default_plan
from generator.nest import Assign, Atomic, Declare, For, If, Level, Node, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.program import Program
from generator.schedules.stages import Stages
from generator.variant import HostLoop, HostOp, Launch
from graph.o1 import make_o1_space
from metrics.transactions import traffic
from tests.support.plans import lowered_kernels
from tests.support.slow import counted, few, in_turn
from tests.support.suite import TARGET, polybench_program

WARP, SECTOR = 32, 32
SMALL = {"gemm": ("NI=20", "NJ=37", "NK=9"), "jacobi-2d": ("N=23", "TSTEPS=2"), "mvt": ("N=45",)}
Event: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int]
"""Access (place of its leaf, number), iteration, element; vectors are counted where the access has one."""


def loads(expr: Expr) -> Iterator[Load]:
    if isinstance(expr, Load):
        yield expr
    for child in children(expr):
        yield from loads(child)


def touched(node: Assign | Atomic) -> list[Load]:
    reads = dict.fromkeys((load.array, load.index) for load in loads(node.value))
    if isinstance(node, Assign) and node.op:
        reads[node.target.array, node.target.index] = None
    return [*(Load(array, index) for array, index in reads), node.target]


def number_of(expr: Expr, names: Mapping[str, int]) -> int:
    """The value of an expression with variables of the kernel in it."""
    def known(part: Expr) -> Expr:
        return Int(names[part.array]) if isinstance(part, Load) else map_children(part, known)
    return evaluate(known(expr), names)


class Simulation:
    """All accesses of the threads of one kernel."""

    def __init__(self, program: Program, lowered: LoweredKernel) -> None:
        self.extents = {**{a.name: a.extents for a in program.arrays if not a.by_value},
                        **{a.name: a.sizes for a in lowered.shared}}
        self.indices = {n.name for n in walk(lowered.body) if isinstance(n, Declare) and n.type == "int"}

    def events(self, nodes: tuple[Node, ...], at: tuple[int, ...], names: Mapping[str, int],
               iteration: tuple[int, ...]) -> Iterator[Event]:
        """What one thread does, in order."""
        for number, node in enumerate(nodes):
            place = (*at, number)
            match node:
                case For():
                    value, ordinal = number_of(node.start, names), 0
                    while number_of(node.condition, {**names, node.iterator: value}):
                        yield from self.events(node.body, place, {**names, node.iterator: value}, (*iteration, ordinal))
                        value, ordinal = value + node.step, ordinal + 1
                case If(condition, then, otherwise):
                    taken = then if number_of(condition, names) else otherwise
                    yield from self.events(taken, (*place, int(taken is otherwise)), names, iteration)
                case Assign(Load(variable, ()), "", value) if variable in self.indices:
                    names = {**names, variable: number_of(value, names)}
                case Assign(target, op, Select(condition, then, otherwise)) if not any(loads(condition)):
                    branch = int(not evaluate(condition, names))
                    chosen = Assign(target, op, (then, otherwise)[branch])
                    yield from self.events((chosen,), (*place, branch), names, iteration)
                case Assign() | Atomic():
                    at_once = node.wide.lanes if isinstance(node, Assign) and node.wide else 1
                    for k, load in enumerate(touched(node)):
                        if load.array in self.extents:
                            yield (*place, k), iteration, self.element(load, names) // at_once
                case _:
                    pass

    def element(self, load: Load, names: Mapping[str, int]) -> int:
        index = [number_of(i, names) for i in load.index]
        extents = self.extents[load.array]
        assert all(0 <= i < n for i, n in zip(index, extents, strict=True)), (load, names)
        return sum(i * prod(extents[d + 1:]) for d, i in enumerate(index))


Warps: TypeAlias = dict[tuple[int, ...], dict[tuple[object, ...], dict[int, int]]]


def simulate(program: Program, lowered: LoweredKernel, runs: list[tuple[int, ...]]) -> tuple[Warps, int]:
    """Elements by access, by (launch, block, warp, iteration) and by lane; and the number of threads."""
    simulation = Simulation(program, lowered)
    block, grid = tuple(reversed(lowered.block)), tuple(reversed(lowered.grid))
    found: Warps = defaultdict(lambda: defaultdict(dict))
    for run, b in product(runs, product(*map(range, grid))):
        names = dict(zip(lowered.iterators, run, strict=True)) | {f"b{d}": n for d, n in enumerate(b)}
        for lane, t in enumerate(product(*map(range, block))):
            here = names | {f"t{d}": n for d, n in enumerate(t)}
            for access, iteration, element in simulation.events(lowered.body, (), here, ()):
                found[access][run, b, lane // WARP, iteration][lane] = element
    return found, len(runs) * prod(grid) * prod(block)


def launched(operations: tuple[HostOp, ...], names: Mapping[str, int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for operation in operations:
        match operation:
            case Launch(kernel, _, iterators):
                yield kernel, tuple(evaluate(i, names) for i in iterators)
            case HostLoop(iterator, start, condition, step, body):
                value = evaluate(start, names)
                while evaluate(condition, {**names, iterator: value}):
                    yield from launched(body, {**names, iterator: value})
                    value += step
            case _:
                raise AssertionError("these programs launch unconditionally")


def plans_of(program: Program, count: int, seed: int) -> list[Plan]:
    space = make_o1_space(partial(kernel_shapes, program), TARGET)
    return [default_plan(program, TARGET), *(w.plan for w in make_explorer("random", space, seed).ask(count))]


@in_turn
@pytest.mark.parametrize(("name", "count"), counted(SMALL, 1, 1, 2))
def test_random_plans_against_every_lane(name: str, count: int) -> None:
    program = polybench_program(name, SMALL[name])
    for plan in plans_of(program, count, 5):
        check(program, plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_many_random_plans_against_every_lane(name: str) -> None:
    program = polybench_program(name, SMALL[name])
    for plan in plans_of(program, 40, 6):
        check(program, plan)


@pytest.mark.parametrize(("level", "block"), few([("block", (1, 32)), ("thread", (1, 8))], 1))
def test_blocks_that_walk_against_every_lane(level: Level, block: tuple[int, ...]) -> None:
    """Variables of the kernel hold where the rows of a box begin. The last tile is none of whole steps."""
    x, y, near, out = hl.Var("x"), hl.Var("y"), hl.Func("near"), hl.Func("out")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    near[x, y] = image[x, y] * 2.0
    out[x, y] = near[x, y] + near[x + 1, y + 1] + near[x, y + 2]
    program, schedule = pipeline_program([out], [64, 22]), Stages((("near", "block"),))
    kernel, = kernels_of(program, schedule)
    plan = Plan(schedule, (KernelPlan(kernel.statements, (16, 32), block, walk=4, level=level),))
    lowered, = lowered_kernels(program, plan)
    assert Simulation(program, lowered).indices
    facts, = kernel_facts(program, plan, TARGET)
    found, threads = simulate(program, lowered, [()])
    executions = [sum(len(lanes) for lanes in warps.values()) for _, warps in sorted(found.items())]
    assert [access.executions * threads for access in facts.accesses] == pytest.approx(executions, rel=0.01)


def check(program: Program, plan: Plan) -> None:
    host = lower(program, plan, TARGET).host
    launches = list(launched(host, {}))
    kernels = lowered_program(program, plan, TARGET.language).kernels
    for lowered, facts in zip(kernels, kernel_facts(program, plan, TARGET), strict=True):
        runs = [values for kernel, values in launches if kernel == facts.name]
        assert facts.launches == len(runs)
        assert (facts.threads, facts.local_bytes) == (prod(facts.block) * prod(facts.grid), lowered.local_bytes)
        found, threads = simulate(program, lowered, runs)
        assert len(found) == len(facts.accesses), plan.to_json()
        clamped = re.search(r"\w\[[^;=]*\b(min|max)\(", printed(lowered, (), TARGET).text.after) is not None
        for (_, warps), access in zip(sorted(found.items()), facts.accesses, strict=True):
            check_access(access, facts.block, warps, threads, clamped)


def check_access(access: Access, block: tuple[int, ...], warps: dict[tuple[object, ...], dict[int, int]],
                 threads: int, clamped: bool) -> None:
    executions = sum(len(lanes) for lanes in warps.values())
    # Deep sequential nests, and copies that end within a partial tile, are sampled coarsely.
    coarse = 0.1 if block == (1,) else 0.01 if unguarded(access) else 0.03
    assert access.executions * threads == pytest.approx(executions, rel=coarse), access
    affine, found = [], False
    for lanes in warps.values():
        starts = {element - offset(access, block, lane) - access.origin for lane, element in lanes.items()}
        if len(starts) == 1:  # threads outside of a partial tile may repeat what its last thread does
            affine.append(list(lanes.values()))
            start, = starts
            exact = not access.elements and in_every_iteration(access)
            assert not exact or (start % access.spacing == 0 if access.spacing else start == 0), (access, lanes)
            found |= start == 0
    # `elements` are those of one iteration, which is one of these: a swizzled row has another order in the next one.
    assert found if access.elements else clamped or len(affine) == len(warps), access
    whole = [elements for elements in affine if len(elements) == WARP]
    if whole and access.space == "global" and prod(block) % WARP == 0:
        per_sector = SECTOR // access.element_bytes
        counted = np.mean([len({e // per_sector for e in elements}) for elements in whole])
        expected = traffic(access, block, WARP, SECTOR).touched / SECTOR / (prod(block) / WARP)
        # All alignments are taken to be equally frequent; in so small programs they are not quite.
        assert counted == pytest.approx(expected, rel=0.12), access


def in_every_iteration(access: Access) -> bool:
    """Facts are of the middle of each loop, which may not be in the branch for its last iterations."""
    return all(inner.entries == pytest.approx(outer.entries * outer.trips) for outer, inner in pairwise(access.loops))


def unguarded(access: Access) -> bool:
    """Whether every iteration of the innermost loop executes the access."""
    return not access.loops or access.executions == pytest.approx(access.loops[-1].entries * access.loops[-1].trips)


def offset(access: Access, block: tuple[int, ...], lane: int) -> int:
    """How far the element of a lane lies behind that of thread 0."""
    if access.elements:  # threads follow no stride
        return access.elements[lane]
    total = 0
    for stride, size in zip(access.strides, block, strict=True):
        assert stride is not None
        total, lane = total + stride * (lane % size), lane // size
    return total
