"""A convolution with a filter in constant memory: an argument in OpenCL, a symbol in CUDA (`cmem_args`)."""

from typing import Any

import numpy as np

from antune.kernel_tuner import tune_kernel

BODY = """
    int x = (BLOCK_X * block_size_x + THREAD_X) * tile_size_x, y = BLOCK_Y * block_size_y + THREAD_Y;
    for (int t = 0; t < tile_size_x; t++) {
        float sum = 0.0f;
        for (int j = 0; j < filter_height; j++)
            for (int i = 0; i < filter_width; i++)
                sum += image[(y + j) * (width + filter_width - 1) + x + t + i] * filter[j * filter_width + i];
        if (x + t < width && y < height)
            result[y * width + x + t] = sum;
    }
}
"""
OPENCL = """
#define BLOCK_X get_group_id(0)
#define BLOCK_Y get_group_id(1)
#define THREAD_X get_local_id(0)
#define THREAD_Y get_local_id(1)
__kernel void convolution(__global float *result, __global const float *image, __constant float *filter)
{""" + BODY
CUDA = """
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define THREAD_X threadIdx.x
#define THREAD_Y threadIdx.y
__constant__ float filter[filter_height * filter_width];
__global__ void convolution(float *result, const float *image)
{""" + BODY


def arguments(width: int = 256, height: int = 128, taps: int = 5, cuda: bool = False) -> dict[str, Any]:
    """Kernel, data, parameters and what they are sought for, as `tune_kernel` takes them."""
    rng = np.random.default_rng(0)
    image = rng.random((height + taps - 1, width + taps - 1), np.float32)
    weights = rng.random((taps, taps), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image, (taps, taps))
    answer = np.einsum("yxji,ji->yx", windows, weights).astype(np.float32)
    given = [np.zeros_like(answer), image] if cuda else [np.zeros_like(answer), image, weights]
    return {"kernel_name": "convolution", "problem_size": (width, height), "arguments": given,
            "cmem_args": {"filter": weights} if cuda else None,
            "tune_params": {"width": [width], "height": [height], "filter_width": [taps], "filter_height": [taps],
                            "block_size_x": [16, 32, 64], "block_size_y": [1, 2, 4, 8], "tile_size_x": [1, 2, 4]},
            "grid_div_x": ["block_size_x", "tile_size_x"], "answer": [answer, *[None] * (len(given) - 1)], "atol": 1e-4,
            "restrictions": lambda p: p["block_size_x"] * p["tile_size_x"] <= width}


if __name__ == "__main__":
    tune_kernel(kernel_source=OPENCL, strategy="random_sample", strategy_options={"max_fevals": 20}, **arguments())
