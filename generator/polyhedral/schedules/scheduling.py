"""isl's scheduler, called with the options of a ScheduleChoice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.model import model, sets
from generator.polyhedral.dependences.reductions import order_of
from generator.polyhedral.kit.context import isl_options
from generator.polyhedral.kit.limited import ChildError, limited
from generator.polyhedral.kit.members import union_of
from generator.program import Program
from generator.schedules.choice import ScheduleChoice


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """The input of isl's scheduler: instances, the order to keep, and pairs that should be close together."""

    domain: Any
    validity: Any
    proximity: Any


@lru_cache(maxsize=1024)
def compute_schedule(program: Program, choice: ScheduleChoice) -> Any:
    """Return the isl Schedule that the scheduler finds; legal by construction and checked again later.

    Raises:
        IllegalPlan: the scheduler gave up.
    """
    order = order_of(program, choice.reductions)
    return find_schedule(Constraints(model(program).domain, order.dependences, order.flow), choice)


def find_schedule(constraints: Constraints, choice: ScheduleChoice, whole: bool = False) -> Any:
    """Return the isl Schedule for `constraints`. `whole`: statements connected by constraints share loops if legal.

    Raises:
        IllegalPlan: the scheduler gave up.
    """
    domain = constraints.domain
    relaxed = Constraints(domain, _without_bounds(constraints.validity, domain),
                          _without_bounds(constraints.proximity, domain))
    try:
        return _ask_isl(relaxed, choice, whole)
    except ChildError:  # constraints outside of the domain may be contradictory
        try:
            return _ask_isl(constraints, choice, whole)
        except ChildError:
            return _ignoring_strides(constraints, choice, whole)


def _ignoring_strides(constraints: Constraints, choice: ScheduleChoice, whole: bool) -> Any:
    """Return a schedule for a domain with strides in which isl's scheduler fails: ask for all points between them.

    As of isl 0.27 it cannot carry the dependences of a Gauss-Seidel sweep by colours (an example is in the tests).
    """
    domain = constraints.domain
    filled = Constraints(union_of([points.remove_divs() for points in sets(domain)]), constraints.validity,
                         constraints.proximity)
    try:
        return _ask_isl(filled, choice, whole).intersect_domain(domain)
    except ChildError as error:
        raise IllegalPlan(f"isl finds no schedule with these options: {error}") from None


def _ask_isl(asked: Constraints, choice: ScheduleChoice, whole: bool) -> Any:
    """Call the scheduler once. Raises ChildError for isl's own errors, IllegalPlan at the time limit."""
    constraints = (isl.ScheduleConstraints.on_domain(asked.domain).set_validity(asked.validity)
                   .set_proximity(asked.proximity).set_coincidence(asked.validity))
    algorithm = {"pluto": isl.schedule_algorithm.ISL, "feautrier": isl.schedule_algorithm.FEAUTRIER}
    with isl_options(
            schedule_algorithm=algorithm[choice.algorithm],
            schedule_serialize_sccs=int(choice.serialize_sccs),
            schedule_maximize_band_depth=int(choice.maximize_band_depth),
            schedule_outer_coincidence=int(choice.outer_coincidence),
            schedule_whole_component=int(whole)):
        if asked.validity.is_empty() and asked.proximity.is_empty():
            return (
                constraints.compute_schedule()
            )  # no linear program to solve: no child process with a time limit is needed
        text = limited(lambda: str(constraints.compute_schedule()), "scheduling with these options")
    return isl.Schedule.read_from_str(isl.DEFAULT_CONTEXT, text)


def _without_bounds(dependences: Any, domain: Any) -> Any:
    """Return the same relation on `domain`, described without the constant bounds of the loops.

    A schedule that respects it respects `dependences`. Constant bounds only burden the scheduler's linear programs:
    without them heat-3d takes milliseconds instead of minutes. Bounds by other iterators (`j < i`) stay: without them a
    triangular loop nest (ludcmp, nussinov) seems contradictory.
    """
    boxes = union_of([bounding_box(part) for part in sets(domain)])
    return dependences.gist_domain(boxes).gist_range(boxes)


def bounding_box(points: Any) -> Any:
    """Return the smallest isl Set with constant bounds around `points`."""
    box = isl.Set.universe(points.get_space())
    for dim in range(points.dim(isl.dim_type.set)):
        box = box.lower_bound_val(isl.dim_type.set, dim, points.dim_min_val(dim))
        box = box.upper_bound_val(isl.dim_type.set, dim, points.dim_max_val(dim))
    return box
