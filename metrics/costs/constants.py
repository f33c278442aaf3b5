"""The constants of cost models for a device, a value that runs store (`calibration.py` fits them)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants for the device called `device`: Sioutas' cost of a load that misses all caches, with the bytes from
    which on loads do, and the seven weights of PolyMage-GPU. `stages`: nanoseconds that one thread takes for an element
    of a stage, by its digest (`generator.dataflow.Node`), as far as measured. `file` is where all that was read from.
    """

    device: str
    load_cost: float
    cached_bytes: float
    weights: tuple[float, ...]
    file: str = ""
    stages: tuple[tuple[str, float], ...] = ()
