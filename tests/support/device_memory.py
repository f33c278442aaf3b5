"""The memory of a device while kernels run in Python (`machine.py`): it records who uses what, and refuses races."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from generator.lowered_kernel import LoweredKernel
from generator.nest import Declare, walk
from generator.program import Program
from tests.support.memory import Element, Memory
from tests.support.values import Number, converter, wrap

Names: TypeAlias = dict[str, int]
Step: TypeAlias = Callable[[Names, "DeviceMemory"], None]
MANY = -1  # several threads


class Uses:
    """Which threads touched which elements, and how, since all of them last met."""

    def __init__(self) -> None:
        self.elements: dict[Element, dict[str, int]] = {}

    def note(self, element: Element, mode: str, thread: int) -> None:
        """Record that `thread` reads, writes, exchanges or updates (`mode` is the operator) an element."""
        uses = self.elements.get(element)
        if uses is None:
            self.elements[element] = {mode: thread}
            return
        if len(uses) == 1 and uses.get(mode) == thread:
            return
        for other, who in uses.items():
            together = mode == other and mode not in ("write", "=")
            assert together or who == thread, f"{element}: {mode} by thread {thread} beside {other} by thread {who}"
        uses[mode] = thread if uses.get(mode, thread) == thread else MANY


class DeviceMemory(Memory):
    """Global memory, the shared memory of the running block, and the registers of the running thread."""

    def __init__(self, program: Program, rng: np.random.Generator) -> None:
        super().__init__(program)
        self.rng, self.thread = rng, 0
        self.everywhere, self.in_block, self.in_team, self.team = Uses(), Uses(), Uses(), -1
        self.between, self.block = Uses(), -1
        self.begun: dict[int, list[tuple[Names, Step]]] = {}
        self.shared: dict[str, dict[Element, Number]] = {}
        self.registers: dict[str, dict[Element, Number]] = {}
        self.whole = dict(self.types), dict(self.extents)

    def enter(self, lowered: LoweredKernel) -> None:
        """Prepare a launch: names and sizes of shared arrays and registers."""
        self.everywhere, self.shared, self.registers = Uses(), {}, {}
        self.types, self.extents = (
            dict(self.whole[0]),
            dict(self.whole[1]),
        )  # a kernel may use the name of an array of others
        for array in lowered.shared:
            self.types[array.name], self.extents[array.name], self.shared[array.name] = array.type, array.sizes, {}
        for node in walk(lowered.body):
            if isinstance(node, Declare):
                self.types[node.name], self.extents[node.name] = node.type, node.sizes
        self.declared = {node.name for node in walk(lowered.body) if isinstance(node, Declare)}

    def load(self, array: str, index: tuple[int, ...], mode: str = "read") -> Number:
        """Return the value of an element; `mode` other than "read": as a part of an atomic update."""
        held = self._held(array)
        if held is None:
            self._note_array(array, index, mode)
            return super().load(array, index)
        self._note(array, index, mode)
        found = held.get((array, index))
        if found is None:
            self.check(array, index)
            return self.garbage(self.types[array])
        return found

    def store(self, array: str, index: tuple[int, ...], value: Number, mode: str = "write") -> None:
        """Overwrite an element."""
        held = self._held(array)
        if held is None:
            self._note_array(array, index, mode)
            super().store(array, index, value)
            return
        self._note(array, index, mode)
        held[self.check(array, index)] = converter(self.types[array])(value)

    def _note(self, array: str, index: tuple[int, ...], mode: str) -> None:
        """Record a use; sub-groups that synchronize separately never see each other's shared memory in order."""
        if array in self.shared:
            self.in_team.note((array, index), mode, self.thread)
            if self.team >= 0:
                self.in_block.note((array, index), mode, self.team)

    def copy(self) -> int:
        """Wait for the thread's asynchronous copies: they are done now."""
        for names, step in self.begun.pop(self.thread, []):
            step(names, self)
        return 0

    def _note_array(self, array: str, index: tuple[int, ...], mode: str) -> None:
        """Record a use of global memory.

        Threads of a block (its number, if barriers of the kernel are for arrays, too) see each other's writes after
        such a barrier, those of other blocks never.
        """
        self.everywhere.note((array, index), mode, self.thread if self.block < 0 else self.block)
        if self.block >= 0:
            self.between.note((array, index), mode, self.thread)

    def garbage(self, kind: str) -> Number:
        """Return any value."""
        return wrap(kind, int(self.rng.integers(4)) and int(self.rng.integers(-2**40, 2**40)))

    def _held(self, array: str) -> dict[Element, Number] | None:
        """Return the storage of a shared array or a register; None for global memory."""
        if array in self.shared:
            return self.shared[array]
        assert array not in self.declared or array in self.registers, f"{array} is used before its declaration"
        return self.registers.get(array)
