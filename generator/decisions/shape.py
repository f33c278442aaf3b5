"""What the decisions about a kernel need to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LaneRoom:
    """What a warp's tile takes that is partly in registers: `words`, 32-bit registers of each lane that are alive at
    once, and `bytes` of shared memory for each warp.
    """

    words: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Loops:
    """What decides which loops the threads of a kernel have."""

    tile: tuple[int, ...]
    block: tuple[int, ...]
    run: int
    inner_tile: int
    points_inside: bool
    shared: bool
    uncopied: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThreadLoop:
    """A loop of a thread: what plans call it, its kind (`tile`, `point`, `neighbour`, "" for most others), and the
    kinds of all loops inside it (generator.lowering.naming.LoopKey).
    """

    name: str
    kind: str
    inside: frozenset[str]


class Shape(Protocol):
    """A kernel before its decisions (generator.lowering.analysis.shapes.KernelShape)."""

    @property
    def statements(self) -> tuple[str, ...]:
        """Sorted names: the kernel's identity."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the parallel dimensions, outermost first, at most three."""

    @property
    def shareable(self) -> tuple[str, ...]:
        """Arrays that may be put in shared memory."""

    @property
    def sequential(self) -> bool:
        """Whether a loop runs inside each thread."""

    @property
    def kept(self) -> tuple[tuple[int, ...], ...]:
        """The parallel dimensions that matter to each array that a thread can keep in registers."""

    @property
    def coarse(self) -> bool:
        """Whether a point of the parallel dimensions is a whole tile of the program's iterations."""

    @property
    def diagonals(self) -> tuple[int, ...]:
        """The sizes of a wavefront's tile along which the threads of a block may share it, one per parallel dimension;
        () where they may not (generator.decisions.diagonals).
        """

    @property
    def skewed(self) -> bool:
        """Whether its loops have bounds that depend on each other: tiles inside would take long to generate."""

    @property
    def computes(self) -> bool:
        """Whether its blocks compute other stages in shared memory."""

    @property
    def timed(self) -> bool:
        """Whether it runs several time steps per launch (generator.lowering.core.time_tiles)."""

    @property
    def walkable(self) -> bool:
        """Whether its blocks can walk down their tiles (generator.decisions.walk)."""

    @property
    def privatizes(self) -> bool:
        """Whether its blocks can update an array in a copy of their own."""

    @property
    def reduces(self) -> bool:
        """Whether several threads may update the same element."""

    @property
    def contraction(self) -> tuple[int, int] | None:
        """The parallel dimensions that are rows and columns of its sums of products, if these are its main part
        (generator.polyhedral.memory.contractions).
        """

    @property
    def launched(self) -> tuple[str, ...]:
        """The statements (sorted) of a loop of the host that launches it, with others, for little work each; or ()."""

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: int, padding: int = 0, registers: bool = False,
                     copies: bool = True, private: bool = False, uncopied: tuple[str, ...] = ()) -> int:
        """Bytes of shared memory that a block needs, with `copies` (but of `uncopied` arrays) and `private` updates or
        without.

        More for whole tiles, as `registers` have them.
        """

    def next_copies(self, inner_tile: int, uncopied: tuple[str, ...]) -> tuple[int, ...]:
        """The bytes of an element of each shared copy, but those of arrays that are `uncopied`, that is made anew for
        each tile of a sequential loop: of these the next tile can be on its way.
        """

    def loops(self, decided: Loops) -> tuple[ThreadLoop, ...]:
        """The loops of a thread, the outermost first (generator.lowering.naming.loop_keys)."""

    def lane_room(
        self, tile: tuple[int, ...], threads: tuple[int, ...], in_registers: int, padding: int
    ) -> LaneRoom | None:
        """What a warp's tile takes whose last `in_registers` points of each lane along x are in registers; None where
        the kernel cannot do that.
        """

    def walking(self, rows: int) -> Shape:
        """The same kernel, whose blocks compute so many rows of their tiles at a time."""

    def along_diagonals(self) -> Shape:
        """The same kernel, whose blocks run the diagonals of a tile: they keep and copy nothing."""

    def on_tensor_cores(self) -> Shape:
        """The same kernel, whose sums are computed on tensor cores: it keeps and copies nothing by itself."""

    def ordered(self, order: tuple[int, ...]) -> Shape:
        """The same kernel with its parallel dimensions in another order (empty: as they are)."""
