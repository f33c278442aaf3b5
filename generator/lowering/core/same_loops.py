"""Kernels with the same loops: their plans differ only in what is done to loops and boxes afterwards.

Loops take longest to make. Start plans choose padding or swizzled rows by what each of them gives, so they would make
the same loops several times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from generator.decisions.asynchronous import ASYNCHRONOUS
from generator.decisions.columns import COLUMNS
from generator.decisions.swizzled import SWIZZLED
from generator.lowering.memory.box import LocalBox, padded_rows
from generator.lowering.memory.computed import ComputedBox
from generator.lowering.memory.staging import CopiedBox
from generator.plan import KernelPlan

_Box = TypeVar("_Box", bound=LocalBox)


def of_same_loops(plan: KernelPlan) -> KernelPlan:
    """Return the plan that stands for all with the loops of `plan`.

    It has no padding, unless longer rows change which elements a thread copies at once (`CopiedBox.fill`).
    """
    padding = plan.padding if plan.padding % plan.vector else 0
    return replace(plan, padding=padding, swizzled=SWIZZLED.default, columns=COLUMNS.default,
                   asynchronous=ASYNCHRONOUS.default)


def with_padding(boxes: Sequence[_Box], plan: KernelPlan) -> tuple[_Box, ...]:
    """Return the boxes of `of_same_loops(plan)` as `plan` declares them."""
    more = plan.padding - of_same_loops(plan).padding
    if not more:
        return tuple(boxes)
    return tuple(replace(box, sizes=padded_rows(box.sizes, more))
                 if plan.in_registers or isinstance(box, CopiedBox | ComputedBox) else box for box in boxes)
