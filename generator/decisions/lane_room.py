"""The room for tiles of warps that are partly in registers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LaneRoom:
    """What a warp's tile partly in registers needs: live 32-bit registers of each lane, shared memory per warp."""

    words: int
    bytes: int
