"""The kernel of a `TimeTiles` schedule: blocks hold a tile with its margins, and run several time steps on it.

    // launched for chunk = 0, 1, ..
    all threads fill A_here from A (an even chunk) or A_next (an odd one)
    for (left = time steps of this chunk - 1; left >= 0; --left)
        all threads compute B_here where it is still needed;   barrier
        all threads compute A_here where it is still needed;   barrier
    all threads store the tile of A_here to A_next or A

An array that every time step writes anew (B) stays in shared memory; its unwritten elements are read from global
memory, and the last chunk stores it. The tile of a warp may be partly in registers (`split_steps.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from generator.decisions.size_lists import InnerTiles
from generator.errors import IllegalPlan
from generator.expr import Binary, Int
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core.fitting import check_lanes
from generator.lowering.core.kernel import TeamKernel, finished
from generator.lowering.core.split_steps import split_steps
from generator.lowering.core.time_parts import Copies, Steps, TimeNames
from generator.lowering.memory.barriers import in_turn
from generator.lowering.memory.box import padded_rows
from generator.lowering.memory.outer import teams_of
from generator.lowering.memory.sub_tiles import sub_tiles_of
from generator.lowering.memory.team_tile import TeamTile, TimeBox, grown_sizes, of_arrays
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import check_besides, check_sizes
from generator.polyhedral.time.time_relations import check_time_tiles
from generator.polyhedral.time.time_steps import (
    Overlap,
    TimeLoop,
    overlap,
    required_time_loop,
    time_tiling,
)
from generator.program import ELEMENT_BYTES, Array, Program
from generator.schedules.time_tiles import TimeTiles
from generator.target import Language
from generator.variant import HostLoop, HostOp, Launch, kernel_name

HONOURED = ("order", "unroll", "padding", "swizzled", "exchange", "columns", "level", "cache", "in_registers")
"""The decisions of such a kernel's plan besides its sizes: its arrays are in shared memory."""


@dataclass(frozen=True, slots=True)
class TimeKernel:
    """The kernel with its launches. `scratch`: the arrays in which even chunks leave their results for odd ones."""

    lowered: LoweredKernel
    host: tuple[HostOp, ...]
    scratch: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class TimeBoxes:
    """The sizes of the boxes for a search, with the dimensions of the arrays in `order`."""

    program: Program
    steps: int
    order: tuple[int, ...] = ()

    def bytes(self, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int) -> int:
        """Return their shared memory; there are no inner tiles."""
        del inner_tile
        around = overlap(required_time_loop(self.program), self.steps)
        return sum(
            ELEMENT_BYTES[self.program.array(name).type]
            * prod(padded_rows(grown_sizes(of_arrays(tile, self.order), margin), padding))
            for name, margin in around.arrays
        )


def time_kernel(program: Program, schedule: TimeTiles, plan: KernelPlan, language: Language) -> TimeKernel:
    """Return the kernel that runs all of `program`.

    Raises:
        IllegalPlan: the program is not a loop over time, or the plan has a decision that this kernel does not support.
    """
    loop = required_time_loop(program)
    _check_plan(plan, loop)
    teams = teams_of(plan, language)
    check_lanes(plan, teams.inner)
    within = teams.plan
    sizes = of_arrays(within.tile, plan.order)
    check_time_tiles(program, schedule.steps, sizes)
    around, tiling = overlap(loop, schedule.steps), time_tiling(loop, schedule.steps)
    names = TimeNames.fresh(program, loop, len(sizes))
    tile = TeamTile(within, names.index, sub_tiles_of(within).in_registers * within.block[-1])
    boxes = {name: box for name, box in _boxes(program, loop, around, tile, names).items() if prod(box.box)}
    scratch = {name: replace(program.array(name), name=called, role="temp") for name, called in names.scratch.items()}
    copies, steps = Copies(tile, boxes, scratch, names.chunk, tiling), Steps(loop, around, tiling, tile, boxes, names)
    if tile.elsewhere:
        body = split_steps(program, copies, steps)
    else:
        computed = in_turn([tuple(copies.filled(loop)), (steps.loops(),)], [box.name for box in boxes.values()])
        body = (*computed, *copies.stored(loop))  # every step ends with a barrier
    tiles = tuple(-(-loop.extents[d] // sizes[d]) for d in tile.dims)
    more = tuple(scratch.values())
    made = TeamKernel(tiles, (names.chunk.name,), tuple(boxes.values()), body)
    lowered = finished(program.with_arrays(more), plan, teams, made, language)
    launch = Launch(kernel_name(0), tuple(Int(n) for n in lowered.launched), (names.chunk,))
    host = HostLoop(names.chunk.name, Int(0), Binary("<", names.chunk, Int(tiling.chunks)), 1, (launch,))
    return TimeKernel(lowered, (host,), more)


def _boxes(
    program: Program, loop: TimeLoop, around: Overlap, tile: TeamTile, names: TimeNames
) -> dict[str, TimeBox]:
    return {
        name: tile.box(program.array(name), names.boxes[name], margin, "copy" if name in loop.carried else "compute")
        for name, margin in around.arrays
    }


def _check_plan(plan: KernelPlan, loop: TimeLoop) -> None:
    if len(plan.tile) != len(loop.extents):
        raise IllegalPlan(
            f"the arrays have {len(loop.extents)} dimensions but the plan of {', '.join(plan.statements)} has "
            f"{len(plan.tile)}"
        )
    check_besides(plan, "that runs several time steps", HONOURED)
    check_sizes(plan)


