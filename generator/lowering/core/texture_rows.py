"""Longer rows in memory for stages that kernels write and others read through two-dimensional textures.

Rows of such a texture begin at multiples of some texels (`Target.image_pitch`). A stage whose rows are not such a
multiple is in an array of its own, with padding at the end of each row that no kernel touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from generator.emit.names import free_name
from generator.emit.needs import mentioned
from generator.expr import Expr, Load, map_children
from generator.lowered_kernel import LoweredKernel
from generator.nest import map_expressions
from generator.program import ELEMENT_BYTES, Array, Program
from generator.variant import Placed, Texture

Padded: TypeAlias = tuple[tuple[str, Array], ...]
"""Stages and the arrays that contain them, sorted by the stages' names."""


@dataclass(frozen=True, slots=True)
class WithRows:
    """Kernels and placements that use the longer arrays, and these arrays."""

    kernels: tuple[LoweredKernel, ...]
    placed: tuple[Placed, ...]
    arrays: tuple[Array, ...]


def with_texture_rows(program: Program, kernels: Sequence[LoweredKernel], placed: Sequence[Placed],
                      others: Sequence[Array]) -> WithRows:
    """Put stages with two-dimensional textures into arrays with longer rows where the textures need them.

    `others`: arrays besides those of the program, whose names are taken.
    """
    longer = [one for one in placed if isinstance(one, Texture) and one.in_place and len(one.shape) == 2
              and _row(one) != program.array(one.array).extents[-1]]
    if not longer:
        return WithRows(tuple(kernels), tuple(placed), ())
    taken = {array.name for array in (*program.arrays, *others)}.union(*map(_names, kernels))
    padded: Padded = tuple((one.array, _padded(program.array(one.array), one, taken)) for one in longer)
    names = {name: array.name for name, array in padded}
    return WithRows(
        tuple(_renamed(kernel, padded) for kernel in kernels),
        tuple(replace(one, array=names.get(one.array, one.array)) for one in placed),
        tuple(array for _, array in padded),
    )


def _row(texture: Texture) -> int:
    """Return the elements in a row of a texture."""
    return texture.shape[0] * texture.texel_bytes // ELEMENT_BYTES[texture.type]


def _padded(array: Array, texture: Texture, taken: set[str]) -> Array:
    name = free_name(f"{array.name}_rows", taken)
    taken.add(name)
    return replace(array, name=name, extents=(*array.extents[:-1], _row(texture)), declared=())


def _names(kernel: LoweredKernel) -> set[str]:
    return {*mentioned(kernel.body).names, *kernel.outer, *(array.name for array in kernel.shared)}


@lru_cache(maxsize=256)
def _renamed(kernel: LoweredKernel, padded: Padded) -> LoweredKernel:
    """Return the kernel with the arrays of `padded` in place of the stages. Cached, as texts of kernels are.

    A kernel without such an array may have a variable of that name.
    """
    own = {array.name for array in kernel.arrays}
    arrays = {name: array for name, array in padded if name in own}
    if not arrays:
        return kernel

    def changed(expr: Expr) -> Expr:
        found = map_children(expr, changed)
        return replace(found, array=arrays[found.array].name) if isinstance(found, Load) and found.array in arrays \
            else found

    return replace(
        kernel,
        arrays=tuple(arrays.get(array.name, array) for array in kernel.arrays),
        body=map_expressions(kernel.body, changed),
        streamed=tuple(arrays[name].name if name in arrays else name for name in kernel.streamed),
    )
