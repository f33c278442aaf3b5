"""Memories other than global memory for arrays that the whole program only reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from generator.emit.images import TEXTURE_TYPES, constant_symbol
from generator.errors import IllegalPlan
from generator.plan import Placement, Plan
from generator.program import ELEMENT_BYTES, Array, Program
from generator.target import MAX_CONSTANT_ARRAYS, Target
from generator.variant import Constant, Placed, Texture

WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class Placeable:
    """An array that can be outside of global memory, its size, and its possible memories (constant memory: if alone).
    """

    array: str
    bytes: int
    memories: tuple[Placement, ...]


def placeable(program: Program, target: Target) -> tuple[Placeable, ...]:
    """Return the arrays that can be placed elsewhere on `target`, sorted by name."""
    found = []
    for array in sorted(program.arrays, key=lambda a: a.name):
        memories: list[Placement] = []
        if not _texture_refusal(array, target):
            memories.append("texture")
        if not _refusal(array) and array.bytes <= target.constant_bytes:
            memories.append("constant")
        if memories:
            found.append(Placeable(array.name, array.bytes, tuple(memories)))
    return tuple(found)


def placements(program: Program, plan: Plan, target: Target) -> tuple[Placed, ...]:
    """Return the placements of the arrays that `plan` puts outside of global memory.

    Raises:
        IllegalPlan: the program has no such array or writes it, or the device cannot hold it there.
    """
    result: list[Placed] = []
    for name, memory in plan.placement:
        if name not in {array.name for array in program.arrays}:
            raise IllegalPlan(f"the plan puts {name} into {memory} memory, but the program has no array of that name")
        array = program.array(name)
        refusal = _texture_refusal(array, target) if memory == "texture" else _refusal(array)
        if refusal:
            raise IllegalPlan(f"{name} cannot lie in {memory} memory: {refusal}")
        result.append(_texture(array, target) if memory == "texture" else Constant(name, constant_symbol(name)))
    _check_constants([program.array(p.array) for p in result if isinstance(p, Constant)], target)
    return tuple(result)


def _refusal(array: Array) -> str:
    """Return why an array must be in global memory on any device; empty if it need not."""
    if not array.extents:
        return "it is a scalar"
    if array.role != "in":
        return "it is not only read by the program"
    return "" if array.elements else "it has no elements"


def _texture_refusal(array: Array, target: Target) -> str:
    """Return why an array cannot be a texture; empty if it can."""
    if refusal := _refusal(array):
        return refusal
    if array.own_elements != array.elements:
        return "its last row is not complete"
    if array.type not in TEXTURE_TYPES:
        return f"its type is {array.type}; textures hold {', '.join(TEXTURE_TYPES)}"
    if not target.images:
        return f"{target.name} has no textures"
    if _shape(array, target) is None:
        width, height = target.image_2d
        return (
            f"it has {array.elements} elements; textures of {target.name} have at most {target.image_1d} texels, or "
            f"{width} x {height}{'' if _words(array, target) > 1 else ', two to a double'}"
        )
    return ""


def _texture(array: Array, target: Target) -> Texture:
    shape = _shape(array, target)
    assert shape is not None, "refused before"
    return Texture(array.name, array.type, shape, _words(array, target))


def _words(array: Array, target: Target) -> int:
    """Return the 32-bit words per texel."""
    return 2 if ELEMENT_BYTES[array.type] == 2 * WORD_BYTES and target.image_pairs else 1


def _shape(array: Array, target: Target) -> tuple[int, ...] | None:
    """Return the texels of the image that holds `array`: rows of the last dimension if they fit, else all in one row.

    Two dimensions are preferred: neighbours in a column are close to each other in the cache.
    """
    each = ELEMENT_BYTES[array.type] // WORD_BYTES // _words(array, target)
    width, height = array.extents[-1] * each, prod(array.extents[:-1])
    if len(array.extents) > 1 and width <= target.image_2d[0] and height <= target.image_2d[1]:
        return width, height
    return (width * height,) if width * height <= target.image_1d else None


def _check_constants(arrays: Sequence[Array], target: Target) -> None:
    """Raise IllegalPlan unless constant memory holds all of `arrays`."""
    total = sum(array.bytes for array in arrays)
    if total > target.constant_bytes:
        raise IllegalPlan(f"{', '.join(a.name for a in arrays)}: {total} bytes in constant memory; {target.name} has "
                          f"{target.constant_bytes}")
    if len(arrays) > MAX_CONSTANT_ARRAYS:
        raise IllegalPlan(f"{len(arrays)} arrays in constant memory; a kernel may have {MAX_CONSTANT_ARRAYS}")
