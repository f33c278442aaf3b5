"""Overwrite the caches of an OpenCL device between two timed runs. Used in worker processes only."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from runners.caches import flush_bytes

SOURCE = "__kernel void flush(__global ulong *words) { size_t i = get_global_id(0); words[i] = words[i] * 3 + i; }"
WORD = 8
BLOCK = 64


class Flusher:
    """A buffer of at least twice the last cache, and a kernel on all compute units that reads and writes it."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, device: cl.Device) -> None:
        """Allocates the buffer. Raises pyopencl.Error if there is not enough memory."""
        on_host = bool(device.type & cl.device_type.CPU)
        wanted = flush_bytes(device.global_mem_cache_size, on_host)
        words = min(wanted, device.max_mem_alloc_size) // WORD // BLOCK * BLOCK
        self._queue, self._words = queue, words
        self._buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, words * WORD)
        cl.enqueue_fill_buffer(queue, self._buffer, np.zeros(1, np.uint8), 0, words * WORD)  # maps all pages
        self._kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "flush")
        self._kernel.set_arg(0, self._buffer)

    def run(self) -> None:
        """Fill the caches with the buffer, and wait. Raises pyopencl.Error."""
        cl.enqueue_nd_range_kernel(self._queue, self._kernel, (self._words,), (BLOCK,))
        self._queue.finish()
