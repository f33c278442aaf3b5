"""How much of each array a launch of a kernel writes, without reading anything of it."""

from __future__ import annotations

from math import prod

from generator.lowering.core.streams import written_only
from generator.polyhedral.dependences.model import sets
from generator.polyhedral.kit.members import ends, value_range
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import ELEMENT_BYTES, Program


def written_bytes(program: Program, part: KernelPart, statements: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Return the arrays that these statements always write and never read, with the most bytes that a launch writes.

    Iterations are counted as if they were those of boxes, and distributed evenly over the launches of host loops.
    """
    names = written_only(program, statements)
    if not names:
        return ()
    instances = {one.get_tuple_name(): prod(high - low + 1 for low, high in ends(one)) for one in sets(part.domain)}
    ranges = (value_range(member.intersect_domain(part.domain)) for member in part.prefix)
    launches = prod(high - low + 1 for low, high in ranges)
    found = []
    for name in names:
        writers = [s for s in program.statements if s.body.target.array == name and s.name in instances]
        if any(s.accesses[s.body.target.access].kind == "write" for s in writers):
            array = program.array(name)
            stores = -(-sum(instances[s.name] for s in writers) // launches)
            found.append((name, min(stores, prod(array.extents)) * ELEMENT_BYTES[array.type]))
    return tuple(found)
