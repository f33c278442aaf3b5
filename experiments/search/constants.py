"""Constants of cost models given by --calibration: for which device they are, and whether anything uses them."""

from __future__ import annotations

from experiments.values.options import RunOptions
from generator.errors import InputError
from metrics.costs.constants import Calibration
from runners.base import DeviceInfo
from runners.many import model_key

CALIBRATED = ("sioutas", "polymage")
"""The cost models whose constants a calibration replaces."""


def check_used(options: RunOptions) -> None:
    """Raise InputError if the options of a run have constants that its search does not use."""
    from explorer.registry import PLAN_MAKERS

    models = {*options.models, options.foretell, options.foresee} & {*PLAN_MAKERS, *CALIBRATED, "beam"}
    if options.calibration is not None and not (options.guided or models or options.explorer in PLAN_MAKERS):
        raise InputError(
            f"--calibration: nothing in this search uses the constants of cost models; leave it out, or use one of the "
            f"explorers {', '.join(PLAN_MAKERS)} and beam, --models, or --foretell or --foresee with "
            f"{' or '.join(CALIBRATED)}"
        )


def check_device(calibration: Calibration | None, device: DeviceInfo) -> None:
    """Raise InputError if constants were fitted to another device."""
    if calibration is not None and model_key(calibration.device) != model_key(device.key):
        raise InputError(
            f"--calibration {calibration.file}: its constants are those of the device `{calibration.device}`, and this "
            f"one is `{device.key}`; leave it out, or fit some with `antune suite calibrate --device {device.key}`"
        )


def check_explained(name: str | None, calibration: Calibration | None) -> None:
    """Raise InputError if constants are given, but the model of `explain --cost` (None: without it) has none."""
    if calibration is None or name in CALIBRATED:
        return
    if name is None:
        raise InputError("--calibration: only costs by models use it; leave it out, or use --cost MODEL")
    raise InputError(f"--calibration: the model `{name}` does not use it; leave it out, or use --cost with "
                     f"{' or '.join(CALIBRATED)}")
