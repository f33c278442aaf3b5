"""A space of a pipeline with a cost model, whose costs an explorer may begin with (`graph.foretelling`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

from experiments.search.costs import find_model, predicted
from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from graph.reaching import Answers, Reachable
from graph.space import Chooser
from graph.stage_graph import StageGraph, stage_graph_of
from metrics.costs.base import Cost, CostModel
from metrics.costs.constants import Calibration


@dataclass(frozen=True, slots=True)
class ForetoldSpace:
    """The space `inside`, and what `model` says of its plans."""

    inside: Reachable
    program: Program
    target: Target
    model: CostModel
    _known: dict[str, float | None] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""
        return self.inside(chooser)

    def answers(self, plan: Plan) -> Answers:
        """See graph.reaching.Reachable."""
        return self.inside.answers(plan)

    @property
    def stage_graph(self) -> StageGraph:
        """See graph.stage_graph.Staged."""
        found = stage_graph_of(self.inside)
        assert found is not None, "models judge programs that consist of stages"
        return found

    def foretold(self, plan: Plan) -> float | None:
        """See graph.foretelling.Foretelling."""
        key = plan.digest
        if key not in self._known:
            self._known[key] = self._foretold(plan)
        return self._known[key]

    def _foretold(self, plan: Plan) -> float | None:
        try:
            found = predicted(self.program, plan, self.target, self.model)
        except IllegalPlan:
            return None
        return log(found.number) if isinstance(found, Cost) and found.number > 0 else None


def foretold_space(
    inside: Reachable, program: Program, target: Target, name: str, calibration: Calibration | None
) -> ForetoldSpace:
    """`inside` with the model called `name`. Raises InputError: there is no such model."""
    return ForetoldSpace(inside, program, target, find_model(name, target, calibration))
