"""Asynchronous copies from global to shared memory: `cp.async` (PTX ISA, "Data Movement and Conversion").

`antune_copy<bytes>(to, from)` begins a copy of 4, 8 or 16 bytes; both addresses are multiples of that.
`antune_wait_copies()` waits for the copies of this thread. Other threads see them after the next barrier.
"""

from __future__ import annotations

COPY, WAIT = "antune_copy", "antune_wait_copies"

LATER_COPIES = f"""#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <int bytes> static __device__ inline void {COPY}(void *to, const void *from)
{{
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
               :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(bytes) : "memory");
}}
static __device__ inline void {WAIT}()
{{
  asm volatile("cp.async.wait_all;" ::: "memory");
}}
#elif defined(__CUDACC__)
template <int bytes> static __device__ inline void {COPY}(void *to, const void *from)
{{
  for (int k = 0; k < bytes / 4; ++k) ((int *)to)[k] = ((const int *)from)[k];
}}
static __device__ inline void {WAIT}() {{}}
#endif
"""
"""Exported code may also be compiled for older GPUs, and nvcc compiles it once for the host. Other compilers (tests
have one) define their own.
"""
