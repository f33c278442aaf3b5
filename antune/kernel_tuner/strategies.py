"""Kernel Tuner's strategies by name, as explorers of antune's: those of the same family, not copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from explorer.registry import SEARCHES
from generator.errors import InputError

EXPLORERS: Mapping[str, str] = {
    "brute_force": "exhaustive", "random_sample": "random",
    "mls": "local", "greedy_mls": "local", "ordered_greedy_mls": "local", "greedy_ils": "local", "minimize": "local",
    "basinhopping": "local", "dual_annealing": "local", "simulated_annealing": "local",
    "genetic_algorithm": "genetic", "diff_evo": "genetic", "pso": "genetic", "firefly_algorithm": "genetic",
    "bayes_opt": "colony", "skopt": "colony", "hybrid_vndx": "portfolio", "adaptive_tabu_greywolf": "portfolio",
    "HybridVNDX": "portfolio", "AdaptiveTabuGreyWolf": "portfolio"}
USUAL_EVALUATIONS = 100
BATCH, BRUTE_BATCH = 10, 64
"""Configurations per iteration; where nothing is learned, many."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How to search: an explorer, how many configurations, and for how many seconds, at most."""

    explorer: str
    evaluations: float
    seconds: float
    batch: int


def find_strategy(name: str | None, options: Mapping[str, Any] | None) -> Strategy:
    """The strategy called `name` (None: brute force), or an explorer of antune's.

    Of `options` max_fevals, time_limit (seconds) and popsize count.

    Raises:
        InputError: there is none of that name, or a limit that is no number above 0.
    """
    given, asked = dict(options or {}), name or "brute_force"
    explorer = EXPLORERS.get(asked, asked)
    if explorer not in SEARCHES:
        raise InputError(f"unknown strategy {name!r}; use one of {', '.join(EXPLORERS)}, or an explorer of antune's: "
                         f"{', '.join(SEARCHES)}")
    brute = explorer == "exhaustive"
    seconds = _limit(given, "time_limit", inf)
    evaluations = _limit(given, "max_fevals", inf if brute or seconds < inf else USUAL_EVALUATIONS)
    return Strategy(explorer, evaluations, seconds,
                    int(_limit(given, "popsize", BRUTE_BATCH if brute or explorer == "random" else BATCH)))


def _limit(options: Mapping[str, Any], name: str, usual: float) -> float:
    value = options.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InputError(f"strategy_options has {name} = {value!r}; use a number above 0")
    return value
