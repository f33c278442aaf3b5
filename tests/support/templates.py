"""Small kernel templates: a sum of two vectors in OpenCL C and in CUDA, and a T1 file of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from generator.templates.building import Tunable, output, template

SUM = """__kernel void add(__global float *c, __global const float *a, __global const float *b, int n)
{
    int first = (get_group_id(0) * block_size_x + get_local_id(0)) * per_thread;
    for (int i = first; i < first + per_thread; i++)
        if (i < n)
            c[i] = a[i] + b[i];
}
"""
CUDA_SUM = """#define WIDE 4
__constant__ float weight[1];
__global__ __launch_bounds__(block_size_x) void add(float *c, const float *a, const float *b, int n)
{
    int first = (blockIdx.x * block_size_x + threadIdx.x) * per_thread;
    for (int i = first; i < first + per_thread; i++)
        if (i < n)
            c[i] = weight[0] * a[i] + b[i];
}
"""
PARAMETERS: Mapping[str, list[int]] = {"block_size_x": [16, 32, 64], "per_thread": [1, 2, 4]}
GRID = "ceil({n} / (block_size_x * per_thread))"


def vectors(n: int = 1000) -> tuple[Any, Any]:
    """Return two arrays of `n` numbers."""
    rng = np.random.default_rng(0)
    return rng.random(n, np.float32), rng.random(n, np.float32)


def small_sum(text: str = SUM, n: int = 1000, **changes: Any) -> Tunable:
    """Return the template of `text`, or another with `changes`."""
    a, b = vectors(n)
    usual: dict[str, Any] = {
        "parameters": PARAMETERS, "arguments": {"c": output(n), "a": a, "b": b, "n": np.int32(n)},
        "grid": GRID.format(n=n), "block": "block_size_x", "answer": {"c": a + b}}
    return template(text, "add", **{**usual, **changes})


def write_t1(folder: Path, n: int = 1000, **changes: Any) -> Path:
    """Write a T1 file of the sum, and its kernel; `changes` are of its KernelSpecification."""
    (folder / "add.cl").write_text(SUM)
    vector = {"Type": "float", "MemoryType": "Vector", "Size": "ProblemSize[0]"}
    data = {
        "General": {"BenchmarkName": "sum"},
        "ConfigurationSpace": {
            "TuningParameters": [{"Name": name, "Type": "int", "Values": str(values), "Default": values[1]}
                                 for name, values in PARAMETERS.items()],
            "Conditions": [{"Expression": "block_size_x * per_thread <= 128", "Parameters": []}]},
        "KernelSpecification": {
            "Language": "OpenCL", "KernelName": "add", "KernelFile": "add.cl", "LocalSize": {"X": "block_size_x"},
            "ProblemSize": [n], "GridDivX": ["block_size_x", "per_thread"],
            "Arguments": [
                {"Name": "c", "AccessType": "WriteOnly", "FillType": "Constant", "FillValue": 0, **vector},
                {"Name": "a", "AccessType": "ReadOnly", "FillType": "Random", "FillValue": 1, **vector},
                {"Name": "b", "AccessType": "ReadOnly", "FillType": "Constant", "FillValue": 2, **vector},
                {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": n}]} | changes}
    file = folder / "sum.t1.json"
    file.write_text(json.dumps(data))
    return file
