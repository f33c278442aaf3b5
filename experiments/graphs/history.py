"""Rebuild the knowledge of a stored run's explorer without measuring anything."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from experiments.search.parts import PARTS, Parts
from experiments.search.profiles import as_told
from experiments.store import Store
from experiments.values.records import Evaluation, Result
from experiments.values.sought import Sought, sought_for
from experiments.words import command
from explorer.base import Explorer, ExplorerFailed
from explorer.unseen import kernels_of, program_of
from generator.errors import InputError
from graph.node import Node
from graph.optimization_graph import OptimizationGraph
from graph.space import Decision, Option
from graph.walk import Walk, choices_from_json, walk_to_json, walks_from_json
from metrics.outcome import Outcome


class Trails(Protocol):
    """Pheromone."""

    def level(self, node: Node) -> NDArray[np.float64]:
        """Return the current pheromone of a node's options."""


@runtime_checkable
class HasGraph(Protocol):
    """An explorer that has a graph of its space."""

    @property
    def graph(self) -> OptimizationGraph:
        """The nodes that the explorer reached."""


@runtime_checkable
class LeavesTrails(Protocol):
    """An explorer with pheromone on the nodes of its graph."""

    @property
    def trails(self) -> Trails:
        """The pheromone."""


@dataclass(frozen=True, slots=True)
class Explored:
    """The graph of a run with the statistics of its walks and its pheromone.

    `trails` is None for explorers without pheromone, or if the pheromone is unknown; `note` then says why.
    """

    graph: OptimizationGraph
    trails: Trails | None
    note: str = ""


class _NoReplay(Exception):
    """The explorer's knowledge cannot be rebuilt; the message says why."""


def explored(store: Store, parts: Parts = PARTS, limit_s: float = math.inf) -> Explored:
    """Rebuild the explorer's knowledge by repeating its asks and tells with the stored outcomes; nothing is measured.

    If that takes longer than `limit_s` seconds or gives other walks (another version made the run), the graph contains
    only the stored walks: no other options, no dead ends and no pheromone.

    Raises:
        InputError: nothing but the default plan was evaluated so far.
    """
    results = searched(store)
    if not results:
        raise InputError(f"{store.directory} has no walk to draw: nothing but the default plan was evaluated so far; "
                         f"`{command('resume', store.directory)}` searches on")
    end_s, reason = time.monotonic() + limit_s, ""
    for ahead in (0, 1) if store.info().options.ahead else (0,):  # the option has no effect on some devices
        try:
            return _replayed(store, results, parts, end_s, ahead)
        except (_NoReplay, ExplorerFailed) as error:
            reason = str(error)
    return Explored(_graph_of_walks(store, results), None, reason)


def searched(store: Store) -> Sequence[Result]:
    """Return the results of the search: all but the default plan, which did not come from a walk."""
    return [result for result in store.results() if result.evaluation.iteration]


def sought_of(store: Store) -> Sought:
    """Return the objective of the run."""
    info = store.info()
    return sought_for(info.options.objective, info.subject)


def _replayed(store: Store, results: Sequence[Result], parts: Parts, end_s: float, ahead: int) -> Explored:
    """Ask and tell as `experiments.search.loop` does, up to the end of the stored history; `ahead` iterations are asked
    before the current one is told. Raises _NoReplay.
    """
    from threadpoolctl import threadpool_limits

    explorer = _new_explorer(store, parts)
    if not isinstance(explorer, HasGraph):
        raise _NoReplay("This explorer keeps no graph of its own: options that no walk took are not shown.")
    outcomes = {result.evaluation.number: result.outcome for result in results}
    default, sought = next((r for r in store.results() if r.evaluation.number == 0), None), sought_of(store)
    sought = sought.scaled(default.evaluation.plan, default.outcome) if default else sought
    profiles, profiled, adopted = store.profiles.all(), store.info().options.profile, store.reused.adopted()
    with threadpool_limits(1):  # as in the run: more threads change rounding
        waiting = deque[tuple[Sequence[Walk], Sequence[Evaluation]]]()
        for iteration in range(1, store.iterations() + 1):
            if time.monotonic() > end_s:
                raise _NoReplay(
                    f"Options that no walk took are not shown; `{command('graph', store.directory)}` takes the "
                    "time to find them, and the pheromone."
                )
            while len(waiting) <= ahead and (asked := store.asked(iteration + len(waiting))) is not None:
                following = iteration + len(waiting)
                batch = store.batch(following)
                waiting.append((_as_stored(batch) if following <= adopted else
                                _asked_again(explorer, asked, batch), batch))
            walks, stored = waiting.popleft()
            told = as_told(stored, outcomes, profiles, profiled)
            for walk, evaluation in zip(walks, stored, strict=True):
                if evaluation.number in told:
                    outcome = sought.told(evaluation.plan, told[evaluation.number])
                    _tell(explorer, walk, outcome, iteration <= adopted)
        if not isinstance(explorer, LeavesTrails):
            return Explored(explorer.graph, None)
        explorer.ask(0)  # the explorer learns from the last outcomes at the start of an iteration
    return Explored(explorer.graph, explorer.trails)


def _as_stored(evaluations: Sequence[Evaluation]) -> Sequence[Walk]:
    """Return the walks that another version asked for, before the run was resumed with `--anyway`."""
    return [Walk(choices_from_json(e.walk), e.plan) for e in evaluations]


def _asked_again(explorer: Explorer, asked: int, stored: Sequence[Evaluation]) -> Sequence[Walk]:
    walks = explorer.ask(asked)
    if [(walk_to_json(walk), walk.plan) for walk in walks] != [(e.walk, e.plan) for e in stored]:
        raise _NoReplay("Another version of antune made this run: its pheromone cannot be rebuilt, and options that "
                        "no walk took are not shown.")
    return walks


def _tell(explorer: Explorer, walk: Walk, outcome: Outcome, adopted: bool) -> None:
    try:
        explorer.tell(walk, outcome)
    except ValueError:
        if not adopted:
            raise  # an adopted walk may not exist in this version's space


def _new_explorer(store: Store, parts: Parts) -> Explorer:
    info = store.info()
    options, target = info.options, info.device.target
    space = parts.make_space(info.subject, target, options)
    return parts.make_explorer(options.explorer, space, options.seed, parts.starts(info.subject, target, options))


def _graph_of_walks(store: Store, results: Sequence[Result]) -> OptimizationGraph:
    """Return a graph that contains only the options that a walk chose."""
    texts = store.walks()
    choices_of = walks_from_json(texts[result.evaluation.number] for result in results)
    walks = [Walk(choices, result.evaluation.plan) for choices, result in zip(choices_of, results, strict=True)]
    taken: dict[Decision, dict[Option, None]] = {}
    for walk in walks:
        for choice in walk.choices:
            taken.setdefault(choice.decision, {})[choice.option] = None
    graph = OptimizationGraph()
    for decision, options in taken.items():
        graph.node(decision, tuple(options))
    for walk, result in zip(walks, sought_of(store).judged(results), strict=True):
        graph.record(walk, program_of(result.outcome), kernels_of(result.outcome))
    return graph
