"""The properties of a kernel that its decisions need."""

from __future__ import annotations

from typing import Protocol

from generator.decisions.lane_room import LaneRoom
from generator.decisions.size_lists import InnerTiles, Sizes
from generator.decisions.thread_loops import Loops, ThreadLoop
from generator.target import Target


class Shape(Protocol):
    """A kernel before its decisions (generator.lowering.analysis.shapes.KernelShape)."""

    @property
    def statements(self) -> tuple[str, ...]:
        """Sorted names: the kernel's identity."""

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the parallel dimensions, outermost first, at most three."""

    @property
    def shareable(self) -> tuple[str, ...]:
        """The arrays that may be copied to shared memory."""

    @property
    def depths(self) -> Sizes:
        """The numbers of sequential loops, except 0, that may run around shared copies (generator.decisions.depth)."""

    @property
    def operated(self) -> tuple[str, ...]:
        """Those of them whose copies can hold the results of operations (generator.decisions.prologue)."""

    @property
    def sequential(self) -> bool:
        """Whether a loop runs inside each thread."""

    @property
    def summed(self) -> int:
        """The most iterations in which a thread computes an element of an inline stage."""

    @property
    def kept(self) -> tuple[tuple[int, ...], ...]:
        """For each array that a thread can keep in registers, the parallel dimensions on which its elements depend."""

    @property
    def coarse(self) -> bool:
        """Whether a point of the parallel dimensions is a whole tile of the program's iterations."""

    @property
    def diagonals(self) -> tuple[int, ...]:
        """The sizes of a wavefront's tile along which threads may share it, per parallel dimension; () if not."""

    @property
    def skewed(self) -> bool:
        """Whether its loops have bounds that depend on each other: tiling them would take long to generate."""

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
    def apart(self) -> tuple[tuple[str, ...], ...]:
        """Each stage that its blocks compute, with those that it is computed from (generator.decisions.whole)."""

    @property
    def cuts(self) -> tuple[tuple[str, ...], ...]:
        """Sets of the stages of its blocks that can be computed before the others (generator.decisions.levels)."""

    @property
    def privatizes(self) -> bool:
        """Whether its blocks can update a private copy of an array, or (not `reduces`) its threads their own lines."""

    @property
    def reduces(self) -> bool:
        """Whether several threads may update the same element."""

    @property
    def contraction(self) -> tuple[int, int] | None:
        """The parallel dimensions that are rows and columns of its sums of products, if these are its main part."""

    @property
    def written(self) -> tuple[tuple[str, int], ...]:
        """The arrays that it writes and does not read, with the most bytes that one launch writes."""

    @property
    def launched(self) -> tuple[str, ...]:
        """The statements (sorted) of a host loop that launches it, with others, for little work each; or ()."""

    def steps_on(self, target: Target) -> bool:
        """Whether its loops inside a thread are steps that all points of the thread should take together there."""

    def inner_extents(self, filled: bool) -> Sizes:
        """Return the extents of inner loops that may be tiled; of several in sequence only if they are `filled`."""

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int = 0, registers: bool = False,
                     copies: bool = True, private: bool = False, uncopied: tuple[str, ...] = ()) -> int:
        """Return the bytes of shared memory of a block, without copies of `uncopied`; `registers`: for whole tiles."""

    def next_copies(self, inner_tile: InnerTiles, uncopied: tuple[str, ...]) -> tuple[int, ...]:
        """Return the bytes of an element of each copy, not `uncopied`, of which the next tile can be loaded ahead."""

    def swizzlable(self, tile: tuple[int, ...], inner_tile: InnerTiles, vector: int,
                   uncopied: tuple[str, ...]) -> tuple[str, ...]:
        """Return the arrays, sorted, not `uncopied`, whose copies can be swizzled for accesses of `vector` elements."""

    def loops(self, decided: Loops) -> tuple[ThreadLoop, ...]:
        """Return the loops of a thread, the outermost first (generator.lowering.naming.loop_keys)."""

    def lane_room(self, tile: tuple[int, ...], threads: tuple[int, ...], in_registers: int,
                  padding: int) -> LaneRoom | None:
        """Return the resources of a warp's tile with the last points of lanes along x `in_registers`; None if not so.
        """

    def walking(self, rows: int) -> Shape:
        """Return the same kernel, whose blocks compute so many rows of their tiles at a time."""

    def holding(self, whole: tuple[str, ...]) -> Shape:
        """Return the same kernel, whose blocks compute the stages `whole` for all of their tiles at once."""

    def without(self, stages: tuple[str, ...], tile: tuple[int, ...], padding: int) -> tuple[Shape, int]:
        """Return the same kernel without boxes of `stages`; and the bytes of shared memory of these for a `tile`."""

    def deeper(self, depth: int) -> Shape:
        """Return the same kernel, whose blocks fill their copies inside so many more sequential loops."""

    def aligned(self, elements: int) -> Shape:
        """Return the same kernel, where possible with rows of copies that begin and end at such multiples."""

    def along_diagonals(self) -> Shape:
        """Return the same kernel, whose blocks run the diagonals of a tile, and may copy what only their tile needs."""

    def inner_diagonals(self, size: int) -> tuple[int, ...]:
        """Return the number of inner tiles of `size` along each of the rows `diagonals`; () if they are illegal."""

    def on_tensor_cores(self) -> Shape:
        """Return the same kernel, whose sums are computed on tensor cores: it keeps and copies nothing itself."""

    def ordered(self, order: tuple[int, ...]) -> Shape:
        """Return the same kernel with its parallel dimensions in another order (empty: unchanged)."""
