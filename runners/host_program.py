"""Interprets the host program of a Variant: yields the launches inside its loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from generator.expr import Expr, evaluation
from generator.variant import HostBranch, HostLoop, HostOp, Launch, Variant


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """A launch with values: index of the kernel in the Variant, work-items and block (x first), iterator values."""

    kernel: int
    items: tuple[int, ...]
    block: tuple[int, ...]
    iterators: tuple[int, ...]


Run: TypeAlias = Callable[[dict[str, int]], Iterator[BoundLaunch]]
"""Yields the launches of an operation for values of the iterators around it."""


def launches(variant: Variant) -> Iterator[BoundLaunch]:
    """Yield all launches of one run of the program, in order, without launches of an empty grid."""
    return _in_turn(variant.host, variant)({})


def first_launches(variant: Variant) -> list[BoundLaunch]:
    """Return the first launch of every kernel that is launched, in order."""
    found: dict[int, BoundLaunch] = {}
    for launch in launches(variant):
        found.setdefault(launch.kernel, launch)
        if len(found) == len(variant.kernels):
            break
    return list(found.values())


def _in_turn(operations: Sequence[HostOp], variant: Variant) -> Run:
    runs = [_run(operation, variant) for operation in operations]

    def run(names: dict[str, int]) -> Iterator[BoundLaunch]:
        for one in runs:
            yield from one(names)

    return runs[0] if len(runs) == 1 else run


def _run(operation: HostOp, variant: Variant) -> Run:
    match operation:
        case Launch():
            return _launch(operation, variant)
        case HostLoop():
            return _loop(operation, variant)
        case HostBranch(condition, then, otherwise):
            holds, first, second = evaluation(condition), _in_turn(then, variant), _in_turn(otherwise, variant)
            return lambda names: first(names) if holds(names) else second(names)
        case _:
            assert_never(operation)


def _loop(loop: HostLoop, variant: Variant) -> Run:
    start, goes_on, inside = evaluation(loop.start), evaluation(loop.condition), _in_turn(loop.body, variant)

    def run(names: dict[str, int]) -> Iterator[BoundLaunch]:
        inner = names | {loop.iterator: start(names)}
        while goes_on(inner):
            yield from inside(inner)
            inner[loop.iterator] += loop.step

    return run


def _launch(launch: Launch, variant: Variant) -> Run:
    number = [kernel.name for kernel in variant.kernels].index(launch.kernel)
    block = variant.kernels[number].block or (1,)
    extents, values = _together(launch.grid), _together(launch.iterators)

    def run(names: dict[str, int]) -> Iterator[BoundLaunch]:
        grid = extents(names) or (1,)
        if len(grid) != len(block):
            raise ValueError(f"{launch.kernel}: grid {grid} and block {block} have different dimensions")
        if min(grid) > 0:
            yield BoundLaunch(number, tuple(g * b for g, b in zip(grid, block, strict=True)), block, values(names))

    return run


def _together(expressions: Sequence[Expr]) -> Callable[[Mapping[str, int]], tuple[int, ...]]:
    """Return a function that evaluates several expressions."""
    parts = [evaluation(one) for one in expressions]
    return lambda names: tuple(part(names) for part in parts)
