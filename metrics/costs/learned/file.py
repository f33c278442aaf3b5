"""A trained model as a file of numbers with their names; reading it executes no code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from generator.errors import InputError
from generator.polyhedral.pipelines.histogram import ROWS, TYPES
from metrics.costs.learned.names import FEATURES
from metrics.costs.learned.network import SHAPES, Weights

FORMAT = 3
"""2: updates did not count how they access their own element."""
MOST_BYTES, MOST_COUNTED = 1 << 24, 10**12
LARGEST, LARGEST_SCALE, SMALLEST_SPREAD = 500.0, 1e30, 1e-6
"""Limits by which exponentials and products of weights, and quotients by spreads, stay finite."""
MOST_MEMBERS, MOST_CAUTION = 64, 10.0
_DIGITS = 6
_DESCRIBED = {"device": str, "device_name": str, "plans": int, "pipelines": int, "epochs": int, "command": str}
_COUNTS = [f"{row}, {kind}" for row in ROWS for kind in TYPES]


@dataclass(frozen=True, slots=True)
class Training:
    """The training of a model: measured plans of a number of pipelines, the devices, and the command."""

    device: str
    device_name: str
    plans: int
    pipelines: int
    epochs: int
    command: str


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A model with its training: the weights of its members, and how cautious it is (`ensemble`)."""

    training: Training
    members: tuple[Weights, ...]
    caution: float = 0.0


def model_text(model: Trained) -> str:
    """Return the text of its file. A model read from this text has the same text."""
    described = {name: getattr(model.training, name) for name in _DESCRIBED}
    members = [{name: _rounded(value) for name, value in weights.items()} for weights in model.members]
    data = {"format": FORMAT, **described, "features": list(FEATURES), "counts": _COUNTS, "caution": model.caution,
            "members": members}
    return json.dumps(data, separators=(",", ":")) + "\n"


def _rounded(value: Any) -> Any:
    return [_rounded(one) for one in value] if np.ndim(value) else float(f"{value:.{_DIGITS}g}")


def read_model(file: Path) -> Trained:
    """Read a model. Raises InputError if the file is not a model, has another version, or a value is not a number."""
    try:
        with file.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise _bad(file, f"it has more than {MOST_BYTES >> 20} MiB")
        data = json.loads(text.decode("utf-8"))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; train one with "
                         "`python -m experiments.learning.train`") from None
    except (ValueError, RecursionError) as error:
        raise _bad(file, str(error)) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _bad(file, f"`format` is not {FORMAT}")
    for name, wanted in (("features", list(FEATURES)), ("counts", _COUNTS)):
        if data.get(name) != wanted:
            raise _bad(file, f"`{name}` are not those of this version")
    for name, kind in _DESCRIBED.items():
        if type(data.get(name)) is not kind:
            raise _bad(file, f"`{name}` is missing or no {kind.__name__}")
        if kind is int and not 0 <= data[name] <= MOST_COUNTED:
            raise _bad(file, f"`{name}` is not between 0 and {MOST_COUNTED}")
    caution, members = data.get("caution"), data.get("members")
    if not isinstance(caution, int | float) or isinstance(caution, bool) or not 0.0 <= caution <= MOST_CAUTION:
        raise _bad(file, f"`caution` is not a number between 0 and {MOST_CAUTION:g}")
    if not isinstance(members, list) or not 1 <= len(members) <= MOST_MEMBERS:
        raise _bad(file, f"`members` are not 1 to {MOST_MEMBERS} networks")
    described = Training(**{name: data[name] for name in _DESCRIBED})
    return Trained(described, tuple(_weights(file, one) for one in members), float(caution))


def _weights(file: Path, weights: object) -> Weights:
    if not isinstance(weights, dict) or weights.keys() != SHAPES.keys():
        raise _bad(file, "the weights of `members` are not those of this version")
    return {name: _array(file, name, weights[name]) for name in SHAPES}


def _array(file: Path, name: str, value: object) -> Any:
    try:
        found = np.array(value, dtype=float) if _numbers_only(value) else np.array(np.nan)
    except (TypeError, ValueError, OverflowError):
        found = np.array(np.nan)
    if found.shape != SHAPES[name] or not np.isfinite(found).all():
        raise _bad(file, f"`{name}` of `members` are not {' x '.join(map(str, SHAPES[name]))} numbers")
    largest = LARGEST_SCALE if name == "scale" else LARGEST
    if (np.abs(found) > largest).any():
        raise _bad(file, f"`{name}` of `members` has numbers beyond {largest:g}")
    if name == "scale" and (found < 0).any():
        raise _bad(file, "`scale` of `members` has negative numbers")
    if name == "limit" and (found <= 0).any():
        raise _bad(file, "`limit` of `members` is not positive")
    if name == "spread" and (found < SMALLEST_SPREAD).any():
        raise _bad(file, f"`spread` of `members` has numbers below {SMALLEST_SPREAD:g}, zero or negative ones maybe")
    return found


def _numbers_only(value: object) -> bool:
    """Return whether these are lists of numbers, at most two deep: numpy would convert texts and truth values to
    numbers.
    """
    return isinstance(value, list) and all(
        type(one) in (int, float) for row in value for one in (row if isinstance(row, list) else [row]))  # fmt: skip


def _bad(file: Path, why: str) -> InputError:
    return InputError(f"{file} is not a model: {why}; train one with `python -m experiments.learning.train`")
