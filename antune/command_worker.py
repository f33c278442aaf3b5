"""`antune worker`: make this machine's devices available to runs on other machines."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from antune.options import Devices

Scheduler = Annotated[str, typer.Argument(metavar="ADDRESS", show_default=False, help="The Dask scheduler: "
                                          "tcp://HOST:PORT, tls://HOST:PORT, or its scheduler file.")]
Compilers = Annotated[int | None, typer.Option("--compilers", metavar="N", min=1, show_default=False,
                                               help="Number of plans to compile in parallel. Default: one per core.")]


CompileOnly = Annotated[bool, typer.Option("--compile-only", help="Offer no device: compile for the GPUs of other "
                                           "machines (CUDA, HIP).")]


def worker(address: Scheduler, device: Devices = None, compilers: Compilers = None,
           compile_only: CompileOnly = False) -> None:
    """Join a Dask cluster as a worker that compiles and measures plans; ends with the scheduler or by Ctrl-C.

    `antune tune --cluster ADDRESS` then uses the devices of all workers. Start one worker per machine; it is Dask's own
    `dask worker` with `--preload runners.cluster.preload`, which works as well (docs/cluster.md).

    \b
    Examples:
      dask scheduler                                    # on one machine
      antune worker tcp://192.168.0.10:8786             # on every machine with a device
      antune worker tcp://192.168.0.10:8786 --device all
    """
    from runners.registry import check_extra, find_devices

    check_extra()
    if compile_only:
        from runners.backends import usable_compilers

        usable_compilers()
    from runners.cluster.hub import check_scheduler, scheduler_address

    check_scheduler(address)
    found = () if compile_only else find_devices(tuple(device or ()))
    threads = (compilers or len(os.sched_getaffinity(0))) + len(found)
    words = ["-m", "distributed.cli.dask_worker", scheduler_address(address), "--nthreads", str(threads),
             "--memory-limit", "0", "--no-dashboard", "--preload", "runners.cluster.preload"]
    words += [word for one in found for word in ("--device", one.key)]
    words += ["--compile-only"] if compile_only else []
    print(f"antune worker for {address}: {', '.join(one.key for one in found) or 'compiles only'}", flush=True)
    os.execv(sys.executable, [sys.executable, *words])
