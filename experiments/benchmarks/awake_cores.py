"""Do short launches use all cores of a CPU? `python -m experiments.benchmarks.awake_cores [--device intel] [--turns N]`

Each launch has one block per core; a block is a chain of multiply-adds without memory accesses that takes 0.01 to 1 ms.
The system places the threads, or the driver's own setting pins them, in fresh processes that take turns. With two
cores, a launch that took twice as long as a single block ran both blocks on one core.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Literal

import typer

from experiments.script import run
from runners.devices import find_device

CHILD = "from experiments.benchmarks.awake_cores import child; child()"
LINKS = tuple(1 << n for n in range(12, 20, 2))
"""The numbers of multiply-adds per chain."""
SETTINGS = {"POCL_AFFINITY": "1", "DPCPP_CPU_PLACES": "threads", "DPCPP_CPU_CU_AFFINITY": "close"}
"""What pins the threads of PoCL, and of Intel's runtime that of the caller, too, which takes part in a launch."""
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


def main(device: Literal["pocl", "intel"] = "pocl", turns: Annotated[int, typer.Option(min=1)] = 3,
         launches: Annotated[int, typer.Option(min=3, help="Launches of each length in each process.")] = 41) -> None:
    """Print least and median times with and without pinned threads, and how many processes used one core only."""
    found = find_device(device)
    times: dict[tuple[bool, int, int], list[list[float]]] = {}
    for _ in range(turns):
        for pinned in (False, True):
            for blocks, links, measured in _measured(found.key, launches, SETTINGS if pinned else {}):
                times.setdefault((pinned, blocks, links), []).append(measured)
    cores = found.target.compute_units
    print(f"{found.name}: ms of one block on one core; of {cores} blocks, as threads come and pinned: least, median, "
          f"processes whose median is more than 1.6 blocks, of {turns}")
    for links in LINKS:
        alone = statistics.median(list(chain.from_iterable(times[True, 1, links])))
        both = (_summary(times[pinned, cores, links], alone) for pinned in (False, True))
        print(f"{alone:.3f}   " + "   ".join(both))


def _measured(key: str, launches: int, settings: dict[str, str]) -> list[tuple[int, int, list[float]]]:
    """Return the blocks, links and times of each length, measured in a new process with these `settings`."""
    without = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    done = subprocess.run([sys.executable, "-c", CHILD, key, str(launches)], env=without | settings,
                          stdout=subprocess.PIPE, text=True, check=True)
    return [(blocks, links, times) for blocks, links, times in json.loads(done.stdout)]


def _summary(processes: list[list[float]], alone: float) -> str:
    launches = list(chain.from_iterable(processes))
    slow = sum(statistics.median(times) > 1.6 * alone for times in processes)
    return f"{min(launches):.3f} {statistics.median(launches):.3f} {slow}"


def child() -> None:
    """Measure in this process; print [blocks, links, [ms, ...]] of each length as JSON."""
    from runners.opencl.platforms import register_here
    from runners.opencl.session import Session

    register_here()
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
