"""The arrays that a block can update in a private copy, and the box of elements that it may update.

A histogram updates one of many elements per iteration, which depends on data: no thread can keep it in a register, and
in global memory all threads contend for the same few elements. A copy per block is added to the array once, at the end.
It holds what the block may update: all bins, but only of the rows, cells or planes to which its points belong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import islpy as isl

from generator.polyhedral.kit.members import value_range
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.memory.accumulate import keepable
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.memory.mapping import block_names, tile_member
from generator.polyhedral.memory.tile_boxes import TileBox, tile_box
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import ELEMENT_BYTES, Program


def private_updates(program: Program, part: KernelPart, reductions: Sequence[str]) -> tuple[str, ...]:
    """Return those of the relaxed `reductions` of a kernel whose target a block can update in a private copy, sorted.

    Nothing else in the kernel may access the target, and its elements must have atomic updates. Targets that a thread
    can keep in registers are excluded.
    """
    kept = {one.array for one in keepable(program, part)}
    found = []
    for name in sorted(reductions):
        target = program.statement(name).body.target.array
        users = [other for other in part.statements
                 if any(access.array == target for access in program.statement(other).accesses)]
        steps = (step.statement for stage in program.stages for step in stage.steps)
        read_by_stages = any(access.array == target for statement in steps for access in statement.accesses)
        array = program.array(target)
        alone = users == [name] and not read_by_stages
        if alone and target not in kept and array.extents and ELEMENT_BYTES[array.type] >= 4:
            found.append(name)
    return tuple(found)


@lru_cache(maxsize=4096)
def update_box(program: Program, part: KernelPart, name: str, tile: tuple[int, ...],
               prefix: tuple[str, ...]) -> TileBox:
    """Return the box of the target of statement `name` in one block. `prefix`: names of the host iterators.

    Raises:
        IllegalPlan: the box does not contain what is updated (never seen; checked because results would be wrong).
    """
    statement = program.statement(name)
    write = statement.accesses[statement.body.target.access]
    writes = isl.UnionMap.from_map(map_of(write.relation)).intersect_domain(part.domain)
    members = (*part.prefix, *(tile_member(d, t) for d, t in zip(part.parallel, tile, strict=True)))
    numbers = values_at([member.intersect_domain(writes.domain()) for member in members], writes.domain())
    touched = isl.Map.from_union_map(numbers.reverse().apply_range(writes))
    ranges = [(host, *value_range(member.intersect_domain(part.domain)))
              for host, member in zip(prefix, part.prefix, strict=True)]
    ranges += [(block, 0, (d.extent - 1) // t)
               for block, d, t in zip(block_names(len(tile)), part.parallel, tile, strict=True)]
    array = statement.body.target.array
    return tile_box(array, touched, ranges, program.array(array).extents, always=False)[0]
