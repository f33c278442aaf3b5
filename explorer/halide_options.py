"""The numbers of Halide's prototype."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HalideGaOptions:
    """What the published code of the prototype has (halide/Halide, py_bindings/autotune.py), in its GPU mode.

    The thesis (Ragan-Kelley 2014, 6.2) describes the seeds and has no numbers of the search.

    Generations: a `population` has a share `elitism` of elites; the others come from `crossover`, mutation and chance
    (`random`) in these proportions, mutation having `mutated` in the first generation. From the second on it has the
    share `calm` of all, and up to `stuck` when the best of `horizon` generations ago was nearly as good: linearly while
    today's best is `still[0]` to `still[1]` of it.

    Parents: of a random `sample` of the population one of the `top` best, each with the same probability; where there
    are fewer, and with probability `fresh` in a crossover, a random schedule stands for it. A child that was asked
    before is made again up to `retries` times, then of other parents, up to `restarts` times.

    Mutation: `mutations` are the modes and their weights; loop fusion goes on below each stage with probability
    `goes_on`. Tiles: `squares` with a thread per point, `vectors` are the widths of patterns for whole rows.

    Schedules: `seeds` begin the search: all root, and reasonable ones. A random schedule gives up to `redrawn` stages
    lists of up to `length` directives; with probability `reasonable` a reasonable schedule stands for it.
    """

    population: int = 128
    elitism: float = 0.2
    crossover: float = 0.3
    mutated: float = 0.3
    random: float = 0.05
    calm: float = 0.3
    stuck: float = 0.6
    still: tuple[float, float] = (0.8, 0.9)
    horizon: int = 10
    sample: float = 0.5
    top: int = 32
    fresh: float = 0.1
    retries: int = 10
    restarts: int = 3
    mutations: tuple[tuple[str, float], ...] = (
        ("consts", 0.2),
        ("replace", 0.2),
        ("copy", 0.2),
        ("add", 0.2),
        ("remove", 0.2),
        ("edit", 0.2),
        ("chunk", 0.2),
        ("template", 1.0),
        ("fusion", 1.0),
    )
    goes_on: float = 0.85
    squares: tuple[int, ...] = (4, 8, 16, 32)
    vectors: tuple[int, ...] = (2, 4, 8)
    seeds: int = 23
    redrawn: int = 7
    length: int = 4
    reasonable: float = 0.5

    @property
    def elites(self) -> int:
        """How many of a generation go on unchanged."""
        return int(self.elitism * self.population)

    def shares(self, stuck: float | None = None) -> tuple[int, int, int]:
        """How many of a generation come from crossover, mutation and chance, mutation having the share `stuck` of all.

        >>> HalideGaOptions().shares(), HalideGaOptions().shares(0.3), HalideGaOptions().shares(0.6)
        ((47, 47, 9), (52, 41, 10), (26, 72, 5))
        """
        rest = self.elitism + self.crossover + self.random
        mutated = self.mutated if stuck is None else stuck * rest / (1 - stuck)
        children, whole = self.population - self.elites, self.crossover + mutated + self.random
        crossed, changed = int(children * self.crossover / whole), int(children * mutated / whole)
        return crossed, changed, children - crossed - changed

    def stagnation(self, bests: tuple[float, ...]) -> float | None:
        """The share of mutation in the next generation; `bests` are the best costs after each one so far.

        None: before the first generation that has a parent.
        """
        if len(bests) < 2:
            return None
        if len(bests) <= self.horizon or not 0 < bests[-1 - self.horizon] < float("inf"):
            return self.calm
        low, high = self.still
        place = (bests[-1] / bests[-1 - self.horizon] - low) / (high - low)
        return self.calm + (self.stuck - self.calm) * min(1.0, max(0.0, place))


PUBLISHED = HalideGaOptions()
"""Those of the prototype."""
