"""Avoid constructs that the compilers of some devices miscompile, or make no vectors of."""

from __future__ import annotations

from math import prod

from generator.emit.counted import with_counted_loops
from generator.emit.even_unrolls import has_barriers, with_even_steps, with_even_unrolls
from generator.emit.guards import with_first_barrier
from generator.emit.in_order import with_steps_in_order
from generator.emit.opaque import with_opaque_one
from generator.emit.short_loops import without_short_loops
from generator.lowered_kernel import LoweredKernel
from generator.nest import Node
from generator.target import Target


def loops_for_compiler(kernel: LoweredKernel, target: Target) -> tuple[Node, ...]:
    """Return the body of `kernel` without loops of at most one iteration, if the target compiles conditions rightly.

    PoCL 3.0 miscompiles some kernels with barriers and several such conditions (docs/compilers.md), not their loops.
    """
    return kernel.body if target.pocl and has_barriers(kernel.body) else without_short_loops(kernel)


def for_compiler(body: tuple[Node, ...], target: Target, block: tuple[int, ...]) -> tuple[Node, ...]:
    """Return `body` without the constructs that the target's compiler miscompiles, or makes no vectors of. `block`: the
    threads of a block, x first.
    """
    alone = prod(block) == 1
    if target.pocl:
        return with_even_unrolls(body) if has_barriers(body) else body
    if not target.intel_cpu:
        return body
    even = body if alone else with_even_unrolls(with_counted_loops(body, block))
    ordered = with_steps_in_order(with_first_barrier(with_opaque_one(even)))
    return with_even_steps(ordered) if alone else ordered
