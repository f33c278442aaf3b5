"""Device code that spills no registers by the compiler's own choice.

`ptxas` aims at so many blocks per multiprocessor that it sometimes spills a few values although registers are left: a
kernel of 512 threads gets 32 registers and 8 bytes of spills where 40 would do. The second argument of
`__launch_bounds__`, the blocks that a multiprocessor is to hold at least, overrules that.
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
"""CUDA text to a cubin and the log of `ptxas -v`."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A cubin, what each of its kernels needs, and the blocks per unit that kernels were compiled for."""

    cubin: bytes
    needs: Mapping[str, Resources]
    blocks: Mapping[str, int]

    @property
    def spills(self) -> int:
        """Bytes per thread, of all kernels together."""
        return sum(found.spills or 0 for found in self.needs.values())


def translate(compile_text: Compile, variant: Variant, device: DeviceModel) -> Translated:
    """The variant's code; kernels that spill although registers are left are compiled once or twice more.

    First for as many blocks per multiprocessor as fit with the registers that they got, then for one, which leaves them
    all registers. What spills least is taken, the earliest of several. Raises what `compile_text` raises.
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
    """The second bounds that `translate` finds for the kernels of a variant, each by itself, as the compile pool does
    it.

    Raises what `compile_text` raises.
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
    """Whether a kernel spills although a block of it could have more registers."""
    needs = found.needs.get(kernel.name, Resources())
    return bool(needs.spills) and (needs.registers or 0) < register_limit(kernel, device)


def _resident(kernel: Kernel, found: Translated, device: DeviceModel) -> int:
    """How many blocks a multiprocessor holds of a kernel as it was compiled."""
    return max(1, resident_blocks(_threads(kernel), kernel.local_bytes, found.needs[kernel.name].registers, device))


def register_limit(kernel: Kernel, device: DeviceModel) -> int:
    """The most registers that a thread can have when one block is on a multiprocessor."""
    limits = device.generation
    step = limits.register_step // device.warp
    per_thread = limits.block_registers // (-(-_threads(kernel) // device.warp) * device.warp)
    return min(limits.thread_registers, per_thread // step * step)


def bounded(text: str, blocks: Mapping[str, int]) -> str:
    """The text with the second argument of `__launch_bounds__` for the kernels in `blocks`."""
    def second(found: re.Match[str]) -> str:
        name = found[3]
        return f"{found[1]}, {blocks[name]}{found[2]}{name}(" if name in blocks else found[0]

    return re.sub(r"(__launch_bounds__\(\d+)(\)\s+void )(\w+)\(", second, text)


def _threads(kernel: Kernel) -> int:
    return prod(kernel.block)
