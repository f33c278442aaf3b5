"""Kernel Tuner's strategies by name, as antune's explorers of the same family (not copies)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from antune.kernel_tuner.checking import shown
from explorer.registry import check_search, searches
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
"""Configurations per iteration; many if nothing is learned."""
MOST_BATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class Strategy:
    """A search: an explorer, and the maximum numbers of configurations and of seconds."""

    explorer: str
    evaluations: float
    seconds: float
    batch: int


def find_strategy(name: str | None, options: Mapping[str, Any] | None) -> Strategy:
    """Return the strategy `name` (None: brute force), or an explorer of antune's or of an installed package.

    Of `options`, max_fevals, time_limit (seconds) and popsize are used.

    Raises:
        InputError: an unknown name, an explorer that cannot be used here, or a limit that is not a number above 0
            (max_fevals and popsize: from 1).
    """
    given, asked = dict(options or {}), name or "brute_force"
    explorer = EXPLORERS.get(asked, asked)
    if explorer not in searches() and ":" not in explorer:
        raise InputError(f"unknown strategy {name!r}; use one of {', '.join(EXPLORERS)}, or an explorer of antune's or "
                         f"of an installed package: {', '.join(searches())}")
    check_search(explorer)
    brute = explorer == "exhaustive"
    seconds = _limit(given, "time_limit", inf)
    evaluations = _limit(given, "max_fevals", inf if brute or seconds < inf else USUAL_EVALUATIONS, 1)
    batch = _limit(given, "popsize", BRUTE_BATCH if brute or explorer == "random" else BATCH, 1, MOST_BATCH)
    return Strategy(explorer, evaluations, seconds, int(batch))


def _limit(options: Mapping[str, Any], name: str, usual: float, least: float = 0, most: float = inf) -> float:
    """Return the option `name`, above 0, from `least` to `most`."""
    value = options.get(name, usual)
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not plain > 0 or not least <= plain <= most:
        words = f"from {least} to {most}" if most < inf else f"from {least}" if least else "above 0"
        raise InputError(f"strategy_options has {name} = {shown(value)}; use a number {words}")
    return plain
