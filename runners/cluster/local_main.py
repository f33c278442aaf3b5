"""The process of `local.LocalCluster`: a scheduler with its workers, until its standard input ends."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from distributed import Nanny, Scheduler, SpecCluster


def main() -> None:
    """Start the cluster that the last argument describes as JSON; the first line of output is the address."""
    asked: dict[str, Any] = json.loads(sys.argv[-1])
    os.chdir(asked["folder"])
    workers = {number: {"cls": Nanny, "options": _options(asked, devices)}
               for number, devices in enumerate(asked["devices"])}
    scheduler = {"cls": Scheduler, "options": {"host": "127.0.0.1", "port": 0, "dashboard": False}}
    with SpecCluster(workers, scheduler, silence_logs=40) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.buffer.read()


def _options(asked: dict[str, Any], devices: list[str]) -> dict[str, Any]:
    argv = [word for device in devices for word in ("--device", device)]
    return {"host": "127.0.0.1", "nthreads": asked["threads"], "memory_limit": 0, "dashboard": False,
            "local_directory": asked["folder"], "preload": ["runners.cluster.preload"], "preload_argv": argv}
