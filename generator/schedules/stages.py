"""The schedule of an image pipeline: where each stage is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from generator.forms import NAMES, check_fields, pairs, sorted_names
from generator.program import Where

WORDS: dict[Where, str] = {
    "inline": "by each thread that reads it, in registers",
    "block": "by the blocks that read it, in shared memory",
}


@dataclass(frozen=True, slots=True)
class Stages:
    """Which intermediate arrays are computed where they are read, and how (`generator.program.Stage`), sorted by name.

    The nests of the program run in the order of the source, each array's by itself: what writes it shares kernels with
    nothing else, except for the arrays that these kernels compute on their way. `reductions` as above.
    """

    computed: tuple[tuple[str, Where], ...] = ()
    reductions: tuple[str, ...] = ()


def stages_from_json(data: Any, where: str) -> Stages:
    """Raises InputError: a field is unknown, missing or has a bad value."""
    check_fields(data, Stages, where)
    NAMES.require(data, where, "reductions")
    pairs("where", get_args(Where)).require(data, where, "computed")
    return Stages(tuple(sorted((array, how) for array, how in data["computed"])), sorted_names(data, "reductions"))


def stages_words(stages: Stages) -> str:
    """`stage by stage; inline: gray; block: blur_x`."""
    lists = [f"{how}: {' '.join(array for array, where in stages.computed if where == how)}"
             for how in WORDS if how in dict(stages.computed).values()]
    return "; ".join(["stage by stage", *lists])


def stages_lines(stages: Stages) -> Iterator[str]:
    """The same for `antune explain`, a line per stage."""
    listed = ", in the order of the source; computed where they are read:" if stages.computed else ""
    yield f"stage by stage{listed}"
    yield from (f"    {array}: {WORDS[where]}" for array, where in stages.computed)
