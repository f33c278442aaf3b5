"""Points in a polygon: a division that a parameter may avoid, and a text that a function makes per configuration."""

from typing import Any

import numpy as np

from antune.kernel_tuner import tune_kernel

HEADS = {
    "opencl": "#define I (get_group_id(0) * block_size_x + get_local_id(0))\n"
              "__kernel void pnpoly(__global int *inside, __global const float *px, __global const float *py,\n"
              "                     __constant float *vx, __constant float *vy, int n)\n",
    "cuda": "#define I (blockIdx.x * block_size_x + threadIdx.x)\n"
            "__constant__ float vx[CORNERS], vy[CORNERS];\n"
            "__global__ void pnpoly(int *inside, const float *px, const float *py, int n)\n"}


def text(language: str, configuration: dict[str, Any]) -> str:
    """The kernel's text: `tile_size` points per thread, unrolled by hand."""
    points = "\n".join(f"    one(inside, px, py, vx, vy, I * tile_size + {k}, n);"
                       for k in range(configuration["tile_size"]))
    if language == "opencl":
        function = ("void one(__global int *inside, __global const float *px, __global const float *py, "
                    "__constant float *vx, __constant float *vy, int i, int n)")
    else:
        function = ("__device__ void one(int *inside, const float *px, const float *py, const float *vx, "
                    "const float *vy, int i, int n)")
    return f"""{function};
{HEADS[language]}{{
{points}
}}
{function}
{{
    if (i >= n)
        return;
    int crossings = 0;
    for (int j = 0, k = CORNERS - 1; j < CORNERS; k = j++)
        if ((vy[j] > py[i]) != (vy[k] > py[i])) {{
#if multiply
            float left = (px[i] - vx[j]) * (vy[k] - vy[j]), right = (vx[k] - vx[j]) * (py[i] - vy[j]);
            crossings += (vy[k] > vy[j]) ? left < right : left > right;
#else
            crossings += px[i] < (vx[k] - vx[j]) * (py[i] - vy[j]) / (vy[k] - vy[j]) + vx[j];
#endif
        }}
    inside[i] = crossings % 2;
}}
"""


def opencl(configuration: dict[str, Any]) -> str:
    """The text in OpenCL C."""
    return text("opencl", configuration)


def cuda(configuration: dict[str, Any]) -> str:
    """The text in CUDA."""
    return text("cuda", configuration)


def arguments(n: int = 20_000, corners: int = 40, in_cuda: bool = False) -> dict[str, Any]:
    """Kernel, data, parameters and what they are sought for, as `tune_kernel` takes them."""
    rng = np.random.default_rng(0)
    px, py = rng.uniform(-1, 1, n).astype(np.float32), rng.uniform(-1, 1, n).astype(np.float32)
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    radius = rng.uniform(0.3, 1, corners)
    corner = {"vx": (radius * np.cos(angle)).astype(np.float32), "vy": (radius * np.sin(angle)).astype(np.float32)}
    points = [np.zeros(n, np.int32), px, py]
    given = [*points, *([] if in_cuda else corner.values()), np.int32(n)]
    return {"kernel_name": "pnpoly", "problem_size": n, "arguments": given, "cmem_args": corner if in_cuda else None,
            "grid_div_x": lambda p: p["block_size_x"] * p["tile_size"],
            "tune_params": {"CORNERS": [corners], "block_size_x": [32, 64, 128], "tile_size": [1, 2, 4],
                            "multiply": [0, 1]},
            "verify": lambda answer, results: np.mean(answer[0] != results[0]) < 1e-3,
            "answer": [_inside(px, py, corner["vx"], corner["vy"]), *[None] * (len(given) - 1)]}


def _inside(px: Any, py: Any, vx: Any, vy: Any) -> Any:
    crossings = np.zeros(px.size, np.int32)
    for j in range(vx.size):
        k = j - 1
        between = (vy[j] > py) != (vy[k] > py)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings += between & (px < (vx[k] - vx[j]) * (py - vy[j]) / (vy[k] - vy[j]) + vx[j])
    return crossings % 2


if __name__ == "__main__":
    tune_kernel(kernel_source=opencl, **arguments())
