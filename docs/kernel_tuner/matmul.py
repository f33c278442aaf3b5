"""A product of matrices with tiles in shared memory: two-dimensional blocks, divisors of the grid, a restriction."""

from typing import Any

import numpy as np

from antune.kernel_tuner import tune_kernel

BODY = """
    SHARED float tile_a[block_size_y * tile_size_y][block_size_x];
    SHARED float tile_b[block_size_x][block_size_x * tile_size_x];
    int column = BLOCK_X * block_size_x * tile_size_x + THREAD_X, row = BLOCK_Y * block_size_y * tile_size_y + THREAD_Y;
    float sum[tile_size_y][tile_size_x] = {{0.0f}};
    for (int k = 0; k < SIZE; k += block_size_x) {
        for (int i = 0; i < tile_size_y; i++)
            tile_a[THREAD_Y + i * block_size_y][THREAD_X] = a[(row + i * block_size_y) * SIZE + k + THREAD_X];
        for (int line = THREAD_Y; line < block_size_x; line += block_size_y)
            for (int j = 0; j < tile_size_x; j++)
                tile_b[line][THREAD_X + j * block_size_x] = b[(k + line) * SIZE + column + j * block_size_x];
        BARRIER;
        for (int l = 0; l < block_size_x; l++)
            for (int i = 0; i < tile_size_y; i++)
                for (int j = 0; j < tile_size_x; j++)
                    sum[i][j] += tile_a[THREAD_Y + i * block_size_y][l] * tile_b[l][THREAD_X + j * block_size_x];
        BARRIER;
    }
    for (int i = 0; i < tile_size_y; i++)
        for (int j = 0; j < tile_size_x; j++)
            c[(row + i * block_size_y) * SIZE + column + j * block_size_x] = sum[i][j];
}
"""
OPENCL = """
#define SHARED __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define BLOCK_X get_group_id(0)
#define BLOCK_Y get_group_id(1)
#define THREAD_X get_local_id(0)
#define THREAD_Y get_local_id(1)
__kernel void matmul(__global float *c, __global const float *a, __global const float *b)
{""" + BODY
CUDA = """
#define SHARED __shared__
#define BARRIER __syncthreads()
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define THREAD_X threadIdx.x
#define THREAD_Y threadIdx.y
__global__ void matmul(float *c, const float *a, const float *b)
{""" + BODY


def arguments(size: int = 256) -> dict[str, Any]:
    """Kernel, data, parameters and what they are sought for, as `tune_kernel` takes them."""
    rng = np.random.default_rng(0)
    a, b = rng.random((size, size), np.float32), rng.random((size, size), np.float32)
    return {"kernel_name": "matmul", "problem_size": (size, size), "arguments": [np.zeros_like(a), a, b],
            "tune_params": {"SIZE": [size], "block_size_x": [16, 32], "block_size_y": [1, 2, 4, 8, 16, 32],
                            "tile_size_x": [1, 2, 4], "tile_size_y": [1, 2, 4]},
            "grid_div_x": ["block_size_x", "tile_size_x"], "grid_div_y": ["block_size_y", "tile_size_y"],
            "restrictions": ["block_size_x >= block_size_y * tile_size_y"], "answer": [a @ b, None, None], "atol": 1e-3,
            "metrics": {"GFLOP/s": f"2e-6 * {size**3} / time"}, "objective": "GFLOP/s"}


if __name__ == "__main__":
    tune_kernel(kernel_source=OPENCL, strategy="genetic_algorithm", strategy_options={"max_fevals": 40}, **arguments())
