"""isl's scheduler, asked with the options of a ScheduleChoice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.plan import ScheduleChoice
from generator.polyhedral.model import model
from generator.program import Program

# isl counts its own elementary operations; a 20-statement SCoP needs some ten million.
_MAX_OPERATIONS = 400_000_000


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
def bounded() -> Iterator[None]:
    """Abort isl calls that would take (nearly) for ever. Raises IllegalPlan then."""
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(_MAX_OPERATIONS)
    try:
        yield
    except isl.Error as error:
        if "maximal number of operations" in str(error):
            raise IllegalPlan("isl gave up: the operation limit for one step was reached") from None
        raise
    finally:
        context.set_max_operations(0)
        context.reset_operations()


@lru_cache(maxsize=64)
def compute_schedule(program: Program, choice: ScheduleChoice) -> Any:
    """The isl Schedule that the scheduler finds; legal by construction and checked again later.

    Raises:
        IllegalPlan: the scheduler gave up.
    """
    facts = model(program)
    constraints = (isl.ScheduleConstraints.on_domain(facts.domain).set_validity(facts.dependences)
                   .set_proximity(facts.flow).set_coincidence(facts.dependences))
    algorithm = {"pluto": isl.schedule_algorithm.ISL, "feautrier": isl.schedule_algorithm.FEAUTRIER}
    with bounded(), isl_options(
            schedule_algorithm=algorithm[choice.algorithm],
            schedule_serialize_sccs=int(choice.serialize_sccs),
            schedule_maximize_band_depth=int(choice.maximize_band_depth),
            schedule_outer_coincidence=int(choice.outer_coincidence)):
        return constraints.compute_schedule()
