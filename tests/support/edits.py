"""Correct code with one change in its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from generator.lowering import lower
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from generator.variant import Variant


def edited(change: Callable[[str], str], program: Program, plan: Plan, target: Target) -> Variant:
    """Return the correct code with `change` applied to every kernel."""
    variant = lower(program, plan, target)
    return replace(
        variant, kernels=tuple(replace(k, text=replace(k.text, after=change(k.text.after))) for k in variant.kernels)
    )


def without_barrier(number: int, text: str) -> str:
    """Remove the barrier of this number."""
    parts = text.split("barrier(CLK_LOCAL_MEM_FENCE);")
    assert len(parts) > number + 1
    rest = parts[number].rstrip() + ";" + parts[number + 1]
    return "barrier(CLK_LOCAL_MEM_FENCE);".join([*parts[:number], rest, *parts[number + 2:]])


def replaced(old: str, new: str, number: int, text: str) -> str:
    """Replace the occurrence of `old` of this number by `new`."""
    parts = text.split(old)
    assert len(parts) > number + 1, f"{old} is not there so often"
    return new.join([old.join(parts[:number + 1]), old.join(parts[number + 1:])])
