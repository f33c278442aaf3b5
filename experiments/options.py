"""What the user asked for: the options of a run, checked once, stored with the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from generator.errors import InputError
from generator.frontend_c.source import Compilation

SpaceName: TypeAlias = Literal["wide", "paper"]
LevelName: TypeAlias = Literal["o1", "o2"]
DEFAULT_ITERATIONS = 5
MOST_ANTS = 100_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used so far: evaluations and iterations asked, active wall seconds.

    The default plan (evaluation 0) is in none of the counts.
    """

    evaluations: int
    iterations: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Budget:
    """When a run ends: at the first limit that is reached (None: no such limit)."""

    evaluations: int | None = None
    iterations: int | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a limit that is not positive, or when there is no limit at all."""
        limits = (("evaluations", self.evaluations), ("iterations", self.iterations), ("minutes", self.minutes))
        for name, value in limits:
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"--{name} is {value}; use a number above 0")
        if all(value is None for _, value in limits):
            raise InputError("the run has no end: give --evaluations, --iterations or --minutes")

    def batch(self, ants: int, spent: Spent) -> int:
        """How many walks the next iteration may ask for: at most `ants`, 0 when the budget is used up."""
        if self.iterations is not None and spent.iterations >= self.iterations:
            return 0
        if self.out_of_time(spent.elapsed_s):
            return 0
        return ants if self.evaluations is None else max(0, min(ants, self.evaluations - spent.evaluations))

    def out_of_time(self, elapsed_s: float) -> bool:
        """True when the minutes are over."""
        return self.minutes is not None and elapsed_s >= 60 * self.minutes

    def total(self, ants: int) -> int | None:
        """The number of evaluations that this budget allows, None when only time limits it."""
        limits = [self.evaluations, None if self.iterations is None else ants * self.iterations]
        return min((limit for limit in limits if limit is not None), default=None)


def make_budget(evaluations: int | None, iterations: int | None, minutes: float | None) -> Budget:
    """The budget of a command line: the default number of iterations applies when nothing is said."""
    if evaluations is None and iterations is None and minutes is None:
        return Budget(iterations=DEFAULT_ITERATIONS)
    return Budget(evaluations, iterations, minutes)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything that a run is a function of, beside the device and the machine.

    `file` is absolute. `device` is the user's selector (None: the best one found). `level` says who decides which
    statements share loops (o1: isl's scheduler, o2: the search); `strict_float` keeps the order of floating sums.
    """

    file: str
    compilation: Compilation
    budget: Budget
    function: str | None = None
    scop: int | None = None
    parameters: tuple[tuple[str, int], ...] = ()
    explorer: str = "colony"
    ants: int = 10
    seed: int = 0
    device: str | None = None
    space: SpaceName = "wide"
    level: LevelName = "o1"
    strict_float: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for a number that makes no sense."""
        if not 1 <= self.ants <= MOST_ANTS:
            raise InputError(f"--ants is {self.ants}; use 1 to {MOST_ANTS}")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"--seed is {self.seed}; use 0 to 2^63 - 1")
