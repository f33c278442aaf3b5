"""The arrays of a Problem on an OpenCL device. Used in worker processes only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, assert_never

import pyopencl as cl
from numpy.typing import NDArray

from generator.problem import Problem
from generator.program import Array
from generator.variant import Constant, Placed, Texture
from runners.memory import GUARD, Bytes, GuardedMemory
from runners.opencl.errors import refusals
from runners.opencl.images import Images
from runners.opencl.session import Session
from runners.opencl.written import WrittenImages


class Buffers:
    """`memory.Room` in OpenCL buffers."""

    def __init__(self, session: Session) -> None:
        """Nothing is allocated yet."""
        self._session = session

    def allocate(self, contents: Bytes) -> cl.Buffer:
        """Return a new buffer with `contents`."""
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        with refusals():
            return cl.Buffer(self._session.context, flags, hostbuf=contents)

    def write(self, place: cl.Buffer, contents: Bytes) -> None:
        """Fill a buffer from the host."""
        with refusals():
            cl.enqueue_copy(self._session.queue, place, contents)

    def copy(self, place: cl.Buffer, source: cl.Buffer) -> None:
        """Fill a buffer from another one."""
        with refusals():
            cl.enqueue_copy(self._session.queue, place, source)

    def read(self, place: cl.Buffer, offset: int, into: NDArray[Any]) -> None:
        """Fill `into` from a buffer."""
        with refusals():
            cl.enqueue_copy(self._session.queue, into, place, src_offset=offset)

    def finish(self) -> None:
        """Wait for the queue."""
        with refusals():
            self._session.queue.finish()


class Memory(GuardedMemory[cl.Buffer]):
    """`driver.Memory` in OpenCL buffers. Kernels get `buffers`, which begin after the first guard zone, or the results
    of `placed`.
    """

    def __init__(self, session: Session, problem: Problem) -> None:
        """Allocates and fills all buffers. Raises LaunchError if they do not fit on the device."""
        super().__init__(Buffers(session), problem)
        self._constants: dict[str, cl.Buffer] = {}
        self._images = Images(session.context, session.queue, self.values)
        self._written = WrittenImages(session.context, session.queue, self.values)
        self.buffers = {name: self._inside(name) for name in self.whole}

    def hold(self, arrays: Sequence[Array]) -> None:
        """Allocate more arrays."""
        super().hold(arrays)
        self.buffers |= {array.name: self._inside(array.name) for array in arrays if array.name not in self.buffers}

    def _inside(self, name: str) -> cl.Buffer:
        """Return the sub-buffer of an array up to the end of its last guard zone."""
        with refusals():
            return self.whole[name].get_sub_region(len(GUARD), self.values[name].nbytes + len(GUARD))

    def placed(self, placed: Placed) -> cl.Image | cl.Buffer:
        """Return the argument for an array that a kernel reads as a texture or from constant memory.

        Raises:
            pyopencl.Error: the device has not enough memory for it.
        """
        match placed:
            case Texture():
                return self._written.image(placed) if placed.in_place else self._images.of(placed)
            case Constant(name, _):
                return self.constant(name)
            case _:
                assert_never(placed)

    def constant(self, name: str) -> cl.Buffer:
        """Return the array without guard zones, which would need constant memory."""
        if name not in self._constants:  # kernels do not keep their arguments alive
            self._constants[name] = self.whole[name].get_sub_region(len(GUARD), self.values[name].nbytes)
        return self._constants[name]

    def in_global(self, name: str, in_place: Collection[str]) -> cl.Buffer:
        """Return the argument for an array in global memory; other kernels read those in `in_place` as textures.

        Raises:
            pyopencl.Error: the device has not enough memory for it.
        """
        return self._written.buffer(name) if name in in_place else self.buffers[name]

    def _write_all(self) -> None:
        with refusals():
            self._images.upload()
            self._written.upload()
        super()._write_all()

    def _copy_all(self) -> None:
        super()._copy_all()
        with refusals():
            self._images.copy(self.whole)

    def restore(self) -> None:
        """See `driver.Memory`."""
        with refusals():
            self._written.restore(self._pristine)
        super().restore()

    def overrun(self) -> str | None:
        """See `driver.Memory`."""
        return super().overrun() or self._written.overrun()
