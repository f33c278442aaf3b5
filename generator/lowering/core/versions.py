"""The arrays of a loop over time as stages: each array after a sweep of a step of a launch is a *version* of it.

    A_s0 -> B_s1 -> A_s1 -> B_s2 -> A_s2      jacobi-1d, two steps per launch

Each version is needed some elements beyond the tile, fewer for later ones (`Overlap`), so a warp can hold it like a
stage: the left part in shared memory, the right one in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from generator.decisions.lane_room import LaneRoom
from generator.lowering.memory.box import padded_rows
from generator.lowering.memory.lane_room import room_of
from generator.lowering.memory.sub_tiles import HeldStage, SubTiles
from generator.lowering.memory.team_tile import of_arrays
from generator.lowering.memory.tile_rows import Span
from generator.lowering.naming import fresh_name
from generator.polyhedral.time.time_steps import (
    Margin,
    Overlap,
    TimeLoop,
    TimeTiling,
    grown,
    overlap,
    required_time_loop,
    time_tiling,
)
from generator.program import ELEMENT_BYTES, Program


@dataclass(frozen=True, slots=True)
class Version:
    """`array` after sweep number `sweep` of a step (None: before all steps), with `left` steps to come.

    `margin`: the elements needed around the tile. `before`: the version that provides what the sweep does not write
    ("": global memory, which nothing writes there). `reads`: the versions that the sweep reads, by array.
    """

    name: str
    array: str
    sweep: int | None
    left: int
    margin: Margin
    before: str
    reads: tuple[tuple[str, str], ...]
    note: str


def versions(loop: TimeLoop, around: Overlap, tiling: TimeTiling, taken: set[str]) -> tuple[Version, ...]:
    """Return all versions of a launch with the most steps, in order of computation; new names are added to `taken`."""
    margins, found = dict(around.arrays), list[Version]()
    newest = dict[str, str]()
    for array in loop.arrays:
        if array in loop.carried or _read_early(loop, array):
            newest[array] = fresh_name(f"{array}_s0", taken)
            note = f"{array} before the first step"
            found.append(Version(newest[array], array, None, tiling.most, margins[array], "", (), note))
    for left in reversed(range(tiling.most)):
        for number, sweep in enumerate(loop.sweeps):
            done, array = tiling.most - left, sweep.array
            before = newest[array] if array in loop.carried else ""
            reads = tuple((name, newest[name]) for name in dict.fromkeys(name for name, _ in sweep.reads))
            name = fresh_name(f"{array}_s{done}", taken)
            margin = grown(around.sweeps[number], around.slope, left)
            note = f"{array} after step {done}"
            found.append(Version(name, array, number, left, margin, before, reads, note))
            newest[array] = name
    return tuple(found)


def _read_early(loop: TimeLoop, array: str) -> bool:
    """Return whether a sweep reads an array whose elements only it or a later sweep of the step writes."""
    for sweep in loop.sweeps:
        if array in (name for name, _ in sweep.reads):
            return True
        if sweep.array == array:
            return False
    return False


def held_versions(
    found: Sequence[Version], sizes: tuple[int, ...], dims: tuple[int, ...]
) -> tuple[HeldStage, ...]:
    """Return the versions as stages of a tile of these `sizes`. `dims`: the arrays' dimensions in the plan's order."""
    readers: dict[str, dict[str, None]] = {one.name: {} for one in found}
    newest = {one.array: one.name for one in found}
    for one in found:
        for name in (*(name for _, name in one.reads), *([one.before] if one.before else [])):
            readers[name][one.name] = None
    for name in newest.values():
        readers[name][""] = None
    return tuple(_stage(one.name, one.margin, sizes, dims, tuple(readers[one.name])) for one in found)


def output_stage(sizes: tuple[int, ...], dims: tuple[int, ...]) -> HeldStage:
    """Return the tile as it is stored."""
    return _stage("", ((0, 0),) * len(sizes), sizes, dims, ())


def _stage(
    name: str, margin: Margin, sizes: tuple[int, ...], dims: tuple[int, ...], readers: tuple[str, ...]
) -> HeldStage:
    spans = tuple(
        Span(dims.index(d), size, -low, size + low + high)
        for d, (size, (low, high)) in enumerate(zip(sizes, margin, strict=True))
    )
    return HeldStage(name, spans, dims[-1], *margin[dims[-1]], readers)


def time_room(program: Program, steps: int, order: tuple[int, ...], cut: SubTiles, padding: int) -> LaneRoom | None:
    """Return the resources of a warp's tile with so many steps at a time; None if the text would be too long."""
    loop = required_time_loop(program)
    around, tiling = overlap(loop, steps), time_tiling(loop, steps)
    tile = tuple(n * points for n, points in zip(cut.threads, cut.points, strict=True))
    dims = order or tuple(range(len(tile)))
    sizes = of_arrays(tile, order)
    found = versions(loop, around, tiling, set())
    stages, output = held_versions(found, sizes, dims), output_stage(sizes, dims)
    bytes_of = {array: ELEMENT_BYTES[program.array(array).type] for array in loop.arrays}
    elsewhere = cut.in_registers * cut.threads[-1]
    shared = 0
    for array, margin in around.arrays:
        kept = [n + low + high for n, (low, high) in zip(sizes, margin, strict=True)]
        kept[dims[-1]] -= elsewhere
        shared += bytes_of[array] * prod(padded_rows(tuple(kept), padding)) if prod(kept) else 0
    return room_of(cut, stages, [output for _ in loop.arrays], [bytes_of[one.array] for one in found], shared)
