"""A schedule that isl's scheduler computes, and its options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from generator.forms import FLAG, NAMES, check_fields, one_of, sorted_names

Algorithm: TypeAlias = Literal["pluto", "feautrier"]

ALGORITHM = "algorithm"
SERIALIZE = "serialize SCCs"
DEPTH = "maximize band depth"
COINCIDENCE = "outer coincidence"


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
    """The options of the isl scheduler (the O1 decisions of Coding Ants).

    `reductions` (sorted): statements whose own updates may run in any order, so that their loops become parallel.
    `serial` (sorted): the statements of nests whose loops all run in one thread of one kernel; otherwise they are host
    loops around launches. `launches`: of more than three nested parallel loops, the outermost ones are host loops
    around launches; otherwise the innermost ones run in threads. The last of these host loops becomes part of the grid
    (`generator/lowering/core/merged_launches.py`).
    """

    algorithm: Algorithm = "pluto"
    serialize_sccs: bool = False
    maximize_band_depth: bool = True
    outer_coincidence: bool = True
    reductions: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()
    launches: bool = False


def choice_from_json(data: Any, where: str) -> ScheduleChoice:
    """Read a choice from JSON. Raises InputError if a field is unknown or has a bad value."""
    check_fields(data, ScheduleChoice, where, "; other kinds of schedules have groups, nests, computed or steps")
    one_of(get_args(Algorithm)).require(data, where, "algorithm")
    FLAG.require(data, where, "serialize_sccs", "maximize_band_depth", "outer_coincidence")
    NAMES.require(data, where, "reductions", "serial")
    if "launches" in data:
        FLAG.require(data, where, "launches")
    return ScheduleChoice(**(data | {name: sorted_names(data, name) for name in ("reductions", "serial")}))


def choice_words(choice: ScheduleChoice) -> str:
    """`algorithm pluto, serialize SCCs no, maximize band depth yes, outer coincidence yes`."""
    answers = (
        (SERIALIZE, choice.serialize_sccs),
        (DEPTH, choice.maximize_band_depth),
        (COINCIDENCE, choice.outer_coincidence),
    )
    asked = [f"{name} {_yes(answer)}" for name, answer in answers
             if name != DEPTH or not choice.serialize_sccs]  # it has no effect with one component per band
    return ", ".join([f"{ALGORITHM} {choice.algorithm}", *asked])


def choice_lines(choice: ScheduleChoice) -> Iterator[str]:
    """The same for `antune explain`, with every option."""
    sccs = "one after the other" if choice.serialize_sccs else "fused if legal"
    yield (f"algorithm {choice.algorithm}; SCCs {sccs}; maximize band depth: {_yes(choice.maximize_band_depth)}; "
           f"outer coincidence: {_yes(choice.outer_coincidence)}")


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
