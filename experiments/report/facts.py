"""The data of a report: everything in the store, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiments.ceilings.files import kept_ceilings
from experiments.report.permutation import Importances, importances
from experiments.search.finals import ranking, settled
from experiments.search.summary import Summary, best_result, summarize
from experiments.store import Store
from experiments.store.profiles_table import Counted
from experiments.values.environment import Environment
from experiments.values.records import Result, RunInfo
from experiments.values.sought import Sought, sought_for
from graph.walk import Choice, walks_from_json
from metrics.outcome import KernelTime, Timed
from metrics.roofline import Ceilings


@dataclass(frozen=True)
class Facts:
    """The current state of a run. `walks` are the choices of each result; `default` and `best` are None if they are
    unknown.

    `final` has the times of the plans that were measured again at the end, by evaluation. `ceilings` are those of the
    device, if they were measured on this machine. `sought`: the objective by which plans are judged.
    """

    info: RunInfo
    results: tuple[Result, ...]
    summary: Summary
    environment: Environment
    walks: tuple[tuple[Choice, ...], ...]
    default: Result | None
    best: Result | None
    counted: Mapping[int, Counted]
    ceilings: Ceilings | None
    directory: Path
    final: Mapping[int, Timed]
    sought: Sought

    @cached_property
    def judged(self) -> tuple[Result, ...]:
        """The results with costs in place of times, if the objective is not the time."""
        return self.sought.judged(self.results)

    @cached_property
    def importances(self) -> Importances | str:
        """The importances of all decisions, or why there are none. Forests take seconds: page and pictures share them.
        """
        return importances(self.judged, self.walks)

    @property
    def judged_best(self) -> Result | None:
        """The best plan among these."""
        return next((judged for judged, r in zip(self.judged, self.results, strict=True) if r is self.best), None)

    @property
    def heading(self) -> str:
        """`kernel_gemm on NVIDIA H200`."""
        return f"{self.summary.name} on {self.summary.device}"


def gather(store: Store) -> Facts:
    """Read what a report needs. Raises InputError for a damaged store."""
    info, results, summary, final = store.info(), store.results(), summarize(store), store.finals.latest()
    sought = sought_for(info.options.objective, info.subject)
    return Facts(info, results, summary, store.environment(),
                 tuple(walks_from_json(store.walks().values())),
                 next((result for result in results if result.evaluation.number == 0), None),
                 best_result(results, summary), store.profiles.all(), kept_ceilings(info.device), store.directory,
                 settled(results, final, ranking(results, final, sought)), sought)


def kernels_of(facts: Facts, result: Result | None) -> tuple[KernelTime, ...]:
    """The timed kernels of a result, as measured in the final if it took part; none for a failure."""
    if result is None or not isinstance(result.outcome, Timed):
        return ()
    return facts.final.get(result.evaluation.number, result.outcome).kernels
