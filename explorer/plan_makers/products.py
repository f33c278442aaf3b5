"""Sums of products on CPUs, whose speed depends on sums in registers and on the order of loops, which no model knows.

Start plans have rules for them (`generator.lowering.heuristics.starts`), so a plan maker leaves the tiles of their
kernels to these. It decides only what else is in such a kernel: a sum shares it with the stage that reads it at its own
coordinates, if the kernel stores this stage: its threads then compute the sum, too. All other sums are stored. A kernel
whose threads compute a sum for another stage is not merged into the next one, whose blocks would compute both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from explorer.plan_makers.choices import Choice
from explorer.plan_makers.trivial import fits, is_element_wise
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


def may_share(group: Group, sums: Collection[str]) -> bool:
    """Return whether stages may share a kernel as far as the `sums` among its members are concerned: its output reads
    them, at its own coordinates, and its text has room for them.
    """
    flow = group.flow
    found = [member for member in group.members if member in sums]
    nodes = [node for node in map(flow.node, found) if node is not None and is_element_wise(flow, node)]
    return len(nodes) == len(found) and all(flow.readers(array) == (group.output,) for array in found) and (
        not found or fits(flow, in_threads(group, sums).inlined))


def left_to_start_plans(ways: Sequence[Choice], sums: Collection[str]) -> list[Choice]:
    """Return the ways to tile a kernel; only the first one if it is left to start plans."""
    found = summed(ways[0].group, sums) if ways else ""
    return [replace(ways[0], summed=found)] if found else list(ways)
