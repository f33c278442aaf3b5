"""The words of HIP: those of CUDA C++ except for textures and shuffles.

Shuffles exchange within 32 threads (`generator.target.LANES`): a wavefront of RDNA, half a wavefront of CDNA. Both
number their lanes in the order of the threads, so the same text is right on either.
"""

from __future__ import annotations

from dataclasses import replace

from generator.emit.cuda import CUDA
from generator.emit.half import half_functions
from generator.emit.streams import HIP_STORE

_WAIT = ('__builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront"); __builtin_amdgcn_wave_barrier(); '
         '__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");')
"""A barrier of a wavefront. Its halves may be at different places: they take turns, and each runs in lockstep."""

HIP = replace(
    CUDA,
    sub_group_barrier=_WAIT,
    dynamic_memory="",
    dynamic_array="",
    shuffle="__shfl_xor({value}, {lanes})",
    from_lane="__shfl({value}, {lane}, 32)",
    textures=dict.fromkeys((1, 2), "hipTextureObject_t"),
    later_copies="",
    stream=HIP_STORE,
    wide_stream=CUDA.wide,  # the builtin takes no HIP_vector_type
    halves=half_functions(
        "static __device__ inline", "defined(__HIP_DEVICE_COMPILE__)",
        "return (float)__builtin_bit_cast(_Float16, x);",
        "return __builtin_bit_cast(unsigned short, (_Float16)x);",
    ),
)
