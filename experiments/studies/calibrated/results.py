"""A calibration: the constants, and how well they rank plans of programs that they were not fitted to."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from experiments.files import write_atomically
from experiments.values.program_json import from_json, to_json
from generator.errors import InputError
from metrics.costs.calibration import (
    Measured,
    fitted,
    polymage_rank,
    polymage_regret,
    sioutas_rank,
    sioutas_regret,
)
from metrics.costs.constants import Calibration
from metrics.costs.polymage import TERMS


@dataclass(frozen=True, slots=True)
class Agreement:
    """Rank correlation and regret of a model on a program, with the default constants and with constants fitted to
    others.
    """

    model: str
    rank_default: float
    rank_left_out: float
    regret_default: float
    regret_left_out: float


@dataclass(frozen=True, slots=True)
class Row:
    """A program: the number of its plans, and how well each model ranks them."""

    program: str
    plans: int
    models: tuple[Agreement, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """`calibration` is fitted to all programs; each of the `rows` judges a fit to the other programs."""

    calibration: Calibration
    rows: tuple[Row, ...]

    def to_data(self) -> dict[str, Any]:
        """Return the data for --json."""
        return {"calibration": asdict(self.calibration), "terms": TERMS, "rows": [asdict(row) for row in self.rows]}


def calibrated(usual: Calibration, programs: Sequence[Measured]) -> Results:
    """Fit the constants to the plans of `programs`, from the default ones; for each program, also fit them to all
    others.

    Several sizes of a program are left out together.
    """
    rows = []
    for left_out in programs:
        others = fitted([one for one in programs if one.program != left_out.program], usual)
        models = (
            Agreement(
                "sioutas",
                sioutas_rank(left_out, usual),
                sioutas_rank(left_out, others),
                sioutas_regret(left_out, usual),
                sioutas_regret(left_out, others),
            ),
            Agreement(
                "polymage",
                polymage_rank(left_out, usual),
                polymage_rank(left_out, others),
                polymage_regret(left_out, usual),
                polymage_regret(left_out, others),
            ),
        )
        rows.append(Row(left_out.program, len(left_out.times_ms), models))
    return Results(fitted(programs, usual), tuple(rows))


def write_calibration(file: Path, calibration: Calibration) -> None:
    """Write a file for --calibration. Raises InputError if it cannot be written."""
    try:
        write_atomically(file, json.dumps(json.loads(to_json(calibration)), indent=1) + "\n")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}; choose another file") from None


def read_calibration(file: Path) -> Calibration:
    """Return the constants in a file that `antune suite calibrate` wrote.

    Raises:
        InputError: the file cannot be read, or its constants are not those of this version.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"--calibration {file} cannot be read: {error}; `antune suite calibrate` writes one") from None
    try:
        found = from_json(text, Calibration)
        stages = (*found.stages, *found.registers)
        numbers = (found.load_cost, found.cached_bytes, *found.weights, *(number for _, number in stages))
        good = isinstance(found.device, str) and len(found.weights) == len(TERMS) and all(
            isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) and n >= 0 for n in numbers
        )
    except (InputError, TypeError, ValueError):
        good = False
    if not good or not (found.load_cost > 0 and found.cached_bytes > 0):
        raise InputError(
            f"--calibration {file} holds no constants of cost models; `antune suite calibrate` writes such a file"
        )
    return replace(found, file=str(file))
