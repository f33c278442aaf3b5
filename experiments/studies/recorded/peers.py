"""Kernel Tuner's own strategies in its simulation mode, on the same recordings.

The following make the comparison fair (leaving one out changes results): - a fresh search space per search, because
Kernel Tuner's has a shared cache of neighbours from which strategies remove entries; - both `random` and `numpy.random`
are seeded, because its `seed` option reaches few of its strategies; - invalid configurations count as evaluations, as
for our explorers; - a search per budget, because some strategies plan with their budget. If a strategy stops early, its
best so far counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.files import write_atomically
from experiments.studies.recorded.arena import Arena
from generator.errors import InputError
from graph.space import Option
from metrics.outcome import CompileFailed, Illegal, Outcome, Timed

PEER = "kernel_tuner:"
"""The prefix of peers' names in tables."""

STRATEGIES = ("random_sample", "genetic_algorithm", "simulated_annealing", "pso", "firefly_algorithm", "diff_evo",
              "greedy_ils", "greedy_mls", "mls", "ordered_greedy_mls", "dual_annealing", "basinhopping", "bayes_opt",
              "hybrid_vndx", "adaptive_tabu_greywolf", "nsga2")
"""The search strategies of Kernel Tuner 1.5; `all` means these."""


class PeerFailed(Exception):
    """A strategy failed on a space; the message says why."""


LARGEST_PRODUCT = 5_000_000
"""The most combinations of values that Kernel Tuner can enumerate within some seconds."""


def check_peers(names: Sequence[str]) -> None:
    """Raise InputError if `names` is not empty and Kernel Tuner is not installed or lacks one of them."""
    if not names:
        return
    if importlib.util.find_spec("kernel_tuner") is None:
        raise InputError("--peers needs Kernel Tuner, which is not installed; `pip install kernel_tuner` (or `pip "
                         'install -e ".[peers]"`) installs it')
    from kernel_tuner.interface import strategy_map

    if unknown := [name for name in names if name not in strategy_map]:
        raise InputError(f"Kernel Tuner has no strategy {unknown[0]!r}; use some of {', '.join(sorted(strategy_map))}, "
                         "or all")


def all_peers() -> tuple[str, ...]:
    """Return the STRATEGIES of the installed version. Without Kernel Tuner return all; `check_peers` then raises."""
    if importlib.util.find_spec("kernel_tuner") is None:
        return STRATEGIES
    from kernel_tuner.interface import strategy_map

    return tuple(name for name in STRATEGIES if name in strategy_map)


def peer_best_ms(arena: Arena, strategy: str, seeds: Sequence[int], budget: int,
                 scratch: Path) -> list[float | None]:
    """Return the best time of a strategy with each seed within `budget` evaluations; None: nothing valid.

    The recording is written to the directory `scratch` in Kernel Tuner's format.

    Raises:
        PeerFailed: the strategy failed, or the space is too large to be built from the recorded configurations.
    """
    cache = scratch / f"{hashlib.sha256(arena.name.encode()).hexdigest()[:16]}.json"
    if not cache.exists():
        write_atomically(cache, json.dumps(_cache(arena)))
    try:
        return [_search(arena, strategy, seed, budget, cache) for seed in seeds]
    except PeerFailed:
        raise
    except Exception as error:  # a failing strategy must not stop the others
        raise PeerFailed(f"Kernel Tuner's {strategy} failed on {arena.name} with budget {budget}: "
                         f"{type(error).__name__}: {error}; it is left out there") from error


def _search(arena: Arena, strategy: str, seed: int, budget: int, cache: Path) -> float | None:
    import random  # noqa: TID251  # Kernel Tuner draws from it

    from kernel_tuner import tune_kernel

    random.seed(seed)
    np.random.seed(seed)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results, _ = tune_kernel("recorded", "", 1, [], _values(arena), restrictions=_restrictions(arena),
                                 strategy=strategy, strategy_options={"max_fevals": budget}, cache=str(cache),
                                 simulation_mode=True, quiet=True)
    times = [result["time"] for result in results if "__error__" not in result]
    return min(times, default=None)


def _cache(arena: Arena) -> Mapping[str, Any]:
    """Return the recording as the contents of a cache file, without the samples."""
    values = _values(arena)
    entries = {}
    for row in arena.recording.rows:
        chosen = {name: option for name, _, option in row.choices}
        spent = row.outcome.durations
        entries[",".join(str(chosen[name]) for name in values)] = {name: chosen[name] for name in values} | {
            "time": _time(row.outcome), "compile_time": 1000 * spent.compile_s, "strategy_time": 0,
            "verification_time": 1000 * spent.check_s, "benchmark_time": 1000 * spent.time_s,
            "framework_time": 1000 * spent.generate_s}
    return {"device_name": arena.recording.device, "kernel_name": "recorded", "tune_params_keys": list(values),
            "tune_params": values, "objective": "time", "cache": entries}


def _time(outcome: Outcome) -> float | str:
    match outcome:
        case Timed():
            return outcome.median_ms
        case CompileFailed():
            return "CompilationFailedConfig"
        case Illegal():
            return "InvalidConfig"
        case _:
            return "RuntimeFailedConfig"


def _values(arena: Arena) -> dict[str, list[Option]]:
    """Return the parameters in the order of the recording, each with its values in order of first appearance."""
    met: dict[str, dict[Option, None]] = {}
    for row in arena.recording.rows:
        for name, _, option in row.choices:
            met.setdefault(name, {})[option] = None
    return {name: list(options) for name, options in met.items()}


def _restrictions(arena: Arena) -> list[Any]:
    """Return the restrictions of the T1 file, or one that allows exactly the recorded configurations."""
    if arena.description is not None:
        return list(arena.description.restrictions)
    from constraint import FunctionConstraint

    product = math.prod(len(options) for options in _values(arena).values())
    if product > LARGEST_PRODUCT:
        raise PeerFailed(
            f"Kernel Tuner would try all {product:.2g} combinations of the values in {arena.name}; it is left "
            "out there, unless --t1 gives its restrictions"
        )
    recorded = frozenset(tuple(option for _, _, option in row.choices) for row in arena.recording.rows)
    return [FunctionConstraint(lambda *values: values in recorded)]
