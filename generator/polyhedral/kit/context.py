"""Options of isl's context, which all of its objects share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from generator.errors import IllegalPlan


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


@contextmanager
def most_operations(count: int, what: str) -> Iterator[None]:
    """Limit what is done inside to `count` operations of isl: on all machines the same is given up.

    Raises:
        IllegalPlan: isl needs more; `what` names the computation.
    """
    isl.DEFAULT_CONTEXT.reset_operations()
    try:
        with isl_options(max_operations=count):
            yield
    except isl.Error as error:
        if "maximal number of operations" not in str(error):
            raise
        raise IllegalPlan(f"{what} was given up after {count} operations of isl") from None
    finally:
        isl.DEFAULT_CONTEXT.reset_operations()
