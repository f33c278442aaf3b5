"""The capabilities of a device language (Language), and those of a device (Target), which a runner queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from generator.precision import LEAST_CAPABILITY, Products

Dialect: TypeAlias = Literal["opencl", "cuda", "hip"]
LANES = 32
"""Threads that exchange values by shuffles: a warp, or half a wavefront of 64."""
MOST_THREAD_BYTES = 4 * 255
"""The registers of a thread on GPUs (CUDA C++ Programming Guide, specifications per compute capability)."""
MAX_CONSTANT_ARRAYS = 8
"""The maximum number of arrays in constant memory: OpenCL guarantees so many arguments (CL_DEVICE_MAX_CONSTANT_ARGS).
"""


@dataclass(frozen=True, slots=True)
class Language:
    """The capabilities of a dialect, independent of the device; its syntax is a table of `generator.emit.dialects`.

    `title`: its name. `suffix`: that of its files. `cplusplus`: it is a dialect of C++. `declared_shared_bytes`: the
    most shared memory of a block in declared arrays; more needs dynamic memory, requested at launch (None: all is
    declared). `constant_arguments`: arrays in constant memory are arguments; otherwise they are symbols of the module.
    `uniform_branches`: a barrier may be under a condition that is uniform in a block. `unrolled_barriers`: loops with
    barriers may be unrolled. `cache_preference`: kernels can prefer shared memory or L1. `rows_in_sub_groups`:
    sub-groups are neighbours in x, then in y; otherwise only threads of one row are known to form one. `most_blocks`:
    the most blocks of a launch along x, y and z (None: no limit). `copies_from`: the first
    compute capability with asynchronous copies to shared memory (None: never). `tensor_cores`: it has the C++ API
    `nvcuda::wmma`.
    """

    title: str
    suffix: str
    cplusplus: bool
    declared_shared_bytes: int | None
    constant_arguments: bool
    uniform_branches: bool
    unrolled_barriers: bool
    cache_preference: bool
    rows_in_sub_groups: bool
    most_blocks: tuple[int, int, int] | None = None
    copies_from: tuple[int, int] | None = None
    tensor_cores: bool = False

    def dynamic_bytes(self, local_bytes: int) -> int:
        """Return the shared memory that a launch must request for a block with `local_bytes`: all of it or 0."""
        most = self.declared_shared_bytes
        return local_bytes if most is not None and local_bytes > most else 0


MOST_BLOCKS = (2**31 - 1, 65535, 65535)
"""The most blocks of a launch along x, y and z (CUDA C++ Programming Guide, specifications per compute capability)."""
LANGUAGES: Mapping[Dialect, Language] = {
    # PoCL 3 miscompiles barriers under uniform conditions, which OpenCL allows
    "opencl": Language("OpenCL", "cl", cplusplus=False, declared_shared_bytes=None, constant_arguments=True,
                       uniform_branches=False, unrolled_barriers=False, cache_preference=False,
                       rows_in_sub_groups=False),
    "cuda": Language("CUDA", "cu", cplusplus=True, declared_shared_bytes=48 * 1024, constant_arguments=False,
                     uniform_branches=True, unrolled_barriers=True, cache_preference=True,
                     rows_in_sub_groups=True, most_blocks=MOST_BLOCKS, copies_from=(8, 0), tensor_cores=True),
    # the driver ignores a preference: LDS and L1 are separate memories in AMD's GPUs
    "hip": Language("HIP", "hip", cplusplus=True, declared_shared_bytes=None, constant_arguments=False,
                    uniform_branches=True, unrolled_barriers=True, cache_preference=False,
                    rows_in_sub_groups=True, most_blocks=MOST_BLOCKS)}
"""The dialects, with OpenCL as devices on CPUs, and PoCL for other devices, compile it."""
GPU_LANGUAGES: Mapping[Dialect, Language] = {
    **LANGUAGES,
    # OpenCL counts blocks in `size_t`, but drivers need not: GPUs count as in the other dialects
    "opencl": replace(LANGUAGES["opencl"], uniform_branches=True, unrolled_barriers=True, most_blocks=MOST_BLOCKS)}
"""The dialects on GPUs: OpenCL with all that its standard allows (OpenCL C 3.0, 6.15.8, barriers in conditions that all
work-items of a group meet alike).
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A device's limits. Sizes in bytes; `max_block` is the largest block extent in x, y, z.

    `sub_group`: threads that can exchange values by shuffles (a warp or wavefront), at least LANES; 0: no shuffles.
    `images`: kernels can read textures; their texels hold 32-bit integers, or pairs of them (`image_pairs`), or
    integers of 8 and 16 bits (`image_narrow`). `image_1d`: the most texels of a one-dimensional texture. `image_2d`:
    the maximum width and height of a two-dimensional one (CUDA: textures over linear memory, 2^27 texels and
    131072 x 65000 or more). `image_pitch`: rows of a two-dimensional texture over memory that kernels write are a
    multiple of so many texels; 0: there are none. `constant_bytes`: constant memory for all arrays of a kernel
    together. `capability`: the compute capability of an NVIDIA device, if
    known. `architecture`: the compiler's name of an AMD device, as in `gfx90a:xnack-`. `long_strides`: subscripts count
    rows in 64 bits, as in `A[i * 1024L + j]`: PoCL then compiles some kernels twenty times faster, and none runs
    slower; with Intel's runtime many run at a third of their speed. `intel_cpu`, `pocl`: avoid constructs that Intel's
    CPU runtime (`generator.emit.guards`, `generator.emit.opaque`) or PoCL (`generator.emit.even_unrolls`) miscompiles.
    `products`: the precision in which tensor cores may multiply, if a run allows that. `cache_bytes`: its
    last-level cache (0: unknown).
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
    image_narrow: bool = False
    image_pitch: int = 0
    constant_bytes: int = 0
    capability: tuple[int, int] | None = None
    architecture: str = ""
    long_strides: bool = False
    intel_cpu: bool = False
    pocl: bool = False
    products: Products = "full"
    cache_bytes: int = 0

    @property
    def copies_asynchronously(self) -> bool:
        """Whether the device and dialect have asynchronous copies to shared memory (PTX ISA, `cp.async`)."""
        least = self.language.copies_from
        return least is not None and self.capability is not None and self.capability >= least

    def multiplies(self, precision: str) -> bool:
        """Return whether its tensor cores multiply numbers of this precision, and its dialect supports it."""
        least = LEAST_CAPABILITY[precision]
        return self.language.tensor_cores and self.capability is not None and self.capability >= least

    @property
    def language(self) -> Language:
        """The capabilities of its dialect on such devices."""
        return (LANGUAGES if self.shares_host_cores or self.pocl else GPU_LANGUAGES)[self.dialect]
