"""A sum: how many parts it has depends on a parameter, so that a function compares the results (`verify`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from antune.kernel_tuner import tune_kernel

BODY = """
    SHARED float part[block_size_x];
    float sum = 0.0f;
    for (int i = BLOCK * block_size_x + THREAD; i < n; i += num_blocks * block_size_x)
        sum += values[i];
    part[THREAD] = sum;
    BARRIER;
    for (int s = block_size_x / 2; s > 0; s /= 2) {
        if (THREAD < s)
            part[THREAD] += part[THREAD + s];
        BARRIER;
    }
    if (THREAD == 0)
        sums[BLOCK] = part[0];
}
"""
OPENCL = """
#define SHARED __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define BLOCK get_group_id(0)
#define THREAD get_local_id(0)
__kernel void reduction(__global float *sums, __global const float *values, int n)
{""" + BODY
CUDA = """
#define SHARED __shared__
#define BARRIER __syncthreads()
#define BLOCK blockIdx.x
#define THREAD threadIdx.x
__global__ void reduction(float *sums, const float *values, int n)
{""" + BODY
MOST_BLOCKS = 64


def has_sum(answer: Sequence[Any], results: Sequence[Any], atol: float) -> bool:
    """Whether the parts add up."""
    return bool(abs(float(np.nansum(results[0].astype(np.float64))) - float(answer[0])) <= atol)


def arguments(n: int = 100_000) -> dict[str, Any]:
    """Kernel, data, parameters and what they are sought for, as `tune_kernel` takes them."""
    values = np.random.default_rng(0).random(n, np.float32)
    return {"kernel_name": "reduction", "problem_size": "num_blocks", "grid_div_x": [],
            "arguments": [np.zeros(MOST_BLOCKS, np.float32), values, np.int32(n)],
            "tune_params": {"block_size_x": [32, 64, 128, 256], "num_blocks": [1, 4, 16, MOST_BLOCKS]},
            "answer": [values.sum(dtype=np.float64), None, None], "verify": has_sum, "atol": 0.5}


if __name__ == "__main__":
    tune_kernel(kernel_source=OPENCL, **arguments())
