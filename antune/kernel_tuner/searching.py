"""The search of a call: the explorer proposes, the cache or the device answers, and each answer is kept at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from antune.kernel_tuner.caching import Cache
from antune.kernel_tuner.objective import TIMES, Entry, Objective
from antune.kernel_tuner.strategies import Strategy
from experiments.exports.kernel_tuner import entry_of
from explorer.base import Explorer
from explorer.checked import repeats_note
from generator.errors import InputError
from generator.json_fields import RecordingEntry
from generator.plan import Plan
from graph.walk import Walk
from metrics.outcome import Durations, Outcome
from runners.replay.kernel_tuner import ERROR, failure, timed


class Measuring(Protocol):
    """The source of results that the cache lacks."""

    def measure(self, plans: Sequence[Plan]) -> Iterator[tuple[int, Outcome, Mapping[str, Any]]]:
        """Yield position in `plans`, outcome and observers' results, as they arrive."""


class Nothing:
    """Measures nothing: the cache has to contain all results."""

    def measure(self, plans: Sequence[Plan]) -> Iterator[tuple[int, Outcome, Mapping[str, Any]]]:
        """See `Measuring`. Raises InputError if a result is requested."""
        for plan in plans:
            values = ", ".join(f"{name} = {value}" for name, value in plan.parameters)
            raise InputError(f"the cache has no entry for {values}; simulation_mode needs all configurations that a "
                             "search asks for")
        yield from ()


@dataclass(slots=True)
class Search:
    """One search; `strategy_s` is the explorer's time per configuration."""

    names: tuple[str, ...]
    sought: Objective
    strategy: Strategy
    explorer: Explorer
    cache: Cache
    quiet: bool
    begin_s: float
    strategy_s: float = 0.0
    entries: list[Entry] = field(default_factory=list)

    def run(self, bench: Measuring) -> list[Entry]:
        """Evaluate until the strategy's limits are reached or all is known.

        Raises:
            InputError: see `Bench.measure`; the cache cannot be written; an objective is not a number above 0.
        """
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):  # the models' matrices are small, and more threads would disturb measurements
            while walks := self._ask():
                self._evaluate(walks, bench)
        return self.entries

    def _evaluate(self, walks: Sequence[Walk], bench: Measuring) -> None:
        outcomes = self._measured([walk for walk in walks if self._known(walk) is None], bench)
        for walk in walks:
            key, entry = self._key(walk), self._known(walk)
            assert entry is not None
            self._tell(walk, outcomes.get(key) or self._outcome(entry, key), entry)

    def environment(self, device: str) -> dict[str, Any]:
        """Return Kernel Tuner's second result, the environment."""
        best = self.sought.best(self.entries)
        totals = {f"total_{name}": sum(entry.get(name, 0.0) for entry in self.entries) for name in TIMES}
        if best is not None and not self.quiet:
            shown = ", ".join(f"{name}={best[name]}" for name in (*self.names, self.sought.text) if name in best)
            print(f"best of {len(self.entries)}: {shown}")
        return {"device_name": device, **({} if best is None else {"best_config": best}), **totals,
                "total_time": 1e3 * (time.perf_counter() - self.begin_s)}

    def repeats_note(self) -> str | None:
        """Return a note if the explorer asked for configurations again."""
        asked = [tuple(entry[name] for name in self.names) for entry in self.entries]
        return repeats_note(self.strategy.explorer, len(asked) - len(set(asked)), len(asked))

    def _ask(self) -> Sequence[Walk]:
        start = time.perf_counter()
        left = min(self.strategy.batch, self.strategy.evaluations - len(self.entries))
        if left < 1 or start - self.begin_s >= self.strategy.seconds:
            return ()
        walks = self.explorer.ask(int(left))
        self.strategy_s = (time.perf_counter() - start) / max(1, len(walks))
        return walks

    def _measured(self, new: Sequence[Walk], bench: Measuring) -> dict[str, Outcome]:
        """Return outcomes by key; each is in the cache as soon as it is known.

        The time of evaluation besides compiling, verifying and running is only known for all of them together, at the
        end: the file contains these times once it is closed.
        """
        start, found, made = time.perf_counter(), dict[str, Outcome](), list[Entry]()
        for number, outcome, seen in bench.measure([walk.plan for walk in new]):
            key, configuration = self._key(new[number]), self._configuration(new[number])
            found[key] = outcome
            entry = {**entry_of(configuration, outcome, self.strategy_s * 1e3, str(datetime.now(UTC))), **seen}
            try:
                entry = self.sought.measured(entry)
            finally:  # the user's metrics may fail; entries are kept without them
                made.append(self.sought.kept(entry))
                self.cache.add(key, made[-1])
        spent = [one.durations for one in found.values()]
        rest_s = time.perf_counter() - start - sum(one.compile_s + one.check_s + one.time_s for one in spent)
        for entry in made:
            entry["framework_time"] += max(0.0, rest_s) * 1e3 / len(made)
        return found

    def _tell(self, walk: Walk, outcome: Outcome, entry: Entry) -> None:
        entry = self.sought.measured(entry)
        self.entries.append(entry)
        self.explorer.tell(walk, self.sought.told(outcome, entry))
        if not self.quiet:
            values = ", ".join(f"{name}={entry[name]}" for name in self.names)
            shown = [f"{name}={entry[name]:.4g}" for name in self.sought.metrics if isinstance(entry.get(name), float)]
            what = entry.get("message", entry[ERROR]) if ERROR in entry else f"time={entry['time']:.4g}ms"
            print(", ".join([values, next(iter(str(what).splitlines()), ""), *shown]))

    def _configuration(self, walk: Walk) -> dict[str, Any]:
        values: Mapping[str, Any] = dict(walk.plan.parameters)
        return {name: values[name] for name in self.names}

    def _key(self, walk: Walk) -> str:
        return ",".join(str(value) for value in self._configuration(walk).values())

    def _known(self, walk: Walk) -> Entry | None:
        return self.cache.entries.get(self._key(walk))

    def _outcome(self, entry: Entry, key: str) -> Outcome:
        """Return the outcome of an entry of the cache. Raises InputError if it contains none."""
        place = RecordingEntry(self.cache.path or Path("the cache"), key)
        if ERROR in entry:
            named = "time" if entry.get("time") == entry[ERROR] else ERROR
            return failure(str(entry[ERROR]), Durations(), place, named)
        times = place.times(entry.get("times") or [], "times")
        return timed(place.time(entry.get("time"), "time"), times, key, Durations())
