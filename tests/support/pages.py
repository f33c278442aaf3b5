"""Runs of any size for tests of the report, made through the store without measurements; and single results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.store import Store, create_store, reserve
from experiments.values.records import Evaluation, Result
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from graph.space import Decision, Option
from graph.walk import Choice, Walk, choices_from_json, walk_to_json
from metrics.outcome import CompileFailed, Durations, KernelTime, Outcome, Timed, TimedOut
from tests.support.runs import DEFAULT, REFERENCE, toy_info

TILES, BLOCKS, UNROLLS = (16, 32, 64, 128, 256, 512), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
ANTS = 10


def made_run(directory: Path, evaluations: int, valid: bool = True) -> Store:
    """Return a finished run with plausible outcomes; without `valid` every one fails."""
    rng = np.random.default_rng(7)
    store = create_store(reserve(directory, "abc"), toy_info(), REFERENCE, "1.0")
    store._db.execute("PRAGMA synchronous = OFF")  # durability is not needed
    store.add_batch(0, 1, [Evaluation(0, 0, 0, DEFAULT, walk_to_json(Walk((), DEFAULT)))])
    store.add_result(0, outcome(rng, DEFAULT, 60.0, valid), 0.1)
    for iteration, first in enumerate(range(1, evaluations + 1, ANTS), 1):
        numbers = range(first, min(first + ANTS, evaluations + 1))
        walks = [walk(rng) for _ in numbers]
        batch = [Evaluation(number, iteration, ant, one.plan, walk_to_json(one))
                 for ant, (number, one) in enumerate(zip(numbers, walks, strict=True))]
        store.add_batch(iteration, len(batch), batch)
        for evaluation in batch:
            store.add_result(evaluation.number, outcome(rng, evaluation.plan, 60 / evaluation.number**0.3, valid),
                             0.2 * evaluation.number)
    store.end_session("finished")
    return store


def walk(rng: np.random.Generator) -> Walk:
    """Return a random walk of seventeen decisions, three of which make its plan."""
    tile, block, unroll = (int(rng.choice(options)) for options in (TILES, BLOCKS, UNROLLS))
    others = [Choice(Decision(f"{name} {number}", ("S0",)), int(rng.integers(count)))
              for name, number, count in [("order", n, n + 2) for n in range(7)] + [("memory", n, 3) for n in range(7)]]
    chosen = [
        Choice(Decision(name, ("S0",)), option)
        for name, option in (("tile", tile), ("block", block), ("unroll", unroll))
    ]
    return Walk((*chosen, *others), Plan(ScheduleChoice(), (KernelPlan(("S0",), (tile,), (block,), unroll=unroll),)))


def outcome(rng: np.random.Generator, plan: Plan, base_ms: float, valid: bool) -> Outcome:
    """Return a mostly timed outcome; every tenth fails in one of two ways."""
    spent, kind = Durations(0.01, 0.1, 0.02, 0.05), float(rng.random())
    if not valid or kind < 0.07:
        return CompileFailed(f"out of registers: {int(rng.integers(10_000))} needed <b>&", spent)
    if kind < 0.1:
        return TimedOut("compile", 5.0, spent)
    kernel = plan.kernels[0]
    ms = (base_ms + 8 * abs(np.log2(kernel.tile[0] / 128)) + 16 / kernel.block[0]) * float(rng.lognormal(0, 0.4)) / 10
    metrics = (("occupancy", 0.5), ("load_efficiency", float(rng.random())))
    return Timed(
        ms, 0.98 * ms, 1.03 * ms, (ms,) * 5, ms + 0.1, (KernelTime(("S0",), ms, metrics),), plan.digest, False, spent
    )


def timed(ms: float, spread: float = 0.1) -> Timed:
    return Timed(ms, ms * (1 - spread), ms * (1 + spread), (ms,), ms, (), "", False, Durations())


def result(number: int, outcome: Outcome, elapsed_s: float = 0.0, **choices: Option) -> Result:
    walk = Walk(tuple(Choice(Decision(name, ("S0",)), option) for name, option in choices.items()), DEFAULT)
    return Result(Evaluation(number, 1, number, DEFAULT, walk_to_json(walk)), outcome, "", elapsed_s)


def walks(results: list[Result]) -> list[tuple[Choice, ...]]:
    """Return the choices of results of `result`."""
    asked = [one.evaluation for one in results]
    return [choices_from_json(one.walk) for one in asked if isinstance(one, Evaluation)]
