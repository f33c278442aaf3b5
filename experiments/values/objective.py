"""What a search is after: the time of a plan, or the value of an expression over its time and metrics.

Explorers, finals and reports compare costs, of which less is better, by ratios. The cost of a plan is the value of the
objective; where more is better, its reciprocal. Of a time it is the time itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from experiments.words import describe_ms, describe_number
from generator.errors import InputError
from generator.plan import Plan, Value
from generator.problem import Subject
from generator.program import Program
from generator.templates.expressions import Restriction, parse_restriction
from generator.templates.template import Template
from metrics.outcome import Illegal, Outcome, Timed, program_metrics
from metrics.static_model import NAMES

if TYPE_CHECKING:
    from experiments.values.records import Result

TIME = "time"
HIGHER = ("GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "GFLOPS/W", "TFLOPS/W", "GFLOP/J", "TFLOP/J")
"""Objectives of which more is better where the user does not say."""
LOWER = (TIME, "energy", "fitness", "cost", "loss")
RATES = (("GFLOP/s", "operations / time / 1e6"), ("GB/s", "bytes / time / 1e6"))
"""Metrics of every program, unless the user defines them otherwise."""
MEASURED = (TIME, "wall", "threads")
"""What every measured plan has: milliseconds on the device and on the wall clock, threads of the largest block."""
MODELLED = ("shared_bytes", *NAMES)
"""What plans of programs have, beside the metrics of their kernels: the most shared memory that a block takes."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What the user asked for: most (`higher`) or least of `text`, the name of a metric or an expression.

    `metrics` are the user's own, as names and expressions; later ones may use earlier ones.
    """

    text: str = TIME
    higher: bool = False
    metrics: tuple[tuple[str, str], ...] = ()

    @property
    def is_time(self) -> bool:
        """Whether it is what a search is after when nobody says anything."""
        return self.text == TIME

    @property
    def words(self) -> str:
        """`least time * occupancy`."""
        return f"{'most' if self.higher else 'least'} {self.text}"


LEAST_TIME = Objective()


def named_metrics(metrics: object) -> tuple[tuple[str, str], ...]:
    """Metrics from Python. Raises InputError for anything but a dictionary, or None."""
    if metrics is None:
        return ()
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics is a {type(metrics).__name__}; give a dictionary of names, each with an expression: "
                         "{'rate': 'operations / time'}")
    return tuple(metrics.items())


def parse_objective(text: str | None, higher: bool | None, metrics: Iterable[tuple[str, str]] = ()) -> Objective:
    """The objective of a user. `higher` None: more is better of rates, and of metrics that are 1 at their best.

    Raises:
        InputError: an expression that is none, or uses more than `generator.templates.expressions` allows.
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


@dataclass(frozen=True)
class Sought:
    """An objective with all that is needed to compute it. `known`: what is the same for all plans of a run. Costs are
    multiplied by `scale`.
    """

    objective: Objective = LEAST_TIME
    known: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[tuple[str, Restriction], ...] = ()
    scale: float = 1.0

    def scaled(self, default: Plan, outcome: Outcome) -> Sought:
        """The same with the time of the default plan as its cost, because explorers take tiny costs for equal."""
        told = self.told(default, outcome)
        if self.objective.is_time or not isinstance(told, Timed) or not isinstance(outcome, Timed):
            return self
        scale = outcome.median_ms / told.median_ms if told.median_ms else 0.0
        return replace(self, scale=scale) if 0 < scale < inf else self

    def value(self, plan: Plan, timed: Timed, ms: float | None = None) -> float:
        """The objective of `plan`, had it taken `ms` (None: as measured).

        Raises:
            InputError: it uses what is not known of this plan, cannot be computed, or is no number that ratios can
                compare: less than 0, or 0 where more is better.
        """
        if self.objective.is_time:
            return timed.median_ms if ms is None else ms
        found: dict[str, Value] = {**self.known, **dict(plan.parameters), **dict(program_metrics(timed.kernels)),
                                   **_amounts(timed), TIME: timed.median_ms if ms is None else ms}
        for name, step in self.steps:
            if missing := [one for one in step.names if one not in found]:
                raise InputError(f"the {step.kind} `{step.text}` uses {missing[0]}, which is not known of this plan")
            found[name] = step.number(found)
        value = float(found[self.objective.text])
        if value < 0 or (value == 0 and self.objective.higher):
            raise InputError(f"the objective `{self.objective.text}` is {value:g}; a search compares ratios and needs "
                             "numbers above 0")
        return value

    def cost(self, plan: Plan, timed: Timed, ms: float | None = None) -> float:
        """The same as a cost. Raises InputError as `value`."""
        value = self.value(plan, timed, ms)
        return self.scale * (1 / value if self.objective.higher else value)

    def costs(self, plan: Plan, timed: Timed, samples_ms: Sequence[float]) -> tuple[float, ...]:
        """The costs at these times; empty where one of them has none."""
        if self.objective.is_time:
            return tuple(samples_ms)
        try:
            return tuple(self.cost(plan, timed, ms) for ms in samples_ms)
        except InputError:
            return ()

    def told(self, plan: Plan, outcome: Outcome) -> Outcome:
        """`outcome` with costs in the place of times; a failure where the objective has no value.

        Kernels have the share of the cost that they have of the time.
        """
        if self.objective.is_time or not isinstance(outcome, Timed):
            return outcome
        try:
            cost = self.cost(plan, outcome)
            low, high = sorted(self.cost(plan, outcome, ms) for ms in (outcome.low_ms, outcome.high_ms))
        except InputError as error:
            return Illegal(str(error), outcome.durations, outcome.device)
        scale = cost / outcome.median_ms if outcome.median_ms else 1.0
        kernels = tuple(replace(kernel, median_ms=scale * kernel.median_ms) for kernel in outcome.kernels)
        return replace(outcome, median_ms=cost, low_ms=min(low, cost), high_ms=max(high, cost), samples_ms=(cost,),
                       kernels=kernels)

    def lacks(self, plan: Plan, outcome: Outcome) -> bool:
        """Whether `plan` was timed and has no value."""
        return isinstance(outcome, Timed) and not isinstance(self.told(plan, outcome), Timed)

    def judged(self, results: Sequence[Result]) -> tuple[Result, ...]:
        """`results` with costs in the place of times."""
        if self.objective.is_time:
            return tuple(results)
        return tuple(replace(r, outcome=self.told(r.evaluation.plan, r.outcome)) for r in results)

    def without_value(self, results: Sequence[Result]) -> str | None:
        """Why none of the plans that were timed has a value; None where one has, or none was timed."""
        judged = [self.told(r.evaluation.plan, r.outcome) for r in results if isinstance(r.outcome, Timed)]
        if any(isinstance(one, Timed) for one in judged):
            return None
        return next((f"no plan has a value of the objective: {one.message}" for one in judged
                     if isinstance(one, Illegal)), None)

    @cached_property
    def axis(self) -> str:
        """What an axis of costs is called."""
        if self.objective.is_time:
            return "time [ms]"
        return f"1 / ({self.objective.text})" if self.objective.higher else self.objective.text

    @cached_property
    def noun(self) -> str:
        """What costs are, in a sentence."""
        return "time" if self.objective.is_time else self.axis

    @cached_property
    def unit(self) -> str:
        """What stands behind a number of the axis."""
        return " ms" if self.objective.is_time else ""

    @property
    def describe(self) -> Callable[[float | None], str]:
        """A cost in words."""
        return describe_ms if self.objective.is_time else describe_value


BY_TIME = Sought()
"""What a search is after when nobody says anything."""


def sought_for(objective: Objective, subject: Subject) -> Sought:
    """`objective` for plans of `subject`.

    Raises:
        InputError: a name that no plan of it has.
    """
    if objective.is_time:
        return BY_TIME
    metrics, program = dict(objective.metrics), isinstance(subject, Program)
    if program:
        metrics = {name: text for name, text in RATES if name == objective.text} | metrics
    steps = [(name, parse_restriction(text, f"metric {name},")) for name, text in metrics.items()]
    if objective.text not in metrics:
        if objective.text in dict(RATES):
            raise InputError(f"the objective {objective.text} is not known of a kernel of one's own; define it as a "
                             f"metric: \"{objective.text}\" as, say, \"2 * {_example(subject)} / time / 1e6\"")
        steps.append((objective.text, parse_restriction(objective.text, "objective")))
    used = {name for _, step in steps for name in step.names}
    known = dict(subject.sizes) | (_demand(subject, used) if isinstance(subject, Program) else {})
    names = [*MEASURED, *known, *(MODELLED if program else _parameters(subject))]
    for name, step in steps:
        if unknown := [one for one in step.names if one not in names]:
            raise InputError(f"the {step.kind} `{step.text}` uses `{unknown[0]}`, which no plan has; there are "
                             f"{', '.join([*names, *(('operations', 'bytes') if program and not known else ())])}")
        names.append(name)
    return Sought(objective, known, tuple(steps))


def check_names(objective: Objective, subject: Subject) -> None:
    """Check a new objective for plans of `subject`. (Those of stored runs mean what they meant.)

    Raises:
        InputError: a name that no plan of it has, or that means two things.
    """
    if objective.is_time:
        return
    given = ("operations", "bytes", *MODELLED) if isinstance(subject, Program) else ()
    kinds = (("what antune measures or computes", (*MEASURED, *given)), ("a size of the program", dict(subject.sizes)),
             ("a parameter of the template", _parameters(subject)))
    used = {name for _, step in sought_for(objective, subject).steps for name in step.names}
    for name in (*dict(objective.metrics), *sorted(used)):
        meanings = [kind for kind, names in kinds if name in names]
        meanings += ["a metric of your own"] if name in dict(objective.metrics) else []
        if len(meanings) > 1:
            raise InputError(f"the objective {objective.text}: `{name}` is {meanings[0]}, and also {meanings[1]}; "
                             "rename the latter")


def _parameters(subject: Subject) -> Sequence[str]:
    return [one.name for one in subject.parameters] if isinstance(subject, Template) else ()


def _example(subject: Subject) -> int:
    return max((len(array.extents) and array.bytes for array in subject.contract.arrays), default=1)


def _demand(program: Program, used: Iterable[str]) -> dict[str, float]:
    """Floating-point operations and bytes that move at least, of the program as it is written, where they are used."""
    if not {"operations", "bytes"} & set(used):
        return {}
    from generator.polyhedral.dependences.demand import program_demand  # here, because it loads isl

    demand = program_demand(program)
    return {"operations": float(demand.operations.floating), "bytes": float(demand.moved_bytes)}


def _amounts(timed: Timed) -> dict[str, Value]:
    """What is the most of any kernel, and the time on the wall clock."""
    found: dict[str, Value] = {"wall": timed.host_ms}
    for kernel in timed.kernels:
        for name, value in kernel.amounts:
            found[name] = max(float(found.get(name, value)), value)
    return found


def own_values(sought: Sought, result: Result) -> tuple[float, ...]:
    """The value of an objective that is not the time; none where it is the time, or there is no value."""
    if sought.objective.is_time or not isinstance(result.outcome, Timed):
        return ()
    try:
        return (sought.value(result.evaluation.plan, result.outcome),)
    except InputError:
        return ()


def describe_value(cost: float | None) -> str:
    """A value of an objective in words."""
    return "-" if cost is None else describe_number(cost)
