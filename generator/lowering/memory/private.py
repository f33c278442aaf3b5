"""Arrays that every block updates in a private copy, in shared memory, and adds to global memory at its end.

    // all threads fill hist_block (256 elements)
    for (e0 = t0; e0 < 256; e0 += 64) hist_block[e0] = 0;
    barrier
    ..  antune_add_int_shared(&hist_block[in[i][j]], 1);
    barrier
    for (e0 = t0; e0 < 256; e0 += 64) if (hist_block[e0] != 0) antune_add_int(&hist[e0], hist_block[e0]);
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from generator.expr import Binary, Expr, Load
from generator.lowering.memory.box import LocalBox, corner_variables
from generator.lowering.memory.cooperative import all_fill, all_threads
from generator.lowering.memory.registers import neutral
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Atomic, If, Node, apply
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import Operator, update_of
from generator.polyhedral.memory.accumulate import Sharing
from generator.polyhedral.memory.private import private_updates, update_box
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program


@dataclass(frozen=True, slots=True)
class PrivateBox(LocalBox):
    """A block's updates of the elements of a box.

    `operator` combines them with the elements; `atomic`: several threads of the block update the same element.
    """

    operator: Operator
    atomic: bool

    def update(self, target: Load, value: Expr) -> Node:
        """Return the update of the private copy of `target`, an element of the array."""
        mine = self.element(target.index)
        if self.atomic:
            return Atomic(mine, self.operator, value, self.type, shared=True)
        return apply(mine, self.operator, value, self.type)


def private_arrays(program: Program, part: KernelPart, plan: KernelPlan, prefix: Sequence[str],
                   shares: Mapping[str, Sharing], taken: set[str]) -> dict[str, PrivateBox]:
    """Return the private copies of a kernel's blocks, by the relaxed reductions that update them.

    `shares`: all relaxed reductions, with the threads that update one element. New names are added to `taken`.

    Raises:
        IllegalPlan: as `update_box`.
    """
    found = {}
    for name in private_updates(program, part, tuple(shares)) if plan.combine == "private" else ():
        update = update_of(program, program.statement(name))
        assert update is not None, "only reductions are relaxed"
        box = update_box(program, part, name, plan.tile, tuple(prefix))
        called = fresh_name(f"{box.array}_block", taken)
        atomic = shares[name] != "thread" and prod(plan.block) > 1
        variables = corner_variables(box.array, box.corner, "from", taken)
        kind = program.array(box.array).type
        found[name] = PrivateBox(
            called,
            box.array,
            kind,
            box.corner,
            box.sizes,
            box.sizes,
            variables,
            "compute",
            "block",
            update.operator,
            atomic,
        )
    return found


def filled(arrays: Sequence[PrivateBox], block: tuple[int, ...]) -> Iterator[Node]:
    """Yield the nodes before the loops of a kernel: all copies become neutral."""
    for array in arrays:
        yield from array.declared
        yield all_fill(array, block, (Assign(array.here, "", neutral(array.operator, array.type)),), "fill")


def combined(arrays: Sequence[PrivateBox], block: tuple[int, ...]) -> Iterator[Node]:
    """Yield the nodes after the loops: one atomic update in global memory per element that the block updated."""
    for array in arrays:
        update = Atomic(Load(array.array, array.outside), array.operator, array.here, array.type)
        changed = Binary("!=", array.here, neutral(array.operator, array.type))
        yield all_threads(
            array, block, (If(changed, (update,)),), f"all threads combine {array.name} with {array.array}"
        )
