"""Programs in their original order and as host programs with lowered kernels, both run in Python."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from generator.lowered_kernel import LoweredKernel
from generator.program import Program
from generator.variant import HostBranch, HostLoop, HostOp, Launch, kernel_name
from tests.support.device_memory import DeviceMemory
from tests.support.machine import Machine
from tests.support.memory import Memory, assign, evaluate, execute
from tests.support.programs import original_order

__all__ = ["Device", "Memory", "assign", "evaluate", "run_original"]


def run_original(program: Program) -> Memory:
    """Run the program in its original order."""
    memory = Memory(program)
    statements = {s.name: s for s in program.statements}
    for name, values in original_order(program):
        body, names = statements[name].body, dict(zip(statements[name].iterators, values, strict=True))
        execute(body, names, memory)
    return memory


class Device:
    """Runs host programs; everything that a device leaves open is drawn at random and checked."""

    def __init__(self, program: Program, kernels: tuple[LoweredKernel, ...], rng: np.random.Generator) -> None:
        self.memory = DeviceMemory(program, rng)
        self.kernels = {kernel_name(number): Machine(k, self.memory) for number, k in enumerate(kernels)}

    def run(self, operations: tuple[HostOp, ...], names: Mapping[str, int]) -> None:
        """Run the host program."""
        for operation in operations:
            match operation:
                case Launch(kernel, _, iterators):
                    machine = self.kernels[kernel]
                    values = [evaluate(i, names, self.memory) for i in iterators]
                    machine.launch(dict(zip(machine.lowered.iterators, values, strict=True)), self.memory)
                case HostLoop(iterator, start, condition, step, body):
                    value = evaluate(start, names, self.memory)
                    while evaluate(condition, {**names, iterator: value}, self.memory):
                        self.run(body, {**names, iterator: value})
                        value += step
                case HostBranch(condition, then, otherwise):
                    self.run(then if evaluate(condition, names, self.memory) else otherwise, names)
