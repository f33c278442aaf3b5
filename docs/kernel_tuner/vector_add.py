"""The sum of two vectors: `python docs/kernel_tuner/vector_add.py`."""

from typing import Any

import numpy as np

from antune.kernel_tuner import tune_kernel

OPENCL = """
__kernel void vector_add(__global float *c, __global const float *a, __global const float *b, int n)
{
    int i = get_group_id(0) * block_size_x + get_local_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
"""
CUDA = """
__global__ void vector_add(float *c, const float *a, const float *b, int n)
{
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""


def arguments(n: int = 1_000_000) -> dict[str, Any]:
    """Kernel, data, parameters and what they are sought for, as `tune_kernel` takes them."""
    rng = np.random.default_rng(0)
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    return {"kernel_name": "vector_add", "problem_size": n, "arguments": [np.zeros(n, np.float32), a, b, np.int32(n)],
            "tune_params": {"block_size_x": [32, 64, 128, 256, 512]}, "answer": [a + b, None, None, None],
            "metrics": {"GB/s": lambda p: 12e-6 * n / p["time"]}, "objective": "GB/s"}


if __name__ == "__main__":
    tune_kernel(kernel_source=OPENCL, **arguments())
