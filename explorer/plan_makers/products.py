"""Sums of products on CPUs, whose speed depends on sums in registers and on the order of loops, which no model knows.

Start plans have rules for them (`generator.lowering.heuristics.starts`), so a plan maker leaves the tiles of their
kernels to these. It decides only what else is in such a kernel: a sum shares it with the stage that reads it at its own
coordinates, whose threads then compute it; all other sums are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from explorer.plan_makers.choices import Choice
from explorer.plan_makers.trivial import is_element_wise
from generator.dataflow import Dataflow
from metrics.costs.groups import Group, flat


def summed(group: Group, sums: Collection[str]) -> str:
    """Return the first of `sums` that the threads of a kernel compute for its output; an empty string without any."""
    within = (name for name, _ in flat(group.flow, group.output, group.inlined).within)
    return next((name for name in (group.output, *within) if name in sums), "")


def in_threads(group: Group, sums: Collection[str]) -> Group:
    """Return a kernel whose threads compute the members among `sums`."""
    found = {member for member in group.members if member in sums}
    return replace(group, members=tuple(member for member in group.members if member not in found),
                   inlined=group.inlined | found) if found else group  # fmt: skip


def may_share(flow: Dataflow, array: str, sums: Collection[str], inlined: frozenset[str]) -> bool:
    """Return whether a stage may share a kernel with its reader as far as `sums` are concerned."""
    node = flow.node(array)
    return array not in sums or (node is not None and is_element_wise(flow, node, inlined))


def left_to_start_plans(ways: Sequence[Choice], sums: Collection[str]) -> list[Choice]:
    """Return the ways to tile a kernel; only the first one if it is left to start plans."""
    found = summed(ways[0].group, sums) if ways else ""
    return [replace(ways[0], summed=found)] if found else list(ways)
