"""Device memory of an export: one slot for each piece of memory that kernels use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from generator.program import Array, Program
from generator.variant import Constant, Kernel, Placed, Texture, Variant


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece of device memory for `array`; `placed` is its texture or constant memory, None for global memory."""

    array: Array
    placed: Placed | None


def slots_of(program: Program, variant: Variant) -> tuple[Slot, ...]:
    """Return all slots in the order in which kernels first use them. Constant memory has its own slot if it is not
    passed as an argument, a texture over an array that kernels write has one besides that of the array.
    """
    program = program.with_arrays(variant.scratch)
    found: dict[Slot, None] = {}
    for kernel in variant.kernels:
        for placed in _constants(kernel, variant):
            found[Slot(program.array(placed.array), placed)] = None
        for name in kernel.arrays:
            slot = Slot(program.array(name), placement(kernel, name, variant))
            found |= dict.fromkeys((memory_of(slot), slot))
    return tuple(found)


def placement(kernel: Kernel, array: str, variant: Variant) -> Placed | None:
    """Return where a kernel's argument is placed; None: plain global memory."""
    placed = next((p for p in kernel.placements if p.array == array), None)
    match placed:
        case None | Texture():
            return placed
        case Constant():
            return None if variant.language.constant_arguments else placed
        case _:
            assert_never(placed)


def memory_of(slot: Slot) -> Slot:
    """Return the slot with the memory of a texture: its own, or that of the array in global memory."""
    in_place = isinstance(slot.placed, Texture) and slot.placed.in_place
    return Slot(slot.array, None) if in_place else slot


def copied_in(program: Program, array: Array) -> bool:
    """Return whether the caller's contents of an array can matter: not if all of it is written first."""
    if array.role == "temp":
        return False
    whole = (0,) * len(array.extents), tuple(extent - 1 for extent in array.extents)
    return not (array.role == "out" and array.extents
                and any((box.low, box.high) == whole for box in program.poison if box.array == array.name))


def copied_out(array: Array, slot: Slot) -> bool:
    """Return whether a slot contains a result."""
    return array.role in ("out", "inout") and slot.placed is None


def _constants(kernel: Kernel, variant: Variant) -> Iterator[Constant]:
    """Yield the constant arrays that are not arguments but belong to the module."""
    if not variant.language.constant_arguments:
        yield from (p for p in kernel.placements if isinstance(p, Constant))
