"""The constants of cost models for a device, as stored by runs (`calibration.py` fits them)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants for the device `device`: Sioutas' cost of a load that misses all caches, the bytes from which loads
    miss, and the seven weights of PolyMage-GPU.

    `stages`: nanoseconds of one thread per element of a stage, by its digest (`generator.dataflow.Node`), if measured;
    `registers`: those that a stage needs by its digest, if the device's compiler reported them. `file` is the source of
    these values.
    """

    device: str
    load_cost: float
    cached_bytes: float
    weights: tuple[float, ...]
    file: str = ""
    stages: tuple[tuple[str, float], ...] = ()
    registers: tuple[tuple[str, int], ...] = ()
