"""The options of a run: checked once, stored with the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from experiments.values.objective import LEAST_TIME, Objective
from experiments.values.stopping import NO_GAINS, Gains, Goal
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.precision import ROUND_OFF, Products
from metrics.costs.constants import Calibration
from runners.base import CacheState
from runners.many import Place

SpaceName: TypeAlias = Literal["wide", "paper", "tiles", "pipeline", "template"]
LevelName: TypeAlias = Literal["o1", "o2", "o3"]
DEFAULT_ITERATIONS = 5
MOST_ANTS = 100_000
ONLY = "only:"
"""Before a model: it screens walks without the search's own forecasts."""
USUAL_MODELS, NO_MODELS = "usual", "none"
"""In place of plan makers: those that pay for the program on the device (`experiments.search.usual_models`); none."""
MOST_REPEATS, MOST_FINALISTS = 10_000, 20
COMPILE_LIMIT_S, RUN_LIMIT_S = 60.0, 30.0


@dataclass(frozen=True, slots=True)
class Spent:
    """The resources used by a run so far: evaluations, iterations and active wall-clock seconds; and the gains.

    The default plan (evaluation 0) is not counted.
    """

    evaluations: int
    iterations: int
    elapsed_s: float
    gains: Gains = NO_GAINS


@dataclass(frozen=True, slots=True)
class Budget:
    """When a run ends: at the first limit that is reached (None: no such limit).

    `stop_at`: a plan is fast enough; `stagnation`: that many evaluations brought no clear improvement (see
    `experiments.values.stopping`). Both end a run between iterations only.
    """

    evaluations: int | None = None
    iterations: int | None = None
    minutes: float | None = None
    stop_at: Goal | None = None
    stagnation: int | None = None

    def __post_init__(self) -> None:
        """Raise InputError if a limit is not a positive number (whole, except for minutes) or if there is no limit."""
        limits = (("evaluations", self.evaluations), ("iterations", self.iterations), ("minutes", self.minutes),
                  ("stagnation", self.stagnation))
        for name, value in limits:
            if value is not None and not isinstance(value, int | float if name == "minutes" else int):
                raise InputError(f"--{name} is {value!r}; use a {'' if name == 'minutes' else 'whole '}number above 0")
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"--{name} is {value}; use a number above 0")
        if all(value is None for _, value in limits):
            raise InputError("the run has no end: give --evaluations, --iterations, --minutes or --stagnation")

    def batch(self, ants: int, spent: Spent) -> int:
        """Return how many walks the next iteration may ask for: at most `ants`, 0 when the budget is used up."""
        if self.reached(spent) is not None:
            return 0
        return ants if self.evaluations is None else min(ants, self.evaluations - spent.evaluations)

    def reached(self, spent: Spent) -> str | None:
        """Return the limit that was reached, in words; None if there is room for another iteration."""
        gains = spent.gains
        if self.stop_at is not None and gains.reaches(self.stop_at):
            return f"{self.stop_at.words} reached by evaluation {gains.surest}"
        if self.stagnation is not None and gains.stagnant >= self.stagnation:
            return f"no clear improvement since evaluation {gains.latest} (--stagnation {self.stagnation})"
        if self.evaluations is not None and spent.evaluations >= self.evaluations:
            return "the budget is used up"
        if self.iterations is not None and spent.iterations >= self.iterations:
            return f"the budget was {self.iterations} iteration{'s' * (self.iterations > 1)}"
        if self.out_of_time(spent.elapsed_s):
            return self.time_is_up
        return None

    @property
    def time_is_up(self) -> str:
        """The reason, in words, for ending a run whose minutes are over."""
        return f"the budget was {self.minutes or 0:g} minute{'s' * (self.minutes != 1)}"

    def out_of_time(self, elapsed_s: float) -> bool:
        """Return True if the minutes are over."""
        return self.minutes is not None and elapsed_s >= 60 * self.minutes

    def total(self, ants: int) -> int | None:
        """Return the number of evaluations that this budget allows; None if neither evaluations nor iterations are
        limited.
        """
        limits = [self.evaluations, None if self.iterations is None else ants * self.iterations]
        return min((limit for limit in limits if limit is not None), default=None)


def make_budget(evaluations: int | None, iterations: int | None, minutes: float | None, stop_at: Goal | None = None,
                stagnation: int | None = None) -> Budget:
    """Return the budget of a command line; the default number of iterations applies if no option surely ends it."""
    if evaluations is None and iterations is None and minutes is None and stagnation is None:
        return Budget(iterations=DEFAULT_ITERATIONS, stop_at=stop_at)
    return Budget(evaluations, iterations, minutes, stop_at, stagnation)


@dataclass(frozen=True, slots=True)
class Timing:
    """The precision of measured times.

    `precision` (percent): a plan is repeated until the 95 % confidence interval of the median is that narrow on either
    side, at most `max_repeats` times. `cache`: whether the device's caches are flushed before each repeat. `finalists`:
    how many plans may be measured again in turns at the end (0: none). `realtime`: whether the processes that
    measure have real-time priority.
    """

    precision: float = 2.0
    max_repeats: int = 200
    cache: CacheState = "warm"
    finalists: int = 5
    realtime: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for a number out of range."""
        if not 0 < self.precision <= 100:
            raise InputError(f"--precision is {self.precision:g}; use a number of percent above 0, up to 100")
        if not 1 <= self.max_repeats <= MOST_REPEATS:
            raise InputError(f"--max-repeats is {self.max_repeats}; use 1 to {MOST_REPEATS}")
        if not 0 <= self.finalists <= MOST_FINALISTS:
            raise InputError(f"--finalists is {self.finalists}; use 0 (none) to {MOST_FINALISTS}")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything that determines a run, except the device and the machine.

    `file` is absolute. `device` is the user's selector (None: the best device found), `more_devices` are further ones;
    `cluster` is where they are if not on this machine (see `runners.many.Place`). `level` determines who decides which
    statements share loops (o1: isl's scheduler, o2: the search) and what these loops are (o3: the search).
    `strict_float` keeps the order of floating-point sums. `compile_limit_s` and `run_limit_s` limit the time per plan,
    `memory_limit_gb` (10^9 bytes) the memory of the process that compiles or runs it (None: a share of the machine's
    memory). `timing`: how times are measured. `profile`: how many plans of an iteration, the fastest, are also run
    under a profiler. `reuse`: runs whose results hold here too (`experiments.search.reuse`). `models`: plan makers
    whose best plans the search starts from (`experiments.search.modelled`), in a request also `USUAL_MODELS`, which a
    new run replaces. `calibration`: constants of their models
    (None: the defaults). `foretell`: the model that screens walks, after `only:` if nothing else does; `foresee`: the
    model that guides the ants (`graph.foretelling`). `from_python`: a Python program built the tuned program and
    started the run; only it can build the program again, and `file` is its file, if it has one. `wisdom`: plans (JSON)
    that the run starts from, the best known for similar sizes or devices (`experiments.search.taken`). `objective`:
    what the search optimises. `products`: the precision that tensor cores may use
    (`experiments.search.lower_precision`). `ahead`: compile the next iteration while a GPU measures.
    `beam`: parameters of beam searches (`experiments.search.guides.settings`).
    """

    file: str
    compilation: Compilation
    budget: Budget
    function: str | None = None
    scop: int | None = None
    parameters: tuple[tuple[str, int | float], ...] = ()
    explorer: str = "colony"
    ants: int = 10
    seed: int = 0
    device: str | None = None
    space: SpaceName = "wide"
    level: LevelName = "o1"
    strict_float: bool = False
    compile_limit_s: float = COMPILE_LIMIT_S
    run_limit_s: float = RUN_LIMIT_S
    memory_limit_gb: float | None = None
    timing: Timing = Timing()
    more_devices: tuple[str, ...] = ()
    cluster: str | None = None
    profile: int = 0
    reuse: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    calibration: Calibration | None = None
    foretell: str | None = None
    foresee: str | None = None
    from_python: bool = False
    wisdom: tuple[str, ...] = ()
    objective: Objective = LEAST_TIME
    products: Products = "full"
    ahead: bool = False
    beam: str = ""

    def __post_init__(self) -> None:
        """Raise InputError for a number out of range."""
        if not 1 <= self.ants <= MOST_ANTS:
            raise InputError(f"--ants is {self.ants}; use 1 to {MOST_ANTS}")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"--seed is {self.seed}; use 0 to 2^63 - 1")
        if self.profile < 0:
            raise InputError(f"--profile is {self.profile}; use 0 (none) or more")
        for name, unit, value in (("compile", "seconds", self.compile_limit_s), ("run", "seconds", self.run_limit_s),
                                  ("memory", "gigabytes", self.memory_limit_gb)):
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"--{name}-limit is {value:g}; use a number of {unit} above 0")
        if self.products not in get_args(Products):
            raise InputError(f"--precision-of-products is {self.products!r:.40}; use {' or '.join(ROUND_OFF)}")

    @property
    def screening(self) -> str | None:
        """The model of `foretell`."""
        return self.foretell and self.foretell.removeprefix(ONLY)

    @property
    def guided(self) -> bool:
        """Whether a cost model guides its explorer, a beam search for pipelines."""
        return self.explorer == "beam" and self.space == "pipeline"

    @property
    def place(self) -> Place:
        """The devices and the cluster on which the run measures."""
        return Place(() if self.device is None else (self.device, *self.more_devices), self.cluster)
