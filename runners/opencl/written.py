"""Arrays that kernels write and others read as textures over the same buffer. Used in worker processes only.

Such a buffer only has a guard zone after the array: PoCL makes no images of parts of buffers, so the array is at the
start of the buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyopencl as cl

from generator.variant import Texture
from runners.data import Values
from runners.memory import GUARD
from runners.opencl.errors import refusals
from runners.opencl.images import image_over


@dataclass(frozen=True, slots=True)
class WrittenImages:
    """Buffers and images, made when a kernel first needs them, for kernels that write an array and those that read it.
    """

    context: cl.Context
    queue: cl.CommandQueue
    values: Values
    _buffers: dict[str, cl.Buffer] = field(default_factory=dict)
    _images: dict[Texture, cl.Image] = field(default_factory=dict)

    def buffer(self, name: str) -> cl.Buffer:
        """Return the memory of an array. Raises pyopencl.Error if the device refuses it."""
        if name not in self._buffers:
            self._buffers[name] = cl.Buffer(self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR,
                                            hostbuf=self._contents(name))
        return self._buffers[name]

    def image(self, texture: Texture) -> cl.Image:
        """Return the image over the memory of an array. Raises pyopencl.Error if the device refuses it."""
        if texture not in self._images:
            self._images[texture] = image_over(self.context, texture, self.buffer(texture.array))
        return self._images[texture]

    def upload(self) -> None:
        """Write everything again from the host, including guard zones; do not wait."""
        for name, buffer in self._buffers.items():
            cl.enqueue_copy(self.queue, buffer, self._contents(name))

    def restore(self, pristine: Mapping[str, cl.Buffer]) -> None:
        """Copy everything from buffers that also have a guard zone before each array; do not wait."""
        for name, buffer in self._buffers.items():
            cl.enqueue_copy(self.queue, buffer, pristine[name], src_offset=len(GUARD),
                            byte_count=self.values[name].nbytes + len(GUARD))

    def overrun(self) -> str | None:
        """See `driver.Memory`."""
        zone = np.empty(len(GUARD), np.uint8)
        for name, buffer in self._buffers.items():
            with refusals():
                cl.enqueue_copy(self.queue, zone, buffer, src_offset=self.values[name].nbytes)
            if zone.tobytes() != GUARD:
                return f"{name} was written past its end"
        return None

    def _contents(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """Return the initial contents, with the guard zone."""
        return np.frombuffer(self.values[name].tobytes() + GUARD, np.uint8)
