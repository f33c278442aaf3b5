"""Parse JSON from outside within limits, or raise a ValueError that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

_MOST_DIGITS = 20
"""Enough for every integer of 64 bits."""


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or has integers of too many digits.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"it has an integer of {len(digits.lstrip('-'))} digits")
    return int(digits)
