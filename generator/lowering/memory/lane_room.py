"""Registers, shared memory and text of a warp's tile that is partly in registers."""

from __future__ import annotations

from collections.abc import Sequence

from generator.decisions.lane_room import LaneRoom
from generator.errors import IllegalPlan
from generator.lowering.memory.sub_tiles import HeldStage, SubTiles, most_words

MOST_SUB_TILES = 160
"""The most sub-tiles in registers, of all stages and the output together: each is a separate piece of text."""


def room_of(
    cut: SubTiles, stages: Sequence[HeldStage], outputs: Sequence[HeldStage], sizes: Sequence[int], shared: int
) -> LaneRoom | None:
    """Return the resources of the stages, with elements of `sizes` bytes and boxes of `shared` bytes; None for too much
    text.
    """
    if sub_tiles_in(cut, [*stages, *outputs]) > MOST_SUB_TILES:
        return None
    words = [-(-size // 4) * len(list(cut.sub_tiles(stage))) for stage, size in zip(stages, sizes, strict=True)]
    return LaneRoom(most_words(stages, words), shared)


def check_text(cut: SubTiles, stages: Sequence[HeldStage], statements: Sequence[str]) -> None:
    """Raise IllegalPlan if so many sub-tiles, including those of outputs, would be too much text."""
    if (count := sub_tiles_in(cut, stages)) > MOST_SUB_TILES:
        raise IllegalPlan(
            f"{', '.join(statements)}: {count} sub-tiles in registers would be as many pieces of "
            f"text; at most {MOST_SUB_TILES}: use fewer tenths in registers or smaller tiles"
        )


def sub_tiles_in(cut: SubTiles, stages: Sequence[HeldStage]) -> int:
    """Return how many sub-tiles are in registers, or stored from there to global memory."""
    return sum(len(list(cut.sub_tiles(stage))) for stage in stages)
