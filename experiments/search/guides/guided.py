"""The space `pipeline` with a guide for beam search."""

from __future__ import annotations

from dataclasses import dataclass, field

from experiments.search.guides.settings import BeamSettings
from experiments.search.guides.stage_guide import StageGuide
from experiments.search.guides.tables import Tables
from explorer.beam_pass import BeamOptions
from generator.lowering.heuristics.orders import dataflow_in_order, in_order
from generator.lowering.heuristics.serial_loops import serial_stages
from generator.plan import Plan
from generator.polyhedral.pipelines.stage_facts import computed_arrays
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from graph.deep import around_launches
from graph.guiding import Guide
from graph.reaching import Answers, Reachable
from graph.space import Chooser
from graph.stage_graph import StageGraph, stage_graph_of
from graph.states import State, start_of
from metrics.costs.calibration import sioutas_of
from metrics.costs.constants import Calibration
from metrics.costs.device import cost_device
from metrics.costs.learned.model import shipped_model
from metrics.costs.scoring import Scorer, SioutasScorer


@dataclass(frozen=True, slots=True)
class GuidedSpace:
    """The stepwise space `inside` with a guide. `beam`: the parameters of searches."""

    inside: Reachable
    guide: Guide | None
    beam: BeamOptions = field(default_factory=BeamOptions)

    def __call__(self, chooser: Chooser) -> Plan:
        """See graph.space.Space."""
        return self.inside(chooser)

    def start(self) -> State:
        """See graph.states.Stepwise."""
        return start_of(self.inside)

    def answers(self, plan: Plan) -> Answers:
        """See graph.reaching.Reachable."""
        return self.inside.answers(plan)

    @property
    def stage_graph(self) -> StageGraph:
        """See graph.stage_graph.Staged."""
        found = stage_graph_of(self.inside)
        assert found is not None, "only programs that consist of stages are guided"
        return found


def guided_space(inside: Reachable, program: Program, target: Target, scorer: Scorer,
                 settings: BeamSettings | None = None) -> GuidedSpace:
    """Return `inside` with a guide that uses the costs of `scorer`."""
    given = settings or BeamSettings()
    return GuidedSpace(inside, stage_guide(program, target, scorer, given), given.options)


def stage_guide(program: Program, target: Target, scorer: Scorer, settings: BeamSettings | None = None) -> StageGuide:
    """Return a guide that uses the costs of `scorer`."""
    given = settings or BeamSettings()
    launches = around_launches(computed_arrays(program), target)
    tables = Tables(dataflow_in_order(program), cost_device(target), scorer, given.memory, launches)
    serial = serial_stages(program, target, in_order(program, Stages())).serial
    orders = dict(in_order(program, Stages()).contiguous)
    return StageGuide(program, tables, many=given.many, serial=frozenset(serial), orders=orders)


def scorer_of(target: Target, calibration: Calibration | None) -> Scorer:
    """Return the model for beam search on a device: the learned one on CPUs without a calibration, else that of Sioutas
    et al.
    """
    return shipped_model() if is_learned(target, calibration) else sioutas_scorer(target, calibration)


def is_learned(target: Target, calibration: Calibration | None) -> bool:
    """Return whether beam search on a device follows the learned model, which knows CPUs, with its own constants."""
    return target.shares_host_cores and calibration is None


def sioutas_scorer(target: Target, calibration: Calibration | None) -> Scorer:
    """Return the model of Sioutas et al. for a device."""
    return SioutasScorer(sioutas_of(calibration, cost_device(target)))
