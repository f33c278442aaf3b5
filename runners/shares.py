"""Distributes the compilation of one Variant with many kernels: each worker compiles a share of the kernels first.

This is done if no other Plan of the batch waits to be generated or compiled, as for the first Plan of a search; never
on a cluster, for templates, or if control or subscripts depend on data. A share only fills the cache of kernels
(`kernel_codes`): one worker compiles the whole Variant afterwards, mostly from the cache, and its answer is the
outcome. Only a kernel that exceeds its limit ends the Plan at once.

If a driver compiles during a launch, the kernels of a share are launched without the previous ones. That only matters
if control or subscripts depend on data, and in this case nothing is distributed.
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
"""The least number of kernels in a share: a worker has to read headers for each text, and to copy the data."""


def shares(variant: Variant, workers: int) -> tuple[Variant, ...]:
    """Return the kernels of `variant` in up to `workers` Variants, each with its own launches; empty if one worker is
    as good.
    """
    kernels = variant.kernels
    count = min(workers, len(kernels) // LEAST)
    ends = [k * len(kernels) // count for k in range(count + 1)] if count > 1 else []
    found = [kernels[first:end] for first, end in pairwise(ends)]
    return tuple(replace(variant, kernels=some, host=tuple(_launching(variant.host, {kernel.name for kernel in some})))
                 for some in found)


def _launching(ops: Sequence[HostOp], names: Collection[str]) -> Iterator[HostOp]:
    """Yield `ops` without launches of kernels other than `names`."""
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
    """Return whether computed data may determine which elements are accessed, or how long kernels run.

    For templates this is unknown, so it is assumed.
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
