"""A launch of several time steps for cost models: each version of an array, after a sweep of a step, is a node.

    A -> A_s0 -> B_s1 -> A_s1 -> B_s2 -> A_s2 -> A after 2 steps       jacobi-1d, two steps per launch

The nodes are the versions that kernels hold (`generator.lowering.core.versions`), away from borders: the first version
of a carried array is a copy of the previous launch's result; the last node is what the launch stores. Sweeps overwrite
an array in place: its versions share one box of shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from generator.dataflow import Dataflow, Input, Node, Reach, Read
from generator.facts import Operations
from generator.lowering.core.versions import Version, versions
from generator.polyhedral.pipelines.arithmetic import registers_of
from generator.polyhedral.pipelines.dataflow import merged_reads, reads_of, work_of
from generator.polyhedral.time.time_steps import Sweep, TimeLoop, overlap, required_time_loop, time_tiling
from generator.program import ELEMENT_BYTES, Program, Step

_Point = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TimeFlow:
    """The longest launch. `members`: the versions in order of computation. `output`: what it stores. `boxes`: the
    members that share a place in shared memory. There are `launches` of at most so many steps.
    """

    flow: Dataflow
    output: str
    members: tuple[str, ...]
    boxes: tuple[tuple[str, ...], ...]
    launches: int


@lru_cache(maxsize=64)
def time_flow(program: Program, steps: int) -> TimeFlow:
    """Return the flow of at most `steps` time steps per launch. Raises IllegalPlan if the program is not a loop over
    sweeps.
    """
    loop = required_time_loop(program)
    tiling = time_tiling(loop, steps)
    found = versions(loop, overlap(loop, steps), tiling, {array.name for array in program.arrays})
    nodes = [_node(program, loop, one, tiling.most) for one in found]
    newest = {one.array: one.name for one in found}
    output = f"{', '.join(sorted(loop.carried) or loop.arrays)} after {tiling.most} step{'s' * (tiling.most > 1)}"
    nodes.append(_stored(program, loop, output, newest))
    inputs = (Input(a.name, a.extents, ELEMENT_BYTES[a.type]) for a in program.arrays)
    boxes = tuple(tuple(one.name for one in found if one.array == array) for array in loop.arrays)
    return TimeFlow(Dataflow(tuple(nodes), tuple(inputs)), output, tuple(one.name for one in found), boxes,
                    tiling.chunks)


def _node(program: Program, loop: TimeLoop, one: Version, most: int) -> Node:
    """Return a version; `most` steps are in a launch. Each sweep's registers count once: steps run in sequence."""
    array = program.array(one.array)
    element, sweep = ELEMENT_BYTES[array.type], None if one.sweep is None else loop.sweeps[one.sweep]
    if sweep is None:  # a copy, which is loaded and not computed
        read = _at(one.array, [(0,) * len(array.extents)])
        return Node(one.name, (), array.extents, element, 2.0, Operations(), 1, (read,), True, False, False)
    before = [] if not one.before else [_kept(one.before, len(array.extents))]
    if any(position is None for position, _ in sweep.dims):  # a border: no computation away from it
        return Node(one.name, (), array.extents, element, 0.0, Operations(), 0, tuple(before), True, False, False)
    step, body = _step(sweep), sweep.statement.body
    arithmetic, operations = work_of(program, [step])
    registers = max(map(registers_of, body.computed)) if one.left == most - 1 else 0
    reads = (*_reads(program, loop, sweep, dict(one.reads)), *(read for read in before if read.array not in {
        name for _, name in one.reads}))
    return Node(one.name, (sweep.statement.name,), array.extents, element, arithmetic, operations, registers, reads,
                True, False, False)


def _step(sweep: Sweep) -> Step:
    """Return the sweep at its first time step, as the step that computes an element."""
    dims = tuple((position, constant) for position, constant in sweep.dims if position is not None)
    return Step(sweep.statement, dims, ((0, sweep.ranges[0][0], sweep.ranges[0][0]),))


def _reads(program: Program, loop: TimeLoop, sweep: Sweep, names: dict[str, str]) -> Iterator[Read]:
    """Yield the reads of the sweep: versions at constant distances, by array in `names`, and arrays that are not
    written.
    """
    for array, name in names.items():
        yield _at(name, [distance for read, distance in sweep.reads if read == array])
    yield from merged_reads([read for read in reads_of(program, _step(sweep)) if read.array not in loop.arrays])


def _at(name: str, distances: list[_Point]) -> Read:
    """Return the read of elements of an array at these distances from the computed one."""
    count, dims = len(distances), len(distances[0])
    reach = tuple(Reach(tuple(float(k == d) for k in range(dims)), float(min(one[d] for one in distances)),
                        float(max(one[d] for one in distances))) for d in range(dims))
    return Read(name, reach, count, float(count), float(count), False)


def _kept(name: str, dims: int) -> Read:
    """Return the read of the previous version: it provides what a sweep does not write, which is at borders only."""
    return Read(name, _at(name, [(0,) * dims]).reach, 0, 0.0, 0.0, False)


def _stored(program: Program, loop: TimeLoop, output: str, newest: dict[str, str]) -> Node:
    """Return all that a launch stores as one node, whose element size is that of all carried arrays together.

    The last launch stores the other arrays, too; until then they are unchanged.
    """
    stored = sorted(loop.carried) or list(loop.arrays)
    element = sum(ELEMENT_BYTES[program.array(array).type] for array in stored)
    dims = len(loop.extents)
    reads = tuple(_at(name, [(0,) * dims]) if array in stored else _kept(name, dims)
                  for array, name in newest.items())
    return Node(output, (), loop.extents, element, 0.0, Operations(), 0, reads, False, True, False)
