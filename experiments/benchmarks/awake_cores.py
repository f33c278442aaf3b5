"""Do short launches use all cores on PoCL? `python -m experiments.benchmarks.awake_cores [--launches N]`.

Each launch has one block per core; a block is a chain of multiply-adds without memory accesses that takes 0.01 to 1 ms.
The threads are placed by the system or pinned by `POCL_AFFINITY=1`, in fresh processes that take turns. With two cores,
a launch that took twice as long as a single block ran both blocks on one core.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from experiments.script import run
from runners.devices import find_device

TURNS = 3
CHILD = "from experiments.benchmarks.awake_cores import child; child()"
LINKS = tuple(1 << n for n in range(12, 20, 2))
"""The numbers of multiply-adds per chain."""
KERNEL = """__kernel void chain(__global float8 *x, int links)
{
  float8 sums[12], total = 0;
  for (int c = 0; c < 12; c++) sums[c] = x[c];
  for (int k = 0; k < links; k++)
    #pragma unroll
    for (int c = 0; c < 12; c++) sums[c] = sums[c] * 0.5f + 1.0f;
  for (int c = 0; c < 12; c++) total += sums[c];
  x[12 + get_group_id(0)] = total;
}
"""


def main(launches: Annotated[int, typer.Option(min=3, help="Launches of each length in each process.")] = 41) -> None:
    """Print least and median times with and without pinned threads."""
    device = find_device("pocl")
    times: dict[tuple[str, int, int], list[float]] = {}
    for _ in range(TURNS):
        for pinned in ("0", "1"):
            done = subprocess.run(
                [sys.executable, "-c", CHILD, device.key, str(launches)],
                env=os.environ | {"POCL_AFFINITY": pinned},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            for blocks, links, found in json.loads(done.stdout):
                times.setdefault((pinned, blocks, links), []).extend(found)
    cores = device.target.compute_units
    print(f"{device.name}: ms of one block on one core; of {cores} blocks, as threads come and pinned: least, median")
    for links in LINKS:
        alone, *both = (times[key] for key in (("1", 1, links), ("0", cores, links), ("1", cores, links)))
        print(
            f"{statistics.median(alone):.3f}"
            + "".join(f"   {min(found):.3f} {statistics.median(found):.3f}" for found in both)
        )


def child() -> None:
    """Measure in this process; print [blocks, links, [ms, ...]] of each length as JSON."""
    from runners.opencl.session import Session

    session = Session(sys.argv[1])
    cores = session.device.max_compute_units
    print(
        json.dumps(
            [
                (blocks, links, list(_launched(session, blocks, links, int(sys.argv[2]))))
                for blocks in (1, cores)
                for links in LINKS
            ]
        )
    )


def _launched(session: Any, blocks: int, links: int, launches: int) -> Iterator[float]:
    """Yield the milliseconds of each launch after the first."""
    import numpy as np
    import pyopencl as cl

    place = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 32 * (12 + blocks))
    cl.enqueue_fill_buffer(session.queue, place, np.ones(1, np.float32), 0, 32 * (12 + blocks))
    kernel = cl.Program(session.context, KERNEL).build().chain
    kernel.set_args(place, np.int32(links))
    for number in range(launches + 1):
        event = cl.enqueue_nd_range_kernel(session.queue, kernel, (blocks,), (1,))
        event.wait()
        if number:
            yield (event.profile.end - event.profile.start) * 1e-6


if __name__ == "__main__":
    run(main)
