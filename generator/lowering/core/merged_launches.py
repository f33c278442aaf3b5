"""Host loops around independent launches: one launch runs them all, along the z of the grid.

A kernel has three parallel dimensions. A fourth one is a host loop, whose launches may be too small to fill a device:

    for (n = 0; n <= 4; n++)                              kernel<<<4 x 13 x 400 blocks>>>()
      kernel<<<4 x 13 x 80 blocks>>>(n)       becomes       n = blockIdx.z / 80, b0 = blockIdx.z % 80

Only the printed kernel and its launches change: all analyses see the host loop, and what they say is still right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from generator.expr import Binary, Int, Name, names_of
from generator.lowered_kernel import Batch, LoweredKernel
from generator.polyhedral.dependences.reductions import order_of
from generator.polyhedral.kit.tree import multi
from generator.polyhedral.pipelines.sections import SectionKernel
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program
from generator.target import MOST_BLOCKS
from generator.variant import HostBranch, HostLoop, HostOp, Launch, kernel_name

_Z = 2


@dataclass(frozen=True, slots=True)
class _Batched:
    """A kernel, with the launch that takes the place of the loop around its launches."""

    number: int
    kernel: LoweredKernel
    launch: Launch


def with_merged_launches(
    found: Sequence[SectionKernel], kernels: Sequence[LoweredKernel], host: tuple[HostOp, ...]
) -> tuple[tuple[LoweredKernel, ...], tuple[HostOp, ...]]:
    """Return kernels and host program with every innermost loop around one kernel as a part of its grid, if its
    launches are independent and the device can count its blocks. `found`: the kernels in the schedule, in launch order.
    """
    launches, changed = Counter(_launched(host)), list(kernels)

    def merged(operation: HostOp) -> HostOp:
        match operation:
            case Launch():
                return operation
            case HostBranch(condition, then, otherwise):
                return HostBranch(condition, tuple(map(merged, then)), tuple(map(merged, otherwise)))
            case HostLoop(body=(Launch(name),)) if launches[name] == 1:
                made = _batched(operation, found, kernels)
                if made is None:
                    return operation
                changed[made.number] = made.kernel
                return made.launch
            case HostLoop():
                return replace(operation, body=tuple(map(merged, operation.body)))

    operations = tuple(map(merged, host))
    return tuple(changed), operations


def _launched(operations: Sequence[HostOp]) -> Iterator[str]:
    """Yield the names of the kernels in the text of a host program."""
    for operation in operations:
        match operation:
            case Launch(name):
                yield name
            case HostLoop(body=body):
                yield from _launched(body)
            case HostBranch(_, then, otherwise):
                yield from _launched((*then, *otherwise))


def _batched(loop: HostLoop, found: Sequence[SectionKernel], kernels: Sequence[LoweredKernel]) -> _Batched | None:
    """Return the kernel of the only launch in `loop`, which runs all of its iterations; None if that is not possible.
    """
    match loop:
        case HostLoop(iterator, Int(low), Binary("<=", Name(name), Int(high)), 1, (Launch() as launch,)) if (
                name == iterator and low <= high and launch.iterators.count(Name(iterator)) == 1):
            place, count = launch.iterators.index(Name(iterator)), high - low + 1
        case _:
            return None
    number = [kernel_name(number) for number in range(len(kernels))].index(launch.kernel)
    kernel, one = kernels[number], found[number]
    others = (*launch.grid, *launch.iterators[:place], *launch.iterators[place + 1:])
    if (len(kernel.grid) != _Z + 1 or kernel.linear_grid or any(iterator in names_of(expr) for expr in others)
            or kernel.grid[_Z] * count > MOST_BLOCKS[_Z] or kernel.parts
            or not _independent(one.section.program, one.part, place)):
        return None
    grid = (*launch.grid[:_Z], Int(kernel.grid[_Z] * count))
    values = (*launch.iterators[:place], *launch.iterators[place + 1:])
    made = _with_batch(kernel, place, low, count)
    return _Batched(number, made, Launch(launch.kernel, grid, values))


@lru_cache(maxsize=1024)
def _with_batch(kernel: LoweredKernel, place: int, low: int, count: int) -> LoweredKernel:
    """Return `kernel` with its host iterator `place` in the grid; as the same object, which is a key of caches."""
    rest = (*kernel.iterators[:place], *kernel.iterators[place + 1:])
    return replace(kernel, iterators=rest, batch=Batch(kernel.iterators[place], low, count))


@lru_cache(maxsize=4096)
def _independent(program: Program, part: KernelPart, place: int) -> bool:
    """Return whether launches that differ only in a host iterator, the one at `place`, may run at the same time.

    Updates that threads of one launch may do in any order count as dependences here, so that no two launches update the
    same element.
    """
    own = order_of(program, ()).dependences.intersect_domain(part.domain).intersect_range(part.domain)
    if others := (*part.prefix[:place], *part.prefix[place + 1:]):
        own = own.eq_at_multi_union_pw_aff(multi(others))
    return bool(own.subtract(own.eq_at_multi_union_pw_aff(multi(part.prefix[place:place + 1]))).is_empty())
