"""The schedule of an image pipeline: where each stage is computed, and which stages share kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from generator.forms import FLAG, NAMES, Form, are_pairs, check_fields, pairs, sorted_names
from generator.program import Where

WORDS: dict[Where, str] = {
    "inline": "by each thread that reads it, in registers",
    "block": "by the blocks that read it, in shared memory",
}


LAUNCHES = "outermost of more than three parallel loops around launches"


@dataclass(frozen=True, slots=True)
class Stages:
    """The intermediate arrays that are computed where they are read, and how (`generator.program.Stage`), sorted by
    name.

    The nests of the program run in source order, those of each array separately: the kernels that write an array
    contain nothing else except the arrays that they compute on the way. The arrays in one tuple of `together` (sorted,
    as the tuples are) are written by one kernel, in which each thread computes the same elements of all of them; a
    single array by one kernel for all of its definitions, line by line. `reductions`, `serial`, `launches`: as in
    ScheduleChoice, for all nests. `contiguous`: arrays and the dimension, from 0 on, along which their elements are
    adjacent in memory, if it is not the last one; the others keep their order.
    """

    computed: tuple[tuple[str, Where], ...] = ()
    reductions: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    launches: bool = False
    serial: tuple[str, ...] = ()
    contiguous: tuple[tuple[str, int], ...] = ()


def stages_from_json(data: Any, where: str) -> Stages:
    """Read a schedule from JSON. Raises InputError if a field is unknown, missing or has a bad value."""
    check_fields(data, Stages, where)
    NAMES.require(data, where, "reductions", "serial")
    pairs("where", get_args(Where)).require(data, where, "computed")
    _TOGETHER.require(data, where, "together")
    _CONTIGUOUS.require(data, where, "contiguous")
    if "launches" in data:
        FLAG.require(data, where, "launches")
    return Stages(tuple(sorted((array, how) for array, how in data["computed"])), sorted_names(data, "reductions"),
                  tuple(sorted(tuple(sorted(arrays)) for arrays in data.get("together", ()))),
                  data.get("launches", False), sorted_names(data, "serial"),
                  tuple(sorted((array, dim) for array, dim in data.get("contiguous", ()))))


def _are_apart(value: object) -> bool:
    """Return whether `value` is a list of lists of names, each name once."""
    if not isinstance(value, list) or not all(NAMES.holds(names) and names for names in value):
        return False
    every = [name for names in value for name in names]
    return len(set(every)) == len(every)


_TOGETHER = Form(_are_apart, "a list of lists of arrays, each array once")
_CONTIGUOUS = Form(partial(are_pairs, lambda dim: type(dim) is int and dim >= 0),
                   "a list of [array, number of a dimension], each array once")


def stages_words(stages: Stages) -> str:
    """`stage by stage; inline: gray; block: blur_x; together: ix iy`."""
    lists = [f"{how}: {' '.join(array for array, where in stages.computed if where == how)}"
             for how in WORDS if how in dict(stages.computed).values()]
    shared = [f"together: {' '.join(arrays)}" for arrays in stages.together]
    turned = [f"{array} contiguous along dimension {dim}" for array, dim in stages.contiguous]
    return "; ".join(["stage by stage", *lists, *shared, *turned, *([LAUNCHES] if stages.launches else [])])


def stages_lines(stages: Stages) -> Iterator[str]:
    """The same for `antune explain`, a line per stage."""
    listed = ", in the order of the source; computed where they are read:" if stages.computed else ""
    yield f"stage by stage{listed}"
    yield from (f"    {array}: {WORDS[where]}" for array, where in stages.computed)
    yield from (f"    {', '.join(arrays)}: by one kernel" for arrays in stages.together)
    yield from (f"    {array}: elements along dimension {dim} are adjacent in memory" for array, dim in
                stages.contiguous)
    if stages.launches:
        yield f"    {LAUNCHES}"
