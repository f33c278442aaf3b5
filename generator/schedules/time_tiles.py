"""The schedule of sweeps over time: several time steps per launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from generator.forms import POSITIVE, Form, check_fields


@dataclass(frozen=True, slots=True)
class TimeTiles:
    """One kernel that runs the whole program, a loop over time, with `steps` time steps per launch (overlapped tiles).

    `reductions` is empty: there are none among sweeps.
    """

    steps: int
    reductions: tuple[str, ...] = ()


def time_tiles_from_json(data: Any, where: str) -> TimeTiles:
    """Read a schedule from JSON. Raises InputError if a field is unknown, missing or has a bad value."""
    check_fields(data, TimeTiles, where)
    POSITIVE.require(data, where, "steps")
    Form([].__eq__, "an empty list").require(data, where, "reductions")
    return TimeTiles(data["steps"])


def time_tiles_words(tiles: TimeTiles) -> str:
    """`4 time steps per launch, in overlapped tiles`."""
    return f"{tiles.steps} time step{'s' if tiles.steps > 1 else ''} per launch, in overlapped tiles"
