"""The Target: what a device can do, queried by a runner, never assumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["opencl", "cuda"]
MAX_CONSTANT_ARRAYS = 8
"""Arrays in constant memory: the number of such arguments that OpenCL guarantees (CL_DEVICE_MAX_CONSTANT_ARGS)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A device's limits. Sizes in bytes; `max_block` is the largest block extent in x, y, z.

    `sub_group`: threads that can exchange values by shuffles (a warp); 0: the device has no shuffles.
    `images`: kernels can read textures; their texels hold 32-bit integers, or pairs of them (`image_pairs`). `image_1d`
    is the greatest number of texels of a one-dimensional one, `image_2d` the greatest width and height of a
    two-dimensional one (CUDA: those of textures over linear memory, 2^27 texels and 131072 x 65000 or more).
    `constant_bytes`: constant memory for all arrays of a kernel together. `capability`: the compute capability of an
    NVIDIA device, if known. `long_strides`: subscripts count rows in 64 bits, as in `A[i * 1024L + j]`. PoCL compiles some kernels
    twenty times faster then, and none runs slower; with Intel's runtime many run at a third of their speed. `intel_cpu`: kernels
    avoid what Intel's CPU runtime gets wrong (`generator.emit.guards`, `generator.emit.opaque`).
    """

    name: str
    dialect: Dialect
    max_threads: int
    max_block: tuple[int, int, int]
    local_bytes: int
    compute_units: int
    fp64: bool
    shares_host_cores: bool
    sub_group: int = 0
    images: bool = False
    image_1d: int = 0
    image_2d: tuple[int, int] = (0, 0)
    image_pairs: bool = True
    constant_bytes: int = 0
    capability: tuple[int, int] | None = None
    long_strides: bool = False
    intel_cpu: bool = False
