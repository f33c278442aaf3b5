"""The Target: what a device can do, queried by a runner, never assumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["opencl", "cuda"]


@dataclass(frozen=True, slots=True)
class Target:
    """A device's limits. Sizes in bytes; `max_block` is the largest block extent in x, y, z.

    `sub_group`: threads that can exchange values by shuffles (a warp); 0: the device has no shuffles.
    """

    name: str
    dialect: Dialect
    max_threads: int
    max_block: tuple[int, int, int]
    local_bytes: int
    compute_units: int
    fp64: bool
    shares_host_cores: bool
    sub_group: int = 0
