"""The plans that the suite `timing` measures: those of a run, or some of a program's space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.search.parts import Parts
from experiments.search.places import limits_of, place_of
from experiments.search.trust import check_cluster, checked_problem
from experiments.store import read_store
from experiments.values.options import RunOptions
from generator.errors import InputError
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from runners.base import Limits
from runners.many import Place

FEWEST = 3


@dataclass(frozen=True, slots=True)
class Material:
    """The problem and the device; `stored` are the plans of a run, empty if they must be generated."""

    problem: Problem
    options: RunOptions
    place: Place
    stored: tuple[Plan, ...]

    @property
    def limits(self) -> Limits:
        """The limits on time and memory per plan."""
        return limits_of(self.options)


def material_of_run(directory: Path, count: int, options: RunOptions, trust: bool = False) -> Material:
    """Return the first `count` different valid plans of a run, on its device unless `options` name one.

    `options` also determine how they are timed.

    Raises:
        InputError: there is no run, or it has too few valid plans.
    """
    with read_store(directory) as store:
        info, results = store.info(), store.results()
        check_cluster(directory, info, options.place, trust)
        problem = checked_problem(store, info, trust)
    valid = {r.evaluation.plan.digest: r.evaluation.plan for r in results if hasattr(r.outcome, "median_ms")}
    if len(valid) < FEWEST:
        raise InputError(f"{directory} has {len(valid)} valid plans; {FEWEST} are the fewest to compare")
    timed = replace(info.options, timing=options.timing, seed=options.seed)
    place = place_of(info, options.place)
    return Material(problem, timed, place, tuple(valid.values())[:count])


def material_of_file(options: RunOptions, parts: Parts) -> Material:
    """Return the program of a C file. Raises InputError if it cannot be tuned."""
    return Material(parts.read_problem(options, print), options, options.place, ())


def generated_plans(program: Program, target: Target, options: RunOptions, count: int, parts: Parts) -> Sequence[Plan]:
    """Return the default plan, the start plans of a search, and random plans of the space, without duplicates."""
    space, starts = parts.make_space(program, target, options), parts.starts(program, target, options)
    found = {plan.digest: plan for plan in [parts.default_plan(program, target, options)]}
    opening = parts.make_explorer("colony", space, options.seed, starts).ask(max(1, min(len(starts), count - 1)))
    others = parts.make_explorer("random", space, options.seed, ()).ask(count)
    for walk in [*opening, *others]:
        found.setdefault(walk.plan.digest, walk.plan)
    return list(found.values())[:count]
