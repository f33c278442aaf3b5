"""The memory of each array that the program only reads, decided for the whole program before its kernels; and through
which memory later kernels read the stages of a pipeline that have kernels of their own.

Papenhausen & Mueller's Coding Ants, table 1, "memory placement": array by array, in the order of their names. Arrays
compete for the same caches, so the best memory of an array depends on the choices before it, and its decision names
these in `depends`.

Textures are offered for all arrays that can be one, as in the paper; constant memory is ours. CPUs emulate textures in
software and have no special constant memory: there, the wide space offers neither.

A stage is asked for by itself, as a pipeline may have a hundred of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from generator.plan import Placement
from generator.target import MAX_CONSTANT_ARRAYS, Target
from graph.space import Chooser, Decision, Option, PageRow

PLACEMENT = "memory placement"
GLOBAL = "global"

ROWS = (
    PageRow("memory placement", "an array that is only read",
        "global, texture, constant",
        "textures only if the device has them; on CPUs only in the paper's space"),
    PageRow("memory placement", "a stage with kernels of its own, `--space pipeline`",
        "global, texture, texture2d",
        "through which path the kernels that only read the stage load it: a texture of one or two dimensions over its "
        "memory; the kernels that compute it write it to global memory as always. Offered on GPUs with textures, for "
        "elements of up to 32 bits and double, if a texture of these dimensions may be as large as the array"),
)
"""Rows of the tables in docs/decisions.md."""


class Placeable(Protocol):
    """An array that may lie outside global memory (generator.lowering.core.placement.Placeable)."""

    @property
    def array(self) -> str:
        """The name of the array."""

    @property
    def bytes(self) -> int:
        """The size of the array in bytes."""

    @property
    def memories(self) -> tuple[Placement, ...]:
        """The memories other than global memory where it may lie."""

    @property
    def stage(self) -> bool:
        """Whether it is a stage of a pipeline."""


def choose_placement(chooser: Chooser, arrays: Sequence[Placeable], target: Target,
                     wide: bool) -> tuple[tuple[str, Placement], ...]:
    """Ask where each array lies. Return (array, memory) for those outside global memory, sorted by name."""
    if wide and target.shares_host_cores:
        return ()
    placed: list[tuple[str, Placement]] = []
    before: list[tuple[str, Option]] = []
    for one in sorted(arrays, key=lambda a: a.array):
        if one.stage:
            answer = chooser.choose(Decision(PLACEMENT, (one.array,)), (GLOBAL, *one.memories))
            placed += [(one.array, memory) for memory in one.memories if memory == answer]
            continue
        constants = [a.bytes for a in arrays if (a.array, "constant") in placed]
        room = sum(constants) + one.bytes <= target.constant_bytes and len(constants) < MAX_CONSTANT_ARRAYS
        offered = [m for m in one.memories if m == "texture" or (wide and room)]
        answer = chooser.choose(Decision(PLACEMENT, (one.array,), tuple(before)), (GLOBAL, *offered))
        before.append((one.array, answer))
        placed += [(one.array, memory) for memory in offered if memory == answer]
    return tuple(placed)
