"""The arguments of a jitted function: those of a call, and data that the pipeline itself holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from runners.own_data import OwnData

Order: TypeAlias = "tuple[str | OwnData, ...]"
"""The arguments of a function: those of the call by name, or the pipeline's own data."""


def values_of(order: Order, arguments: Mapping[str, Any], queue: Any) -> list[Any]:
    """Return the values to pass to a function. Raises ArgumentError as `OwnData.beside`."""
    arrays = [value for value in arguments.values() if not isinstance(value, np.ndarray | int | float)]
    return [arguments[one] if isinstance(one, str) else one.beside(arrays, queue) for one in order]
