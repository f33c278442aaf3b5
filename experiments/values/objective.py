"""The objective of a search: the time of a plan, or an expression over its time and metrics.

Explorers, finals and reports compare costs by their ratios; a lower cost is better. The cost of a plan is the value of
the objective, or its reciprocal if the objective is maximised. If the objective is the time, the cost is the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from generator.errors import InputError
from generator.templates.expressions import parse_restriction
from metrics.static_model import NAMES

TIME = "time"
HIGHER = ("GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "GFLOPS/W", "TFLOPS/W", "GFLOP/J", "TFLOP/J")
"""Objectives that are maximised unless the user says otherwise."""
LOWER = (TIME, "energy", "fitness", "cost", "loss")
RATES = (("GFLOP/s", "operations / time / 1e6"), ("GB/s", "bytes / time / 1e6"))
"""Metrics of every program, unless the user defines metrics with these names."""
MEASURED = (TIME, "wall", "threads")
"""Metrics of every measured plan: device time and wall-clock time in milliseconds, threads of the largest block."""
MODELLED = ("shared_bytes", *NAMES)
"""Further metrics of plans of programs; `shared_bytes` is the most shared memory that a block uses."""


@dataclass(frozen=True, slots=True)
class Objective:
    """The objective that the user asked for: maximise (`higher`) or minimise `text`, a metric's name or an expression.

    `metrics` are the user's own, as (name, expression); each may use those before it.
    """

    text: str = TIME
    higher: bool = False
    metrics: tuple[tuple[str, str], ...] = ()

    @property
    def is_time(self) -> bool:
        """Whether the objective is the time, which is the default."""
        return self.text == TIME

    @property
    def words(self) -> str:
        """The objective in words: `least time * occupancy`."""
        return f"{'most' if self.higher else 'least'} {self.text}"


LEAST_TIME = Objective()


def named_metrics(metrics: object) -> tuple[tuple[str, str], ...]:
    """Return the metrics that a Python caller passed. Raises InputError unless they are a dictionary or None."""
    if metrics is None:
        return ()
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics is a {type(metrics).__name__}; give a dictionary of names, each with an expression: "
                         "{'rate': 'operations / time'}")
    return tuple(metrics.items())


def parse_objective(text: str | None, higher: bool | None, metrics: Iterable[tuple[str, str]] = ()) -> Objective:
    """Return the objective that a user asked for. `higher` None: maximise rates and metrics that are 1 at their best.

    Raises:
        InputError: an expression is invalid or uses more than `generator.templates.expressions` allows, or the options
            contradict each other.
    """
    text, listed = TIME if text is None else text, list(metrics)
    for name, value in (("objective", text), *listed):
        if not isinstance(name, str) or not isinstance(value, str) or not name.strip() or not value.strip():
            raise InputError(f"the {'objective' if name == 'objective' else f'metric {name!r}'} is {value!r}; give an "
                             "expression as text, like \"time * threads\"")
    text, listed = text.strip(), [(name.strip(), value.strip()) for name, value in listed]
    if higher is not None and not isinstance(higher, bool):
        raise InputError(f"maximize is {higher!r}; give True or False, or leave it out")
    if text == TIME and listed:
        raise InputError(f"the metric {listed[0][0]} is for an objective, and the objective is the time; use it in "
                         f"one, like --objective '{listed[0][0]}', or leave it out")
    if text == TIME and higher:
        raise InputError("the objective `time` with more of it being better seeks the slowest plan; leave it out")
    names = [name for name, _ in listed]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"the metric {twice[0]} is given twice; keep one of them")
    for name, value in listed:
        parse_restriction(value, f"metric {name},")
    if text not in (*names, *dict(RATES)):
        parse_restriction(text, "objective")
    return Objective(text, text in (*HIGHER, *NAMES) if higher is None else higher, tuple(listed))
