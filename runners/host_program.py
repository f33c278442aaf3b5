"""Interprets the host program of a Variant: yields the launches inside its loops and branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from generator.expr import evaluate
from generator.variant import HostBranch, HostLoop, HostOp, Launch, Variant


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """A launch with values: index of the kernel in the Variant, work-items and block (x first), iterator values."""

    kernel: int
    items: tuple[int, ...]
    block: tuple[int, ...]
    iterators: tuple[int, ...]


def launches(variant: Variant) -> Iterator[BoundLaunch]:
    """Yield all launches of one run of the program, in order, without launches of an empty grid."""
    kernels = {kernel.name: number for number, kernel in enumerate(variant.kernels)}
    for launch, names in _walk(variant.host, {}):
        number = kernels[launch.kernel]
        block = variant.kernels[number].block or (1,)
        grid = tuple(evaluate(extent, names) for extent in launch.grid) or (1,)
        if len(grid) != len(block):
            raise ValueError(f"{launch.kernel}: grid {grid} and block {block} have different dimensions")
        if min(grid) > 0:
            items = tuple(g * b for g, b in zip(grid, block, strict=True))
            yield BoundLaunch(number, items, block, tuple(evaluate(i, names) for i in launch.iterators))


def first_launches(variant: Variant) -> list[BoundLaunch]:
    """Return the first launch of every kernel that is launched, in order."""
    found: dict[int, BoundLaunch] = {}
    for launch in launches(variant):
        found.setdefault(launch.kernel, launch)
        if len(found) == len(variant.kernels):
            break
    return list(found.values())


def _walk(ops: Sequence[HostOp], names: dict[str, int]) -> Iterator[tuple[Launch, dict[str, int]]]:
    for op in ops:
        match op:
            case Launch():
                yield op, names
            case HostLoop(iterator, start, condition, step, body):
                inner = names | {iterator: evaluate(start, names)}
                while evaluate(condition, inner):
                    yield from _walk(body, inner)
                    inner[iterator] += step
            case HostBranch(condition, then, otherwise):
                yield from _walk(then if evaluate(condition, names) else otherwise, names)
            case _:
                assert_never(op)
