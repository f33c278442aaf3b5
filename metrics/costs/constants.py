"""Constants of cost models for a device, as a value that runs store (`calibration.py` fits them)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants for the device called `device`: Sioutas' cost of a load that misses all caches, with the bytes from
    which on loads do, and the seven weights of PolyMage-GPU. `file` is where they were read from.
    """

    device: str
    load_cost: float
    cached_bytes: float
    weights: tuple[float, ...]
    file: str = ""
