"""Stages with kernels of their own because a model cannot judge them in one kernel with those that read them, or only
in tiles that do not pay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from explorer.plan_makers.choices import Grouping, Unjudged
from explorer.plan_makers.trivial import readers_of
from metrics.costs.groups import Group


def set_apart(grouping: Grouping, why: Callable[[Group, bool], str]) -> Iterator[Unjudged]:
    """Yield these stages of a grouping; `why`: see `Made.unjudged`."""
    kernels = {stage: kernel.group for kernel in grouping.kernels for stage in kernel.group.stages}
    for kernel in grouping.kernels:
        group = kernel.group
        node = group.flow.node(group.output)
        if node is None or not node.stage:
            continue
        readers = dict.fromkeys(kernels[reader] for reader in readers_of(group.flow, group.output, group.inlined)
                                if reader in kernels)  # fmt: skip
        reasons = (why(_together(group, other), len(readers) == 1) for other in readers)
        if reason := next(filter(None, reasons), ""):
            yield Unjudged(group.output, reason)


def _together(group: Group, reader: Group) -> Group:
    """Return a kernel that computes the stages of `group` in the blocks of `reader`."""
    members = {*group.stages, *reader.members}
    return replace(reader, members=tuple(node.array for node in group.flow.nodes if node.array in members))
