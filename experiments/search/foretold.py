"""A pipeline space with cost models, whose costs guide the start of a search (`graph.foretelling`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log

from experiments.search.costs import find_model, planned
from experiments.search.guides.grouping import places_for_unknown
from generator.errors import IllegalPlan, InputError
from generator.plan import Plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from graph.foretelling import Foresee, Foreseen
from graph.reaching import Answers, Reachable
from graph.space import Chooser
from graph.stage_graph import StageGraph, stage_graph_of
from metrics.costs.base import Cost, CostModel, Judgement, PlannedKernel
from metrics.costs.constants import Calibration
from metrics.costs.device import cost_device

NOTHING = Foreseen(None, {})


@dataclass(frozen=True, slots=True)
class Judge:
    """The costs of plans of `program` by `model`. Results are cached by plan and by kernel: plans share most of their
    kernels.

    Kernels of arrays that no model can judge in any plan are left out: every plan has them, with or without what is
    inlined there from inputs.
    """

    program: Program
    target: Target
    model: CostModel
    _known: dict[str, Foreseen] = field(default_factory=dict, repr=False, compare=False)
    _kernels: dict[PlannedKernel, Judgement] = field(default_factory=dict, repr=False, compare=False)

    def foresee(self, plan: Plan) -> Foreseen:
        """See graph.foretelling.Foresee."""
        if plan.digest not in self._known:
            self._known[plan.digest] = self._judged(plan)
        return self._known[plan.digest]

    def _judged(self, plan: Plan) -> Foreseen:
        try:
            kernels = planned(self.program, plan)
        except IllegalPlan:
            return NOTHING
        left, costs, whole = self._left(), dict[tuple[str, ...], float](), True
        for kernel in kernels:
            found = self.judged(kernel)
            if isinstance(found, Cost) and found.number > 0:
                costs[kernel.statements] = found.number
            elif not left.issuperset(kernel.statements):
                whole = False
        program = log(sum(costs.values())) if whole and costs else None
        return Foreseen(program, {statements: log(cost) for statements, cost in costs.items()})

    def judged(self, kernel: PlannedKernel) -> Judgement:
        """Return the model's judgement of a kernel."""
        found = self._kernels.get(kernel)
        if found is None:
            found = self._kernels[kernel] = self.model.judge(kernel, cost_device(self.target))
        return found

    def _left(self) -> frozenset[str]:
        """Return the statements of the arrays that no model can judge, and of the inputs that may be inlined in their
        kernels (`places_for_unknown`).
        """
        flow = dataflow(self.program)
        places = places_for_unknown(flow)
        return frozenset(name for node in flow.nodes if node.refusal or "inline" in places.get(node.array, ())
                         for name in node.statements)


@dataclass(frozen=True, slots=True)
class ForetoldSpace:
    """The space `inside` with cost models of its plans: `foretell` screens walks, `foresee` guides ants.

    `alone`: nothing but `foretell` screens walks.
    """

    inside: Reachable
    foretell: Foresee | None
    foresee: Foresee | None
    alone: bool = False

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


def left_out(program: Program, model: str) -> Iterator[str]:
    """Yield a sentence for each array of `program` that the models can never judge, with the reason.

    Raises:
        InputError: the models can judge none of the arrays.
    """
    nodes = dataflow(program).nodes
    left = [node for node in nodes if node.refusal]
    if len(left) == len(nodes):
        reasons = "; ".join(dict.fromkeys(node.refusal for node in left))
        raise InputError(
            f"{program.name} has nothing that the model `{model}` can judge: {reasons}; "
            "search without --foretell and --foresee"
        )
    for node in left:
        yield f"what is foretold leaves {node.array} out: {node.refusal}"


def foretold_space(inside: Reachable, program: Program, target: Target, screening: str | None, ants: str | None,
                   calibration: Calibration | None) -> ForetoldSpace:  # fmt: skip
    """Return `inside` with the models `screening` and `ants`. Raises InputError if there is no such model."""
    judges = {name: Judge(program, target, find_model(name, target, calibration)) for name in {screening, ants} if name}
    return ForetoldSpace(inside, judges[screening].foresee if screening else None,
                         judges[ants].foresee if ants else None)  # fmt: skip
