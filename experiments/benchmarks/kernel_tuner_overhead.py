"""The cost of an evaluation besides compiling and running: antune's `tune_kernel` and Kernel Tuner's own, in turns.

The same OpenCL kernel with as many configurations as evaluations, all with different texts; each tool in a process per
round, with an empty driver cache. The cost of an evaluation is the time of a call divided by its evaluations; its
overhead is the cost without the times that the tool itself reports for compiling, verifying and benchmarking (antune
compiles on all cores at once, so its overhead may be below 0). The start is the wait for the first evaluation, and
follows from the difference between a call with few and one with many evaluations.

    python -m experiments.benchmarks.kernel_tuner_overhead --peer PYTHON [--device NAME] [--evaluations N] [--rounds N]

`--peer` names a Python with kernel_tuner, pyopencl and the same driver.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_CHILD = """
import json, sys, time
import numpy as np
package, count, device = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if package == "antune":
    from antune.kernel_tuner import tune_kernel
    where = {"device": device}
else:
    from kernel_tuner import tune_kernel
    import pyopencl
    names = [platform.name for platform in pyopencl.get_platforms()]
    number = next(n for n, name in enumerate(names) if device.lower() in name.lower() or
                  (device == "pocl" and "Portable" in name))
    where = {"platform": number, "lang": "OpenCL"}
code = '''
__kernel void add(__global float *c, __global const float *a, __global const float *b, int n)
{
    int i = get_group_id(0) * block_size_x + get_local_id(0);
    if (i < n)
        c[i] = a[i] + b[i] + variant * 0.0f;
}
'''
n = 100_000
a, b = np.random.rand(n).astype("float32"), np.random.rand(n).astype("float32")
start = time.perf_counter()
results, env = tune_kernel("add", code, n, [np.zeros_like(a), a, b, np.int32(n)],
    {"block_size_x": [32, 64, 128, 256], "variant": list(range((count + 3) // 4))}, answer=[a + b, None, None, None],
    quiet=True, **where)
wall = time.perf_counter() - start
work = sum(entry[name] for entry in results for name in ("compile_time", "verification_time", "benchmark_time"))
print(json.dumps([wall, work * 1e-3, len(results)]))
"""


def called(python: str, package: str, count: int, device: str) -> tuple[float, float, int]:
    """Return the seconds of a call, those of compiling and measuring by the tool's own clocks, and its evaluations."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "POCL_CACHE_DIR": folder, "PYOPENCL_NO_CACHE": "1", "PYTHONWARNINGS": "ignore"}
        if package == "antune":
            del environment["POCL_CACHE_DIR"]  # antune sets its own
        done = subprocess.run([python, "-c", _CHILD, package, str(count), device], capture_output=True, text=True,
                              check=True, env=environment, cwd=Path.cwd() if package == "antune" else folder)
    wall, work, made = json.loads(done.stdout.strip().splitlines()[-1])
    return wall, work, made


def main() -> None:
    """Print a line per tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, metavar="PYTHON")
    parser.add_argument("--device", default="pocl")
    parser.add_argument("--evaluations", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    tools = {"antune": sys.executable, "kernel_tuner": given.peer}
    each, found = given.evaluations // given.rounds, {name: list[tuple[float, float, float]]() for name in tools}
    for _ in range(given.rounds):
        for name, python in tools.items():
            few_s, few_work_s, few = called(python, name, 4, given.device)
            wall_s, work_s, made = called(python, name, each, given.device)
            per_s = (wall_s - few_s) / (made - few)
            overhead_s = (wall_s - work_s - few_s + few_work_s) / (made - few)
            found[name].append((few_s, per_s, overhead_s))
    for name, rounds in found.items():
        first, per, over = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name}: {given.rounds} x {each} evaluations on {given.device}: {1e3 * per:.1f} ms per evaluation, "
              f"of those overhead {1e3 * over:.1f} ms; a call of 4 evaluations takes {first:.2f} s")


if __name__ == "__main__":
    main()
