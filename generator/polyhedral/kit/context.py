"""Options of isl's context, which all of its objects share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl


@contextmanager
def isl_options(**options: int) -> Iterator[None]:
    """Set options of the (global) isl context and restore them afterwards."""
    context = isl.DEFAULT_CONTEXT
    before = {name: getattr(context, f"get_{name}")() for name in options}
    for name, value in options.items():
        getattr(context, f"set_{name}")(value)
    try:
        yield
    finally:
        for name, value in before.items():
            getattr(context, f"set_{name}")(value)
