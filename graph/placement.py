"""Where each array lies that the program only reads: decided for the whole program, before its kernels.

Papenhausen & Mueller's Coding Ants, table 1, "memory placement": array by array in the order of their names. They
compete for the same caches, so that an array's best place depends on where those before it lie: the graph branches.

Textures for all that can be, as in the paper; constant memory (*) is ours. A CPU computes in software what texture
units do, and its constant memory is memory like any other: the wide space offers neither there.
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
)
"""Of docs/decisions.md."""


class Placeable(Protocol):
    """An array that need not lie in global memory (generator.lowering.core.placement.Placeable)."""

    @property
    def array(self) -> str:
        """Its name."""

    @property
    def bytes(self) -> int:
        """Its size."""

    @property
    def memories(self) -> tuple[Placement, ...]:
        """Where else it may lie."""


def choose_placement(chooser: Chooser, arrays: Sequence[Placeable], target: Target,
                     wide: bool) -> tuple[tuple[str, Placement], ...]:
    """The arrays that do not lie in global memory, with where they lie, sorted."""
    if wide and target.shares_host_cores:
        return ()
    placed: list[tuple[str, Placement]] = []
    before: list[tuple[str, Option]] = []
    for one in sorted(arrays, key=lambda a: a.array):
        constants = [a.bytes for a in arrays if (a.array, "constant") in placed]
        room = sum(constants) + one.bytes <= target.constant_bytes and len(constants) < MAX_CONSTANT_ARRAYS
        offered = [m for m in one.memories if m == "texture" or (wide and room)]
        answer = chooser.choose(Decision(PLACEMENT, (one.array,), tuple(before)), (GLOBAL, *offered))
        before.append((one.array, answer))
        placed += [(one.array, memory) for memory in offered if memory == answer]
    return tuple(placed)
