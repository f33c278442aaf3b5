"""The value of an objective for a measured plan: the cost that searches compare, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from experiments.values.objective import LEAST_TIME, MEASURED, MODELLED, RATES, TIME, Objective
from experiments.values.records import Result
from experiments.words import describe_ms, describe_number
from generator.errors import InputError
from generator.plan import Plan, Value
from generator.problem import Subject
from generator.program import Program
from generator.templates.expressions import Restriction, parse_restriction
from generator.templates.template import Template
from metrics.outcome import Illegal, Outcome, Timed, program_metrics


@dataclass(frozen=True)
class Sought:
    """An objective with all that is needed to compute it.

    `known`: names and values that are the same for all plans of a run. Costs are multiplied by `scale`.
    """

    objective: Objective = LEAST_TIME
    known: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[tuple[str, Restriction], ...] = ()
    scale: float = 1.0

    def scaled(self, default: Plan, outcome: Outcome) -> Sought:
        """Return the same objective scaled so that the default plan's cost equals its time in milliseconds.

        Without scaling, explorers would take very small costs for equal.
        """
        told = self.told(default, outcome)
        if self.objective.is_time or not isinstance(told, Timed) or not isinstance(outcome, Timed):
            return self
        scale = outcome.median_ms / told.median_ms if told.median_ms else 0.0
        return replace(self, scale=scale) if 0 < scale < inf else self

    def value(self, plan: Plan, timed: Timed, ms: float | None = None) -> float:
        """Return the objective of `plan` if it took `ms` milliseconds (None: as measured).

        Raises:
            InputError: the expression uses a name without a value for this plan, or cannot be computed; or the value
                cannot be compared by ratios: it is below 0, or 0 when maximised.
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
        """Return the objective as a cost. Raises InputError as `value`."""
        value = self.value(plan, timed, ms)
        return self.scale * (1 / value if self.objective.higher else value)

    def costs(self, plan: Plan, timed: Timed, samples_ms: Sequence[float]) -> tuple[float, ...]:
        """Return the costs at these times; empty if one of them has no value."""
        if self.objective.is_time:
            return tuple(samples_ms)
        try:
            return tuple(self.cost(plan, timed, ms) for ms in samples_ms)
        except InputError:
            return ()

    def told(self, plan: Plan, outcome: Outcome) -> Outcome:
        """Return `outcome` with costs instead of times, or Illegal if the objective has no value.

        Each kernel has the same fraction of the cost as of the time.
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
        """Return whether `plan` was timed but has no value."""
        return isinstance(outcome, Timed) and not isinstance(self.told(plan, outcome), Timed)

    def judged(self, results: Sequence[Result]) -> tuple[Result, ...]:
        """Return `results` with costs instead of times."""
        if self.objective.is_time:
            return tuple(results)
        return tuple(replace(r, outcome=self.told(r.evaluation.plan, r.outcome)) for r in results)

    def without_value(self, results: Sequence[Result]) -> str | None:
        """Return why none of the timed plans has a value; None if one has, or if none was timed."""
        judged = [self.told(r.evaluation.plan, r.outcome) for r in results if isinstance(r.outcome, Timed)]
        if any(isinstance(one, Timed) for one in judged):
            return None
        return next((f"no plan has a value of the objective: {one.message}" for one in judged
                     if isinstance(one, Illegal)), None)

    @cached_property
    def axis(self) -> str:
        """The label of an axis of costs."""
        if self.objective.is_time:
            return "time [ms]"
        return f"1 / ({self.objective.text})" if self.objective.higher else self.objective.text

    @cached_property
    def noun(self) -> str:
        """The name of costs in a sentence."""
        return "time" if self.objective.is_time else self.axis

    @cached_property
    def unit(self) -> str:
        """The unit after a number on the axis, with a space before it."""
        return " ms" if self.objective.is_time else ""

    @property
    def describe(self) -> Callable[[float | None], str]:
        """The function that writes a cost as text."""
        return describe_ms if self.objective.is_time else describe_value


BY_TIME = Sought()
"""The default objective: the least time."""


def sought_for(objective: Objective, subject: Subject) -> Sought:
    """Return `objective`, made computable for plans of `subject`.

    Raises:
        InputError: the objective uses a name that no plan of `subject` has.
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
    """Check the names in a new objective for plans of `subject`. (Stored runs keep the meanings that their names had.)

    Raises:
        InputError: the objective uses a name that no plan has or that has two meanings.
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
    """Return the program's floating-point operations and least moved bytes; empty if the objective uses neither."""
    if not {"operations", "bytes"} & set(used):
        return {}
    from generator.polyhedral.dependences.demand import program_demand  # here, because it loads isl

    demand = program_demand(program)
    return {"operations": float(demand.operations.floating), "bytes": float(demand.moved_bytes)}


def _amounts(timed: Timed) -> dict[str, Value]:
    """Return the largest amount of any kernel, by name, and the wall-clock time in milliseconds."""
    found: dict[str, Value] = {"wall": timed.host_ms}
    for kernel in timed.kernels:
        for name, value in kernel.amounts:
            found[name] = max(float(found.get(name, value)), value)
    return found


def own_values(sought: Sought, result: Result) -> tuple[float, ...]:
    """Return the value of an objective other than the time; empty if it is the time or has no value."""
    if sought.objective.is_time or not isinstance(result.outcome, Timed):
        return ()
    try:
        return (sought.value(result.evaluation.plan, result.outcome),)
    except InputError:
        return ()


def describe_value(cost: float | None) -> str:
    """Return a value of an objective as text."""
    return "-" if cost is None else describe_number(cost)
