"""Random plans of any program, and the results of their kernels in Python, with all checks of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from generator.decisions.combine import Combine
from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core.assemble import launched_program, lower
from generator.lowering.memory.box import LocalBox
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Atomic, Declare, If, Shuffle, walk
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.reductions import reducible
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.polyhedral.schedules.partition import Path, level
from generator.program import ELEMENT_BYTES, Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.schedules.schedule import Schedule
from generator.target import LANGUAGES, Dialect, Target
from tests.support.interpreter import Device, run_original
from tests.support.memory import Memory
from tests.support.programs import program_of, scop

TARGET = Target("test", "opencl", 1024, (1024, 1024, 1024), 1 << 20, 4, True, True, sub_group=32)


def lowered_kernels(program: Program, plan: Plan, dialect: Dialect = "opencl") -> tuple[LoweredKernel, ...]:
    """Return the kernels of a plan, in launch order. Raises IllegalPlan."""
    return launched_program(program, plan, LANGUAGES[dialect]).kernels


def run_plan(program: Program, plan: Plan, rng: np.random.Generator,
             kernels: Sequence[LoweredKernel] | None = None, target: Target = TARGET) -> Memory:
    """Return the results of a plan; `kernels` may replace its own.

    Raises IllegalPlan, or AssertionError for a bad kernel.
    """
    variant = lower(program, plan, target)
    own = tuple(kernels or lowered_kernels(program, plan, target.dialect))
    device = Device(program.with_arrays(variant.scratch), own, rng)
    device.run(variant.host, {})
    return device.memory


def check_plan(program: Program, plan: Plan, target: Target = TARGET, seeds: int = 1) -> None:
    """The kernels of a plan compute what the original program does, in each of `seeds` orders of their threads."""
    right = run_original(program).global_values(program)
    for seed in range(seeds):
        assert run_plan(program, plan, np.random.default_rng(seed), target=target).global_values(program) == right


def planned(text: str, declared: str, kernel: KernelPlan) -> tuple[Program, Plan]:
    """Return the program of loops, and the plan with `kernel` for all its statements."""
    program = program_of(scop(text, declared))
    return program, Plan(ScheduleChoice(), (replace(kernel, statements=tuple(s.name for s in program.statements)),))


def random_partition(program: Program, reductions: tuple[str, ...], rng: np.random.Generator) -> Partition:
    """Return a partition in random topological orders of the components, cut at random, at every depth.

    It sometimes does not check whether the parts share a loop. Raises IllegalPlan.
    """
    return Partition(_groups(program, reductions, (), rng, bool(rng.integers(6) == 0)), reductions)


def _groups(program: Program, reductions: tuple[str, ...], path: Path, rng: np.random.Generator,
            bold: bool) -> tuple[Group, ...]:
    here = level(program, reductions, path)
    left, order = list(range(len(here.components))), []
    while left:
        ready = [b for b in left if not any((a, b) in here.before for a in left)]
        order.append(int(rng.choice(ready)))
        left.remove(order[-1])
    groups: list[tuple[str, ...]] = []
    for number in order:
        together = (*(groups[-1] if groups else ()), *here.components[number].statements)
        if groups and rng.integers(3) and (bold or _share_a_loop(program, reductions, path, together)):
            groups[-1] = together
        else:
            groups.append(here.components[number].statements)
    result = []
    for group in groups:
        names = tuple(sorted(group))
        inner = (*path, names)
        divided = len(names) > 1 and len(path) < 3 and rng.integers(2) and (
            bold or _share_a_loop(program, reductions, path, names))
        result.append(Group(names, _groups(program, reductions, inner, rng, bold) if divided else ()))
    return tuple(result)


def _share_a_loop(program: Program, reductions: tuple[str, ...], path: Path, names: tuple[str, ...]) -> bool:
    try:
        level(program, reductions, (*path, tuple(sorted(names))))
    except IllegalPlan:
        return False
    return True


def random_schedule(program: Program, rng: np.random.Generator) -> Schedule:
    """Return a ScheduleChoice or a Partition with some of the reductions. Raises IllegalPlan."""
    small = {s.name for s in program.statements if ELEMENT_BYTES[program.array(s.body.target.array).type] < 4}
    reductions = tuple(name for name in reducible(program) if rng.integers(20 if name in small else 4) in (1, 2, 3))
    if rng.integers(3) == 0:
        return random_partition(program, reductions, rng)
    flags = [bool(rng.integers(2)) for _ in range(4)]
    return ScheduleChoice("feautrier" if flags[0] else "pluto", flags[1], flags[2], flags[3], reductions)


def random_kernel(statements: tuple[str, ...], dims: int, rng: np.random.Generator) -> KernelPlan:
    """Return random decisions of a kernel; blocks have at most 64 threads, and sizes often are not powers of two."""
    block = [int(rng.choice([1, 1, 2, 3, 4, 5])) for _ in range(dims)]
    long = dims > 0 and rng.integers(3) == 0
    if long:
        block = [1] * dims
        block[int(rng.choice([dims - 1, int(rng.integers(dims))]))] = int(rng.choice([12, 32, 32, 64]))
    while np.prod(block) > 64:
        block[int(np.argmax(block))] = 2
    tile = tuple(b * int(rng.choice([1, 1, 2, 3] if long else [1, 2, 2, 3])) for b in block)
    order = tuple(int(k) for k in rng.permutation(dims)) if rng.integers(2) else ()
    combine: Combine = ("atomic", "shared", "shuffle")[int(rng.integers(long, 3))]
    flags = [bool(rng.integers(2)) for _ in range(2)]
    return KernelPlan(
        statements,
        tile,
        tuple(block),
        shared=flags[0],
        inner_tile=int(rng.integers(1, 5)),
        unroll=int(rng.integers(1, 4)),
        points_inside=flags[1],
        order=order,
        padding=int(rng.integers(3)),
        registers=bool(rng.integers(4)),
        combine=combine,
        exchange=bool(rng.integers(6) == 0),
        columns=sum(block) % 2 == 1,
        run=_run(tile, tuple(block)),
        vector=(1, 2, 4)[sum(tile) % 3],
        ahead=sum(tile) % 4 < 2,
    )


def _run(tile: tuple[int, ...], block: tuple[int, ...]) -> int:
    """Return adjacent elements in a row: all points of a thread along x, half of them, or one, by the other sizes."""
    points = tile[-1] // block[-1] if tile else 1
    runs = [run for run in (1, 2, 3) if points % run == 0]
    return runs[sum((*tile, *block)) % len(runs)]


def random_plan(program: Program, rng: np.random.Generator) -> Plan:
    """Return a plan that fits the program. Raises IllegalPlan."""
    schedule = random_schedule(program, rng)
    kernels = [random_kernel(part.statements, len(part.parallel), rng)
               for part in schedule_kernels(program, schedule).kernels]
    return Plan(schedule, tuple(sorted(kernels, key=lambda k: k.statements)))


def features(kernel: LoweredKernel, plan: KernelPlan) -> set[str]:
    """Return the features of a kernel, to count the coverage of tests."""
    nodes = list(walk(kernel.body))
    found = {f"atomic {node.operator}" for node in nodes if isinstance(node, Atomic)}
    found |= {f"register of {len(node.sizes)} dimensions" for node in nodes if isinstance(node, Declare)}
    found |= {"shuffle"} if any(isinstance(node, Shuffle) for node in nodes) else set()
    found |= {"shared copies"} if any(isinstance(box, CopiedBox) for box in kernel.shared) else set()
    found |= (
        {"combined in shared memory"}
        if any(isinstance(box, LocalBox) and not box.array for box in kernel.shared)
        else set()
    )
    full = [node for node in kernel.body if isinstance(node, If) and node.otherwise]
    found |= {"full and partial tiles"} if full else set()
    found |= {"host loop"} if kernel.outer else set()
    found |= {"order"} if plan.order and list(plan.order) != sorted(plan.order) else set()
    return found
