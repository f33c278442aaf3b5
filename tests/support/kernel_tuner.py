"""A small call of `tune_kernel`: one macro of its kernel decides whether results are right."""

from __future__ import annotations

from typing import Any

import numpy as np

CODE = """
__kernel void add(__global float *c, __global const float *a, int n)
{
    int i = get_group_id(0) * block_size_x + get_local_id(0);
    if (i < n)
        c[i] = a[i] + WRONG;
}
"""
A = np.arange(1000, dtype=np.float32)
QUIET: dict[str, Any] = {"device": "pocl", "quiet": True}


def small(**changes: Any) -> dict[str, Any]:
    return {"kernel_name": "add", "kernel_source": CODE, "problem_size": 1000,
            "arguments": [np.zeros_like(A), A, np.int32(1000)],
            "tune_params": {"block_size_x": [16, 32, 64], "WRONG": [1]}, "answer": [A + 1, None, None],
            **QUIET, **changes}
