"""Arrays that every block updates in a copy of its own, in shared memory, and adds to global memory at its end.

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

from generator.expr import Binary, Expr, Int, Load, Name
from generator.linear import is_plain, is_sum, simplify
from generator.lowering.cooperative import share
from generator.lowering.naming import fresh_name
from generator.lowering.registers import neutral
from generator.nest import Assign, Atomic, Barrier, Declare, For, If, Node, apply
from generator.plan import KernelPlan
from generator.polyhedral.accumulate import Sharing
from generator.polyhedral.kernels import KernelPart
from generator.polyhedral.private import private_updates, update_box
from generator.polyhedral.reductions import Operator, update_of
from generator.program import ELEMENT_BYTES, Program


@dataclass(frozen=True, slots=True)
class PrivateArray:
    """The shared array `name`: what a block adds to the elements of `array` from `corner` on.

    `operator` combines it with them; `atomic`: several threads of the block update the same element. `variables[d]` holds
    the corner in dimension d; None where that is a sum that can stand in subscripts.
    """

    name: str
    array: str
    type: str
    sizes: tuple[int, ...]
    operator: Operator
    atomic: bool
    corner: tuple[Expr, ...]
    variables: tuple[str | None, ...]

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return ELEMENT_BYTES[self.type] * prod(self.sizes)

    @property
    def first(self) -> tuple[Expr, ...]:
        """The corner as it stands in subscripts."""
        return tuple(Load(name) if name else corner for name, corner in zip(self.variables, self.corner, strict=True))

    def update(self, target: Load, value: Expr) -> Node:
        """The update of the copy that stands for one of `target`, an element of the array."""
        mine = Load(self.name, tuple(_minus(i, first) for i, first in zip(target.index, self.first, strict=True)))
        if self.atomic:
            return Atomic(mine, self.operator, value, self.type, shared=True)
        return apply(mine, self.operator, value, self.type)


def private_arrays(program: Program, part: KernelPart, plan: KernelPlan, prefix: Sequence[str],
                   shares: Mapping[str, Sharing], taken: set[str]) -> dict[str, PrivateArray]:
    """The copies that the blocks of a kernel keep, by the relaxed reductions that update them.

    `shares` has all relaxed reductions, and who updates one element. New names go to `taken`.

    Raises:
        IllegalPlan: as `update_box`.
    """
    found = {}
    for name in private_updates(program, part, tuple(shares)) if plan.combine == "private" else ():
        update = update_of(program, program.statement(name))
        assert update is not None, "only reductions are relaxed"
        box = update_box(program, part, name, plan.tile, tuple(prefix))
        called = fresh_name(f"{box.array}_block", taken)
        variables = tuple(None if is_sum(corner) else fresh_name(f"{box.array}_from{d}", taken)
                          for d, corner in enumerate(box.corner))
        atomic = shares[name] != "thread" and prod(plan.block) > 1
        found[name] = PrivateArray(called, box.array, program.array(box.array).type, box.sizes, update.operator, atomic,
                                   box.corner, variables)
    return found


def filled(arrays: Sequence[PrivateArray], block: tuple[int, ...]) -> Iterator[Node]:
    """What stands before the loops of a kernel: all copies become neutral."""
    for array in arrays:
        for name, corner in zip(array.variables, array.corner, strict=True):
            if name is not None:
                yield from (Declare(name, "int", ()), Assign(Load(name), "", corner))
        sizes = " x ".join(map(str, array.sizes))
        index = _index(array)
        store = Assign(Load(array.name, index), "", neutral(array.operator, array.type))
        yield _shared_out(array, block, store, f"all threads fill {array.name} ({sizes} elements)")
    if arrays:
        yield Barrier()


def combined(arrays: Sequence[PrivateArray], block: tuple[int, ...]) -> Iterator[Node]:
    """What stands behind them: the elements that the block updated go to global memory, one atomic update each."""
    if arrays:
        yield Barrier()
    for array in arrays:
        index = _index(array)
        mine = Load(array.name, index)
        target = Load(array.array, tuple(simplify(Binary("+", first, e)) for first, e in zip(array.first, index, strict=True)))
        update = Atomic(target, array.operator, mine, array.type)
        changed = Binary("!=", mine, neutral(array.operator, array.type))
        yield _shared_out(array, block, If(changed, (update,)), f"all threads combine {array.name} with {array.array}")


def _index(array: PrivateArray) -> tuple[Name, ...]:
    return tuple(Name(f"e{d}") for d in range(len(array.sizes)))


def _shared_out(array: PrivateArray, block: tuple[int, ...], node: Node, note: str) -> Node:
    """`node` for every element of a copy: the threads of the block take turns."""
    index = _index(array)
    for d in reversed(range(len(index))):
        start, step = share(d, len(index), block)
        node = For(index[d].name, start, Binary("<", index[d], Int(array.sizes[d])), step, (node,), note if d == 0 else "")
    return node


def _minus(index: Expr, first: Expr) -> Expr:
    """The difference; what data decide is left as it is, whatever its type."""
    if first == Int(0):
        return index
    return simplify(Binary("-", index, first)) if is_plain(index) else Binary("-", index, first)
