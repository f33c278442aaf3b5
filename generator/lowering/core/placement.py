"""Memories other than global memory: for arrays that the whole program only reads, and for intermediate results, which
kernels that do not write them may read through a texture.

Such a texture lies over the memory of the array itself. That is coherent, as all writes come from earlier launches:
caches of textures are valid within a launch only (CUDA C++ Programming Guide, "Read/Write Coherency"; OpenCL 3.0,
section 5.3.1, on images made from buffers). It has one dimension, or two (`texture2d`): then the rows of the array in
memory may be longer (`texture_rows.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import lcm, prod
from typing import assert_never

from generator.emit.images import NARROW_TYPES, TEXTURE_TYPES, constant_symbol
from generator.emit.needs import mentioned
from generator.errors import IllegalPlan
from generator.lowered_kernel import LoweredKernel
from generator.plan import Placement, Plan
from generator.program import ELEMENT_BYTES, Array, Program
from generator.target import MAX_CONSTANT_ARRAYS, Target
from generator.variant import WORD_BYTES, Constant, Placed, Texture

_MOST_ELEMENTS = 2**31 - 1
"""Of arrays, as device code subscripts them with int; those of programs are checked when they are read."""


@dataclass(frozen=True, slots=True)
class Placeable:
    """An array that can be outside of global memory, its size, and its possible memories (constant memory: if alone).

    `stage`: it is an intermediate result, which only kernels that do not write it can read there.
    """

    array: str
    bytes: int
    memories: tuple[Placement, ...]
    stage: bool = False


def placeable(program: Program, target: Target) -> tuple[Placeable, ...]:
    """Return the arrays that the program only reads and that can be placed elsewhere on `target`, sorted by name."""
    found = []
    for array in sorted((array for array in program.arrays if array.role == "in"), key=lambda a: a.name):
        memories: list[Placement] = []
        if not _texture_refusal(array, target):
            memories.append("texture")
        if not _refusal(array) and array.bytes <= target.constant_bytes:
            memories.append("constant")
        if memories:
            found.append(Placeable(array.name, array.bytes, tuple(memories)))
    return tuple(found)


def stage_textures(program: Program, target: Target) -> tuple[Placeable, ...]:
    """Return the intermediate results that kernels can read through a texture on `target`, sorted by name."""
    arrays = sorted((array for array in program.arrays if array.role == "temp"), key=lambda a: a.name)
    kinds: tuple[Placement, ...] = ("texture", "texture2d")
    found = ((a, tuple(kind for kind in kinds if not _memory_refusal(a, kind, target))) for a in arrays)
    return tuple(Placeable(a.name, a.bytes, memories, stage=True) for a, memories in found if memories)


def placed_in(kernel: LoweredKernel, placed: Sequence[Placed]) -> tuple[Placed, ...]:
    """Return the part of `placed` that applies to a kernel: arrays that it writes are in global memory for it."""
    written = mentioned(kernel.body).written if any(isinstance(p, Texture) and p.in_place for p in placed) else ()
    own = {array.name for array in kernel.arrays}.difference(written)
    return tuple(one for one in placed if one.array in own)


def check_used(placed: Sequence[Placed], here: Sequence[Placed], used: Collection[Placed]) -> None:
    """Raise IllegalPlan for a texture of an intermediate result that no kernel reads; `here`: as kernels know them."""
    for one, known in zip(placed, here, strict=True):
        if isinstance(one, Texture) and one.in_place and known not in used:
            raise IllegalPlan(f"{one.array} cannot lie in texture memory: no kernel of this plan reads it from global "
                              "memory without writing it; leave it out of `placement`")


def placements(program: Program, plan: Plan, target: Target) -> tuple[Placed, ...]:
    """Return the placements of the arrays that `plan` puts outside of global memory.

    Raises:
        IllegalPlan: the program has no such array, the program writes it (textures: and it is no intermediate
            result), or the device cannot hold it there.
    """
    result: list[Placed] = []
    for name, memory in plan.placement:
        if name not in {array.name for array in program.arrays}:
            raise IllegalPlan(f"the plan puts {name} into {memory} memory, but the program has no array of that name")
        array = program.array(name)
        if refusal := _memory_refusal(array, memory, target):
            raise IllegalPlan(f"{name} cannot lie in {memory} memory: {refusal}")
        result.append(_placed(array, memory, target))
    _check_constants([program.array(p.array) for p in result if isinstance(p, Constant)], target)
    return tuple(result)


def _placed(array: Array, memory: Placement, target: Target) -> Placed:
    match memory:
        case "texture":
            return _texture(array, target)
        case "texture2d":
            return Texture(array.name, array.type, _rows(array, target), _words(array, target), in_place=True)
        case "constant":
            return Constant(array.name, constant_symbol(array.name))
        case _:
            assert_never(memory)


def _memory_refusal(array: Array, memory: Placement, target: Target) -> str:
    """Return why an array cannot lie in `memory`; empty if it can."""
    match memory:
        case "texture":
            return _texture_refusal(array, target)
        case "texture2d":
            return _rows_refusal(array, target)
        case "constant":
            return _refusal(array)
        case _:
            assert_never(memory)


def _refusal(array: Array) -> str:
    """Return why an array must be in global memory on any device; empty if it need not."""
    return _empty(array) if array.role == "in" else "it is not only read by the program"


def _empty(array: Array) -> str:
    """Return why an array is too small for any other memory; empty if it is not."""
    return "it is a scalar" if not array.extents else "" if array.elements else "it has no elements"


def _texel_refusal(array: Array, target: Target) -> str:
    """Return why an array cannot be a texture of any shape; empty if it can."""
    if refusal := _empty(array) if array.role == "temp" else _refusal(array):
        return refusal
    if array.own_elements != array.elements:
        return "its last row is not complete"
    if array.type not in TEXTURE_TYPES:
        return f"its type is {array.type}; textures hold {', '.join(TEXTURE_TYPES)}"
    if not target.images:
        return f"{target.name} has no textures"
    if array.type in NARROW_TYPES and not target.image_narrow:
        return f"its type is {array.type}; textures of {target.name} hold elements of 32 bits or more"
    return ""


def _rows_refusal(array: Array, target: Target) -> str:
    """Return why kernels that write an array cannot share it with a two-dimensional texture; empty if they can."""
    if array.role != "temp":
        return ("only stages choose the dimensions of their textures; `texture` has two for an input if it fits"
                if array.role == "in" else _refusal(array))
    if refusal := _texel_refusal(array, target):
        return refusal
    if len(array.extents) < 2:
        return "it has one dimension; use texture"
    if not target.image_pitch:
        return f"{target.name} has no two-dimensional textures over memory that kernels write; use texture"
    (width, height), (widest, highest) = _rows(array, target), target.image_2d
    if (elements := width // _texels(array, target) * height) > _MOST_ELEMENTS:
        return (f"with rows of {width} texels it has {elements} elements; device code subscripts with int, so at most "
                f"{_MOST_ELEMENTS} are supported")
    if width > widest or height > highest:
        return (f"it needs {width} x {height} texels; two-dimensional textures of {target.name} have at most "
                f"{widest} x {highest}")
    return ""


def _texture_refusal(array: Array, target: Target) -> str:
    """Return why an array cannot be a texture; empty if it can."""
    if refusal := _texel_refusal(array, target):
        return refusal
    if _shape(array, target) is None:
        width, height = target.image_2d
        wide = "" if array.role == "temp" else f", or {width} x {height}"
        return (
            f"it has {array.elements} elements; textures of {target.name} have at most {target.image_1d} texels{wide}"
            f"{'' if _words(array, target) > 1 else ', two to a double'}"
        )
    return ""


def _texture(array: Array, target: Target) -> Texture:
    shape = _shape(array, target)
    assert shape is not None, "refused before"
    return Texture(array.name, array.type, shape, _words(array, target), in_place=array.role == "temp")


def _words(array: Array, target: Target) -> int:
    """Return the 32-bit words per texel."""
    return 2 if ELEMENT_BYTES[array.type] == 2 * WORD_BYTES and target.image_pairs else 1


def _texels(array: Array, target: Target) -> int:
    """Return the texels of an element."""
    return max(1, ELEMENT_BYTES[array.type] // WORD_BYTES // _words(array, target))


def _rows(array: Array, target: Target) -> tuple[int, int]:
    """Return width and height of the two-dimensional texture over an array that kernels write, and whose rows are made
    as long as the device requires. All dimensions but the last one count rows.
    """
    each = _texels(array, target)
    unit = lcm(target.image_pitch, each)
    return -(-array.extents[-1] * each // unit) * unit, prod(array.extents[:-1])


def _shape(array: Array, target: Target) -> tuple[int, ...] | None:
    """Return the texels of the image that holds `array`: rows of the last dimension if they fit, else all in one row.

    Two dimensions are preferred: neighbours in a column are close to each other in the cache. An array that kernels
    write is in one row, because two dimensions may need padding between rows (`_rows`).
    """
    each = _texels(array, target)
    width, height = array.extents[-1] * each, prod(array.extents[:-1])
    if array.role != "temp" and len(array.extents) > 1 and width <= target.image_2d[0] and height <= target.image_2d[1]:
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
