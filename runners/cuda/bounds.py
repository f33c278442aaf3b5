"""Compile kernels again that spill registers although they could have more.

`ptxas` aims at a number of blocks per multiprocessor, and for it sometimes spills a few values although registers are
left: a kernel of 512 threads gets 32 registers and 8 bytes of spills, although 40 registers would suffice. The second
argument of `__launch_bounds__`, the minimum number of blocks on a multiprocessor, overrules that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from generator.variant import Kernel, Variant
from metrics.device_model import DeviceModel, resident_blocks
from metrics.resources import Resources, parse_ptxas
from runners.kernel_codes import alone

Compile: TypeAlias = Callable[[str], tuple[bytes, str]]
"""Compiles CUDA text to a cubin, and returns the log of `ptxas -v`, too."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A cubin, the resources of each of its kernels, and the blocks per unit that kernels were compiled for."""

    cubin: bytes
    needs: Mapping[str, Resources]
    blocks: Mapping[str, int]

    @property
    def spills(self) -> int:
        """Spilled bytes per thread, of all kernels together."""
        return sum(found.spills or 0 for found in self.needs.values())


def translate(compile_text: Compile, variant: Variant, device: DeviceModel) -> Translated:
    """Compile the variant; kernels that spill although registers are left are compiled once or twice more.

    First for the number of blocks per multiprocessor that fit with the current registers, then for one, which leaves
    all registers to it. Returns the code with the fewest spills, the earliest of several. Raises the errors of
    `compile_text`.
    """
    best = _translated(compile_text, variant.source, {})
    for fewest in (False, True):
        spilling = {kernel.name: 1 if fewest else _resident(kernel, best, device)
                    for kernel in variant.kernels if _by_choice(kernel, best, device)}
        if not spilling:
            break
        blocks = {**best.blocks, **spilling}
        best = min(best, _translated(compile_text, bounded(variant.source, blocks), blocks), key=lambda t: t.spills)
    return best


def blocks_wanted(compile_text: Compile, variant: Variant, device: DeviceModel) -> dict[str, int]:
    """Return the second bounds that `translate` finds for each kernel of a variant by itself, as in the compile pool.

    Raises the errors of `compile_text`.
    """
    found: dict[str, int] = {}
    for kernel in variant.kernels:
        (unit,) = alone(kernel, variant).kernels
        blocks = translate(compile_text, alone(kernel, variant), device).blocks
        found |= {kernel.name: blocks[unit.name]} if unit.name in blocks else {}
    return found


def _translated(compile_text: Compile, text: str, blocks: Mapping[str, int]) -> Translated:
    cubin, log = compile_text(text)
    return Translated(cubin, parse_ptxas(log), blocks)


def _by_choice(kernel: Kernel, found: Translated, device: DeviceModel) -> bool:
    """Return whether a kernel spills although a block of it could have more registers."""
    needs = found.needs.get(kernel.name, Resources())
    return bool(needs.spills) and (needs.registers or 0) < register_limit(kernel, device)


def _resident(kernel: Kernel, found: Translated, device: DeviceModel) -> int:
    """Return the number of blocks of a compiled kernel that fit on a multiprocessor."""
    return max(1, resident_blocks(_threads(kernel), kernel.local_bytes, found.needs[kernel.name].registers, device))


def register_limit(kernel: Kernel, device: DeviceModel) -> int:
    """Return the maximum number of registers of a thread with one block per multiprocessor."""
    limits = device.generation
    step = limits.register_step // device.warp
    per_thread = limits.block_registers // (-(-_threads(kernel) // device.warp) * device.warp)
    return min(limits.thread_registers, per_thread // step * step)


def bounded(text: str, blocks: Mapping[str, int]) -> str:
    """Return the text with the second argument of `__launch_bounds__` for the kernels in `blocks`."""
    def second(found: re.Match[str]) -> str:
        name = found[3]
        return f"{found[1]}, {blocks[name]}{found[2]}{name}(" if name in blocks else found[0]

    return re.sub(r"(__launch_bounds__\(\d+)(\)\s+void )(\w+)\(", second, text)


def _threads(kernel: Kernel) -> int:
    return prod(kernel.block)
