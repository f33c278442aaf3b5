"""The parameters of Halide's prototype."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HalideGaOptions:
    """The parameters of the prototype's published code (halide/Halide, py_bindings/autotune.py), in its GPU mode.

    The thesis (Ragan-Kelley 2014, 6.2) describes the seeds, but gives no parameters of the search.

    Generations: `population` members, of which the share `elitism` are elites. The others come from crossover, mutation
    and random schedules in the proportions `crossover`, `mutated`, `random` in the first generation. Later, mutation
    has the share `calm` of all. If the search stagnates, its share rises to `stuck`: linearly while the ratio of
    the current best cost to that of `horizon` generations ago is from `still[0]` to `still[1]`.

    Parents: a random one of the `top` best in a random share `sample` of the population. A random schedule replaces it
    if there are fewer, and with probability `fresh` in a crossover. Up to `retries` children are made from the same
    parents until one was not asked before, and parents are selected up to `restarts` times.

    Mutation: `mutations` are the modes with their weights. Loop fusion continues below each stage with probability
    `goes_on`. Tiles: `squares` are the sides of square tiles with one thread per point, `vectors` the widths of other
    patterns.

    Schedules: the search begins with `seeds` schedules: all root, then reasonable ones. A random schedule gives up to
    `redrawn` stages lists of up to `length` directives; with probability `reasonable` it is a reasonable one instead.
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
        """The number of members of a generation that stay unchanged."""
        return int(self.elitism * self.population)

    def shares(self, stuck: float | None = None) -> tuple[int, int, int]:
        """Return how many children come from crossover, mutation and random schedules.

        `stuck`: the share of mutation in the whole generation; None: the proportions of the first generation.

        >>> HalideGaOptions().shares(), HalideGaOptions().shares(0.3), HalideGaOptions().shares(0.6)
        ((47, 47, 9), (52, 41, 10), (26, 72, 5))
        """
        rest = self.elitism + self.crossover + self.random
        mutated = self.mutated if stuck is None else stuck * rest / (1 - stuck)
        children, whole = self.population - self.elites, self.crossover + mutated + self.random
        crossed, changed = int(children * self.crossover / whole), int(children * mutated / whole)
        return crossed, changed, children - crossed - changed

    def stagnation(self, bests: tuple[float, ...]) -> float | None:
        """Return the share of mutation in the next generation; None before the first generation that has parents.

        `bests`: the best costs after each generation so far, in ms.
        """
        if len(bests) < 2:
            return None
        if len(bests) <= self.horizon or not 0 < bests[-1 - self.horizon] < float("inf"):
            return self.calm
        low, high = self.still
        place = (bests[-1] / bests[-1 - self.horizon] - low) / (high - low)
        return self.calm + (self.stuck - self.calm) * min(1.0, max(0.0, place))


PUBLISHED = HalideGaOptions()
"""The prototype's parameters."""
