"""The Variant: generated code with the host program that launches it, as data.

A runner interprets the host program; an exporter prints it. Grids and blocks are x first.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TypeAlias

from generator.decisions.cache import Cache
from generator.expr import Expr
from generator.plan import Plan
from generator.program import ELEMENT_BYTES, Array, ElementType
from generator.target import LANGUAGES, Dialect, Language

WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class Launch:
    """Run `kernel` on `grid` blocks (x, y, z). `iterators`: the values of the enclosing host loops that it needs."""

    kernel: str
    grid: tuple[Expr, ...]
    iterators: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class HostLoop:
    """`for (iterator = start; condition; iterator += step) body`."""

    iterator: str
    start: Expr
    condition: Expr
    step: int
    body: tuple[HostOp, ...]


@dataclass(frozen=True, slots=True)
class HostBranch:
    """`if (condition) then else otherwise`."""

    condition: Expr
    then: tuple[HostOp, ...]
    otherwise: tuple[HostOp, ...]


HostOp: TypeAlias = Launch | HostLoop | HostBranch


@dataclass(frozen=True, slots=True)
class Texture:
    """An array that is read through an image of `shape` texels: its width, and its height if it is two-dimensional.

    The texels, row by row, are the elements of the array in memory, row by row. A texel holds `words` unsigned
    integers of 32 bits, or one of 8 or 16 bits if the elements are that small; `words` 1 for an element of 8 bytes
    means two texels, least significant word first. There is no filtering, and coordinates are not normalised.

    `in_place`: it lies over the very memory of the array, which other kernels write; its width is the length of the
    array's rows, if it has two dimensions. Otherwise it lies over a copy, which nothing writes.

    OpenCL: `image2d_t`, or `image1d_buffer_t` over a buffer, with channels R or RG of UNSIGNED_INT32, _INT16 or _INT8;
    if `typed`, as in users' texts, a channel R of the C type of the elements. CUDA: `cudaTextureObject_t` over linear
    memory (two dimensions: with pitch), channels of the C type of the elements, `int2` for double, read unconverted.
    """

    array: str
    type: ElementType
    shape: tuple[int, ...]
    words: int
    typed: bool = field(default=False, repr=False)  # hashes of code are older
    in_place: bool = field(default=False, repr=False)  # follows from the program and the kernels

    @property
    def channel_bytes(self) -> int:
        """The size of an integer of a texel."""
        return min(ELEMENT_BYTES[self.type], WORD_BYTES)

    @property
    def texel_bytes(self) -> int:
        """The size of a texel."""
        return self.words * self.channel_bytes


@dataclass(frozen=True, slots=True)
class Constant:
    """An array in constant memory.

    OpenCL: a pointer argument to `__constant`. CUDA: not an argument; the module has an array `symbol`, which is filled
    before the launch.
    """

    array: str
    symbol: str


Placed: TypeAlias = Texture | Constant


@dataclass(frozen=True, slots=True)
class KernelText:
    """The text of a device function, split at its name: `before` and `after`."""

    before: str
    after: str

    def called(self, name: str) -> str:
        """Return the text of the function with this name."""
        return f"{self.before}{name}{self.after}"


def kernel_name(number: int) -> str:
    """Return the name of a Variant's kernel with this number, in launch order."""
    return f"kernel{number}"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One device function.

    Arguments, in this order: one per name in `arrays`, a value per name in `scalars`, an `int` per name in `iterators`.
    An array is a global pointer unless `placements` says otherwise. `block` is x first. `statements` (sorted) is the
    kernel's identity in the search.

    `preamble`: the text before `source` if this kernel is compiled alone (None: the Variant's).

    `local_bytes` of shared memory per block are declared in the text, unless `dynamic_bytes` says otherwise;
    `launch_bytes` are always dynamic. `order`: the names of arrays and scalars in the order of the text's arguments, if
    it is different (in templates).

    `cache`: a preference that a CUDA runner sets before the first launch: "shared" prefers shared memory
    (CU_FUNC_CACHE_PREFER_SHARED, carve-out 100 %), "l1" the cache (CU_FUNC_CACHE_PREFER_L1, the smallest carve-out that
    the block needs).

    `vectors`: arrays whose elements are loaded or stored in vectors, with the bytes of a vector. In CUDA and HIP, the
    address of such an array has to be a multiple.
    """

    name: str
    statements: tuple[str, ...]
    arrays: tuple[str, ...]
    scalars: tuple[str, ...]
    iterators: tuple[str, ...]
    block: tuple[int, ...]
    local_bytes: int
    text: KernelText
    placements: tuple[Placed, ...] = ()
    cache: Cache = "none"
    preamble: str | None = None
    launch_bytes: int = 0
    order: tuple[str, ...] = ()
    vectors: tuple[tuple[str, int], ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of arrays and scalars in the order of the text's arguments."""
        return self.order or (*self.arrays, *self.scalars)

    @property
    def source(self) -> str:
        """The text with the kernel's name."""
        return self.text.called(self.name)

    def dynamic_bytes(self, dialect: Dialect) -> int:
        """Return the bytes of shared memory that a launch must request (`Language.declared_shared_bytes`)."""
        return self.launch_bytes or LANGUAGES[dialect].dynamic_bytes(self.local_bytes)


@dataclass(frozen=True, slots=True)
class Variant:
    """Everything that a runner needs except the data: the source text of all kernels and the host program.

    `scratch`: arrays that only the kernels use; their contents are scratch.
    """

    plan: Plan
    dialect: Dialect
    preamble: str
    kernels: tuple[Kernel, ...]
    host: tuple[HostOp, ...]
    scratch: tuple[Array, ...] = ()

    @property
    def language(self) -> Language:
        """The capabilities of its dialect."""
        return LANGUAGES[self.dialect]

    @property
    def in_place(self) -> frozenset[str]:
        """The arrays that some kernels write in global memory and others read as textures over it."""
        return frozenset(placed.array for kernel in self.kernels for placed in kernel.placements
                         if isinstance(placed, Texture) and placed.in_place)

    @property
    def source(self) -> str:
        """The complete text of the translation unit."""
        return "\n".join([self.preamble, *(kernel.source for kernel in self.kernels)])

    @property
    def code_hash(self) -> str:
        """A hash of the text, the launches and the host program. Equal code is measured once."""
        blocks = tuple((kernel.name, kernel.block, kernel.placements, kernel.cache,
                        *([kernel.launch_bytes] if kernel.launch_bytes else [])) for kernel in self.kernels)
        return hashlib.sha256(repr((self.source, blocks, self.host)).encode()).hexdigest()[:16]
