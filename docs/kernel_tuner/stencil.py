"""One step of diffusion in two dimensions; a parameter is a word of C, the type that is computed in."""

from typing import Any

import numpy as np

from antune.kernel_tuner import tune_kernel

BODY = """
    int x = X, y = Y;
    if (x > 0 && x < size - 1 && y > 0 && y < size - 1) {
        int at = y * size + x;
        type around = heat[at - 1] + heat[at + 1] + heat[at - size] + heat[at + size];
        next[at] = heat[at] + (type)0.2 * (around - 4 * heat[at]);
    }
}
"""
OPENCL = """
#define X (get_group_id(0) * block_size_x + get_local_id(0))
#define Y (get_group_id(1) * block_size_y + get_local_id(1))
__kernel void stencil(__global float *next, __global const float *heat, int size)
{""" + BODY
CUDA = """
#define X (blockIdx.x * block_size_x + threadIdx.x)
#define Y (blockIdx.y * block_size_y + threadIdx.y)
__global__ void stencil(float *next, const float *heat, int size)
{""" + BODY


def arguments(size: int = 256) -> dict[str, Any]:
    """Kernel, data, parameters and what they are sought for, as `tune_kernel` takes them."""
    heat = np.random.default_rng(0).random((size, size), np.float32)
    answer = heat.copy()
    answer[1:-1, 1:-1] += 0.2 * (heat[1:-1, :-2] + heat[1:-1, 2:] + heat[:-2, 1:-1] + heat[2:, 1:-1]
                                 - 4 * heat[1:-1, 1:-1])
    return {"kernel_name": "stencil", "problem_size": (size, size), "arguments": [heat.copy(), heat, np.int32(size)],
            "tune_params": {"block_size_x": [16, 32, 64, 128], "block_size_y": [1, 2, 4, 8],
                            "type": ["float", "double"]},
            "restrictions": ["64 <= block_size_x * block_size_y <= 256"], "answer": [answer, None, None], "atol": 1e-5}


if __name__ == "__main__":
    tune_kernel(kernel_source=OPENCL, **arguments())
