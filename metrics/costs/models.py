"""The cost models by name."""

from __future__ import annotations

from metrics.costs.base import CostModel
from metrics.costs.calibration import polymage_of, sioutas_of
from metrics.costs.constants import Calibration
from metrics.costs.device import CostDevice
from metrics.costs.learned.model import shipped_model
from metrics.costs.static import Static

MODELS = ("static", "sioutas", "polymage", "learned")


def make_model(name: str, device: CostDevice, calibration: Calibration | None = None) -> CostModel:
    """Return one of MODELS for a device, with fitted constants (None: the defaults). Raises KeyError."""
    match name:
        case "static":
            return Static()
        case "sioutas":
            return sioutas_of(calibration, device)
        case "polymage":
            return polymage_of(calibration)
        case "learned":
            return shipped_model()
        case _:
            raise KeyError(name)
