"""The host program: loops around launches, as data."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from functools import lru_cache
from typing import Any, TypeAlias

from generator.expr import Expr
from generator.lowering.naming import loop_names
from generator.nest import For, If, Instance, Node
from generator.polyhedral.kit.ast import LoopName, box_context, generate
from generator.polyhedral.kit.members import coordinate, images, union_of, without_gaps
from generator.polyhedral.kit.tree import Band, Launch, Sequence, Tree, launches_of
from generator.polyhedral.memory.coverage import check_instances, values_at
from generator.polyhedral.memory.loop_values import loop_values
from generator.polyhedral.pipelines.sections import sections
from generator.polyhedral.schedules.kernels import KernelPart, schedule_kernels
from generator.program import Program
from generator.schedules.schedule import Schedule
from generator.variant import HostBranch, HostLoop, HostOp, kernel_name
from generator.variant import Launch as LaunchOp

Grid: TypeAlias = Callable[[tuple[Expr, ...]], tuple[Expr, ...]]
"""The grid of a kernel's launch, as a function of the values of its host iterators (x first)."""


@lru_cache(maxsize=1024)
def host_nest(program: Program, choice: Schedule) -> tuple[Node, ...]:
    """Return loops whose instances are `K<number>` with the values of the kernel's prefix.

    A few launches may have no work: sums of numbers of tiles have gaps, and isl takes seconds to skip them.

    Raises:
        IllegalPlan: isl's loops do not launch the right instances.
    """
    scheduled = schedule_kernels(program, choice)
    if not any(part.prefix for part in scheduled.kernels):
        return tuple(Instance(f"K{number}", ()) for number in launches_of(scheduled.host))
    launches = [without_gaps(images(k.prefix, k.domain, f"K{n}")) for n, k in enumerate(scheduled.kernels)]
    tree, names = _over_launches(scheduled.host, scheduled.kernels, launches, 0), host_names(program, choice)
    domain = union_of(launches)
    nest = generate(tree, domain, box_context([]), names)
    check_instances(nest, (), values_at((), domain), inner=loop_values(tree, domain, names))
    return nest


def host_names(program: Program, choice: Schedule) -> tuple[LoopName, ...]:
    """Return names of the host loops, by depth; a kernel's prefix member k has the name `host_names[k]`."""
    return loop_names(schedule_kernels(program, choice).host, program, ())


def _over_launches(tree: Tree, kernels: SequenceOf[KernelPart], launches: list[Any], depth: int) -> Tree:
    """Return the host tree with every kernel's instances collapsed into one launch per prefix value."""
    match tree:
        case Launch():
            return tree
        case Band():
            below = launches_of(tree)
            members = []
            for offset in range(len(tree.members)):
                parts = [coordinate(f"K{n}", len(kernels[n].prefix), depth + offset) for n in below]
                total = parts[0]
                for part in parts[1:]:
                    total = total.union_add(part)
                members.append(total)
            child = _over_launches(tree.child, kernels, launches, depth + len(members))
            return Band(tuple(members), tree.coincident, tree.permutable, child, tree.notes)
        case Sequence(children=children):
            filters = tuple(union_of([launches[n] for n in launches_of(c)]) for c in children)
            return Sequence(filters, tuple(_over_launches(c, kernels, launches, depth) for c in children))
        case _:
            raise AssertionError("a host tree holds bands, sequences and launches")


def host_of(program: Program, schedule: Schedule, grids: SequenceOf[Grid]) -> tuple[HostOp, ...]:
    """Return the host program of a schedule whose kernels, in launch order, run on `grids`. Raises IllegalPlan."""
    found: list[HostOp] = []
    first = 0
    for section in sections(program, schedule):
        found += _operations(host_nest(section.program, section.schedule), grids, first)
        first += len(schedule_kernels(section.program, section.schedule).kernels)
    return tuple(found)


def _operations(nodes: tuple[Node, ...], grids: SequenceOf[Grid], first: int) -> tuple[HostOp, ...]:
    """Return a host nest with `K<n>` replaced by a launch of `kernel<first + n>`."""
    return tuple(_operation(node, grids, first) for node in nodes)


def _operation(node: Node, grids: SequenceOf[Grid], first: int) -> HostOp:
    match node:
        case For():
            return HostLoop(node.iterator, node.start, node.condition, node.step, _operations(node.body, grids, first))
        case If(condition, then, otherwise):
            return HostBranch(condition, _operations(then, grids, first), _operations(otherwise, grids, first))
        case Instance(name, arguments):
            number = first + int(name.removeprefix("K"))
            return LaunchOp(kernel_name(number), grids[number](arguments), arguments)
        case _:
            raise AssertionError("a host program holds loops, branches and launches")
