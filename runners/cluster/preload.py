"""How a Dask worker joins: `dask worker ADDRESS --preload runners.cluster.preload --device pocl`.

Finds the devices before the worker registers with the scheduler, and adds its offer to its resources.
"""

from __future__ import annotations

import asyncio
import socket

import click
from distributed import Worker
from distributed.diagnostics.plugin import WorkerPlugin

from runners.backends import usable_compilers
from runners.cluster.offers import Offer, compiled_for
from runners.cluster.versions import versions
from runners.registry import find_devices

SITE = "antune-site"


class Site(WorkerPlugin):
    """Stores the offer of this Dask worker."""

    name = SITE

    def __init__(self, offer: Offer) -> None:
        """See `Offer`."""
        self.offer = offer


@click.command()
@click.option("--device", "devices", multiple=True, help="As for `antune tune`: which devices this worker offers.")
@click.option("--compile-only", is_flag=True, help="Offer no device: compile for GPUs of CUDA and HIP elsewhere.")
async def dask_setup(worker: Worker, devices: tuple[str, ...], compile_only: bool) -> None:
    """Prepare `worker`; called by Dask while it starts."""
    found = () if compile_only else await asyncio.to_thread(find_devices, devices)
    compiles = usable_compilers() if compile_only else tuple(dict.fromkeys(compiled_for(device) for device in found))
    compilers = max(1, worker.state.nthreads - len(found))  # one thread per device is for measuring
    offer = Offer(socket.gethostname(), versions(), found, compiles, compilers)
    worker.state.total_resources.update(offer.resources())
    worker.state.available_resources.update(offer.resources())
    await worker.plugin_add(Site(offer))


def describe(dask_worker: Worker) -> Offer | None:
    """Return a worker's offer (for `Client.run`), None if it was not started for antune."""
    site = dask_worker.plugins.get(SITE)
    return site.offer if isinstance(site, Site) else None
