"""Sharing out the compilation of one Variant: which of its many kernels each worker compiles first.

That is done if no other Plan of the batch waits to be generated or compiled, as for the first Plan of a search; never
on a cluster, for templates, or where data lead. A share only fills the cache of kernels (`kernel_codes`): one worker
compiles the whole Variant afterwards, which is mostly looking up, and its answer is the outcome. Only a kernel that
takes longer than its limit ends the Plan at once.

That the kernels of a share are launched without those before them, where a driver
compiles for a launch, matters only if data lead: then nothing is shared out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import assert_never

from generator.expr import Fold, Load, Name, parts
from generator.problem import Subject
from generator.program import Assignment, Program
from generator.variant import HostBranch, HostLoop, HostOp, Launch, Variant
from runners.kernel_codes import MOST_TOGETHER

LEAST = MOST_TOGETHER // 2
"""Kernels in a share, at least: a worker has to read headers for each text, and to put the data in place."""


def shares(variant: Variant, workers: int) -> tuple[Variant, ...]:
    """The kernels of `variant` in up to `workers` Variants, each with the launches of its own; none if one worker is
    as good.
    """
    kernels = variant.kernels
    count = min(workers, len(kernels) // LEAST)
    ends = [k * len(kernels) // count for k in range(count + 1)] if count > 1 else []
    found = [kernels[first:end] for first, end in pairwise(ends)]
    return tuple(replace(variant, kernels=some, host=tuple(_launching(variant.host, {kernel.name for kernel in some})))
                 for some in found)


def _launching(ops: Sequence[HostOp], names: Collection[str]) -> Iterator[HostOp]:
    """`ops` without launches of other kernels than `names`."""
    for op in ops:
        match op:
            case Launch():
                if op.kernel in names:
                    yield op
            case HostLoop():
                if body := tuple(_launching(op.body, names)):
                    yield replace(op, body=body)
            case HostBranch():
                then, otherwise = (tuple(_launching(some, names)) for some in (op.then, op.otherwise))
                if then or otherwise:
                    yield replace(op, then=then, otherwise=otherwise)
            case _:
                assert_never(op)


def data_lead(subject: Subject) -> bool:
    """Whether data that kernels compute may decide which elements others access, or how long they run. Of the text of
    a template nothing is known.
    """
    if not isinstance(subject, Program):
        return True
    return any(_leads(statement.body) for statement in subject.statements)


def _leads(body: Assignment) -> bool:
    whole = (body.target, body.value, *([] if body.guard is None else [body.guard]), *(value for _, value in body.lets))
    named = {name for name, _ in body.lets}
    for part in (part for expr in whole for part in parts(expr)):
        inner = [found for index in part.index for found in parts(index)] if isinstance(part, Load) else []
        if isinstance(part, Fold) or any(isinstance(one, Load) or (isinstance(one, Name) and one in named)
                                         for one in inner):
            return True
    return False
