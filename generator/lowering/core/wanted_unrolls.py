"""Loops whose unroll factor the plan gives by name (`generator.decisions.unrolls`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from generator.decisions.size_lists import smallest_inner
from generator.errors import IllegalPlan
from generator.lowering.core.vectors import is_vector
from generator.lowering.naming import LoopKey, loop_keys
from generator.nest import Barrier, For, If, Instance, Node, walk
from generator.plan import KernelPlan
from generator.polyhedral.kit.ast import LoopName
from generator.polyhedral.kit.tree import Tree
from generator.polyhedral.memory.footprint import plan_points
from generator.polyhedral.memory.mapping import map_kernel, sized_one_by_one
from generator.polyhedral.schedules.kernels import KernelPart, reordered
from generator.program import Program
from generator.target import Language

Keys: TypeAlias = Mapping[tuple[str, int], LoopKey]
"""The names of loops in plans, by statement and depth (`naming.loop_keys`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A kernel with named loops. `tree`: that of blocks and threads."""

    program: Program
    part: KernelPart
    tree: Tree


def with_wanted(nodes: tuple[Node, ...], names: Sequence[LoopName], kernel: Named,
                plan: KernelPlan) -> tuple[Node, ...]:
    """Return loops of generated code with the factors of `plan`. `names`: those of loops by depth.

    Raises:
        IllegalPlan: the plan names a loop that the kernel does not have.
    """
    if not plan.unrolls:
        return nodes
    keys = loop_keys(kernel.tree, kernel.part.domain, kernel.program)
    _check_named(plan, keys)
    depths = {loop.name: depth for depth, loop in enumerate(names)}
    return tuple(_wanted(node, depths, keys, dict(plan.unrolls)) for node in nodes)


def without_copies(program: Program, part: KernelPart, plan: KernelPlan) -> KernelPlan:
    """Return `plan` without shared copies, and without sizes and factors of loops that there are only with copies: the
    statements of a kernel may then share loops that are named after one of them.
    """
    plain = replace(plan, shared=False, swizzled=(), prologue=False, depth=0, aligned=0)
    part = reordered(part, plan.order)
    points = plan_points(program, part, plan.whole, plan.stages_around)
    if not sized_one_by_one(plain, points):
        plain = replace(plain, inner_tile=smallest_inner(plan.inner_tile))
    if not plan.unrolls:
        return plain
    keys = loop_keys(map_kernel(part, plain, points).tree, part.domain, program)
    there = {key.name for key in keys.values()}
    return replace(plain, unrolls=tuple((loop, factor) for loop, factor in plan.unrolls if loop in there))


def check_unrollable(body: tuple[Node, ...], plan: KernelPlan, language: Language) -> None:
    """Raise IllegalPlan if the plan unrolls a loop with barriers, which `language` does not allow."""
    if not plan.unrolls or language.unrolled_barriers:
        return
    for node in walk(body):
        if isinstance(node, For) and node.wanted > 1 and any(isinstance(one, Barrier) for one in walk(node.body)):
            raise IllegalPlan(f"unroll factors of {', '.join(plan.statements)}: {node.iterator} has barriers in it, "
                              f"and loops with barriers are not unrolled in {language.title}; leave it out")


def with_factors(node: Node, factor: int, whole: bool) -> Node:
    """Give innermost loops the unroll factor, except those with their own; unroll those over points completely if
    `whole`.

    Raises IllegalPlan if a completely unrolled loop has its own factor.
    """
    match node:
        case For(unroll=0):
            return node
        case For():
            points = node.points if whole else 0
            if points and node.wanted:
                raise IllegalPlan(f"unroll factor for {node.iterator}: results are kept in registers over its points, "
                                  "or its rows are together, so that it is unrolled completely; leave it out")
            inner = any(isinstance(n, For) and n.unroll and not (whole and n.points) for n in walk(node.body))
            count = points or node.wanted or (1 if inner else factor)
            vector = points > 0 and is_vector(node, count)
            return replace(node, unroll=count, vector=vector,
                           body=tuple(with_factors(n, factor, whole) for n in node.body))
        case If(condition, then, otherwise):
            return If(condition, tuple(with_factors(n, factor, whole) for n in then),
                      tuple(with_factors(n, factor, whole) for n in otherwise))
        case _:
            return node


def _wanted(node: Node, depths: Mapping[str, int], keys: Keys, factors: Mapping[str, int]) -> Node:
    match node:
        case For():
            depth = depths.get(node.iterator, -1)
            inside = (keys.get((one.name, depth)) for one in walk(node.body) if isinstance(one, Instance))
            key = next(filter(None, inside), None)
            return replace(node, wanted=factors.get(key.name, 0) if key else 0,
                           body=tuple(_wanted(one, depths, keys, factors) for one in node.body))
        case If(condition, then, otherwise):
            return If(condition, tuple(_wanted(one, depths, keys, factors) for one in then),
                      tuple(_wanted(one, depths, keys, factors) for one in otherwise))
        case _:
            return node


def _check_named(plan: KernelPlan, keys: Keys) -> None:
    there = tuple(dict.fromkeys(key.name for key in keys.values()))
    for loop, _ in plan.unrolls:
        if loop not in there:
            raise IllegalPlan(f"unroll factors of {', '.join(plan.statements)}: with these sizes and copies no loop "
                              f"is called {loop}; it has {', '.join(there) or 'none'}")
