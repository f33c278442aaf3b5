"""Texts of a program's domains and accesses as isl objects, parsed once, because they are needed repeatedly.

Every caller gets its own object: isl may rewrite the constraints of a shared one, and later printed texts would depend
on previous callers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import islpy as isl


def set_of(text: str) -> Any:
    """Return the isl Set of a statement's instances."""
    read = _set_of(text)
    return read.set_tuple_name(read.get_tuple_name())


def map_of(text: str) -> Any:
    """Return the isl Map from a statement's instances to elements."""
    read = _map_of(text)
    return read.set_tuple_name(isl.dim_type.in_, read.get_tuple_name(isl.dim_type.in_))


@lru_cache(maxsize=8192)
def _set_of(text: str) -> Any:
    return isl.Set(text)


@lru_cache(maxsize=8192)
def _map_of(text: str) -> Any:
    return isl.Map(text)
