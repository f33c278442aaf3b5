"""The words of CUDA C++."""

from __future__ import annotations

from generator.emit.words import Words


def _call(function: str, arguments: list[str]) -> str:
    """CUDA's device library has the names of math.h."""
    return f"{function}({', '.join(arguments)})"


CUDA = Words(
    kernel='extern "C" __global__ __launch_bounds__({threads})',
    global_memory="", restrict="__restrict__", shared_memory="__shared__",
    barrier="__syncthreads();",
    group_index="blockIdx.{axis}", thread_index="threadIdx.{axis}", axes=("x", "y", "z"),
    types={}, double_preamble="", call=_call, device_function="static __device__ inline", shared_pointer="",
    swap={4: "atomicCAS", 8: "atomicCAS"}, swap_word={4: "unsigned int", 8: "unsigned long long"}, swap_preamble="",
    shuffle="__shfl_xor_sync(0xffffffffu, {value}, {lanes})", sub_groups="", sub_group_preamble="",
    generic_extrema=False)
