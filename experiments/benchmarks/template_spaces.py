"""Spaces of millions of configurations: the time to start a search in them, and to ask.

The kernels are those of the auto-tuning community's benchmark hub with the most combinations (parameters and
restrictions as published; Willemsen et al., "Efficient construction of large search spaces for auto-tuning", ICPP 2025,
have the same), and a matrix multiplication with the parameters of CLBlast and more values. For comparison: the time of
python-constraint2, the solver of Kernel Tuner, to list all legal configurations, which it does before its first
evaluation (if it is installed; `--solver` runs it, with a time limit).

    python -m experiments.benchmarks.template_spaces [--solver PYTHON] [NAME...]

`--solver` names a Python that has python-constraint2.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from threadpoolctl import threadpool_limits

from explorer.registry import make_explorer
from generator.templates.template import Parameter
from graph.template import TemplateSpace
from metrics.outcome import Timed
from runners.deterministic import NOTHING

EXPLORERS = ("random", "colony", "genetic", "local", "exhaustive")
ASKS, COUNT = 10, 10
SOLVER_S = 300
_SOLVE = """
import json, sys, time
from constraint import Problem
given = json.load(sys.stdin)
start = time.perf_counter()
problem = Problem()
for name, values in given["parameters"].items():
    problem.addVariable(name, values)
for text in given["restrictions"]:
    problem.addConstraint(text)
found = problem.getSolutionsAsListDict() if hasattr(problem, "getSolutionsAsListDict") else problem.getSolutions()
count = len(found[0]) if isinstance(found, tuple) else len(found)
print(json.dumps([time.perf_counter() - start, count]))
"""


@dataclass(frozen=True, slots=True)
class Spec:
    """A space: parameters with their values, and restrictions."""

    parameters: Mapping[str, Sequence[int]]
    restrictions: tuple[str, ...]

    @property
    def combinations(self) -> int:
        """The product of the numbers of values."""
        return prod(len(values) for values in self.parameters.values())


_UP_TO_10, _TWO = range(1, 11), (0, 1)
_TILE = "(block_size_x * tile_size_x + temporal_tiling_factor * 2) * (block_size_y * tile_size_y + " \
        "temporal_tiling_factor * 2) * (2 + sh_power) * 4"
HOTSPOT = Spec(
    {"block_size_x": (1, 2, 4, 8, 16, *range(32, 1025, 32)), "block_size_y": (1, 2, 4, 8, 16, 32),
     "tile_size_x": _UP_TO_10, "tile_size_y": _UP_TO_10, "temporal_tiling_factor": _UP_TO_10,
     "loop_unroll_factor_t": _UP_TO_10, "sh_power": _TWO, "blocks_per_sm": (0, 1, 2, 3, 4)},
    ("block_size_x * block_size_y >= 32", "block_size_x * block_size_y <= 1024",
     "temporal_tiling_factor % loop_unroll_factor_t == 0",
     "block_size_x * tile_size_x > temporal_tiling_factor * 2",
     "block_size_y * tile_size_y > temporal_tiling_factor * 2",
     f"{_TILE} <= 49152", f"blocks_per_sm == 0 or {_TILE} * blocks_per_sm <= 98304"))
EXPDIST = Spec(
    {"block_size_x": (32, 64, 128, 256, 512, 1024), "block_size_y": (1, 2, 4, 8, 16, 32), "tile_size_x": range(1, 9),
     "tile_size_y": range(1, 9), "use_shared_mem": (0, 1, 2), "loop_unroll_factor_x": range(1, 9),
     "loop_unroll_factor_y": range(1, 9), "use_column": _TWO, "n_y_blocks": tuple(2**k for k in range(11))},
    ("block_size_x * block_size_y <= 1024", "use_column == 0 or (block_size_x > 32 and n_y_blocks <= 64)",
     "use_column == 1 or n_y_blocks == 1",
     "loop_unroll_factor_x <= tile_size_x and tile_size_x % loop_unroll_factor_x == 0",
     "loop_unroll_factor_y <= tile_size_y and tile_size_y % loop_unroll_factor_y == 0",
     "use_shared_mem != 2 or loop_unroll_factor_x == tile_size_x"))
GEMM = Spec(
    {"MWG": (16, 32, 48, 64, 96, 128, 160, 192, 256), "NWG": (16, 32, 48, 64, 96, 128, 160, 192, 256),
     "KWG": (16, 32, 64), "MDIMC": (4, 8, 16, 32, 64), "NDIMC": (4, 8, 16, 32, 64), "MDIMA": (4, 8, 16, 32, 64),
     "NDIMB": (4, 8, 16, 32, 64), "KWI": (2, 4, 8), "VWM": (1, 2, 4, 8), "VWN": (1, 2, 4, 8), "STRM": _TWO,
     "STRN": _TWO, "SA": _TWO, "SB": _TWO},
    ("KWG % KWI == 0", "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0", "MWG % (MDIMA * VWM) == 0",
     "NWG % (NDIMB * VWN) == 0", "KWG % (MDIMC * NDIMC / MDIMA) == 0", "KWG % (MDIMC * NDIMC / NDIMB) == 0",
     "MDIMC * NDIMC <= 1024", "(SA * KWG * MWG + SB * KWG * NWG) * 4 <= 49152"))
DIRECT = Spec(  # more than 10^9 combinations, most of them forbidden
    {**GEMM.parameters, "PADA": _TWO, "PADB": _TWO, "CACHE": (0, 1, 2), "PREFETCH": _TWO},
    (*GEMM.restrictions, "SA == 1 or PADA == 0", "SB == 1 or PADB == 0", "PREFETCH == 0 or KWG >= 32"))
SPECS: Mapping[str, Spec] = {"expdist": EXPDIST, "hotspot": HOTSPOT, "gemm": GEMM, "gemm-more": DIRECT}


def started(spec: Spec, explorer: str) -> tuple[float, list[float]]:
    """Return the seconds until the first configurations are drawn, and the processor seconds of each of COUNT later
    draws.

    The explorer gets a time for every configuration.
    """
    begin = time.perf_counter()
    parameters = [Parameter(name, tuple(values)) for name, values in spec.parameters.items()]
    space = TemplateSpace(parameters, spec.restrictions)
    searching = make_explorer(explorer, space, 0)
    asked, spent = searching.ask(COUNT), []
    start_s = time.perf_counter() - begin
    for _ in range(ASKS):
        for walk in asked:
            cost = 1 + int(walk.plan.digest[:4], 16) / 2**16
            searching.tell(walk, Timed(cost, cost, cost, (cost,), cost, (), walk.plan.digest, False, NOTHING))
        begin = time.process_time()
        asked = searching.ask(COUNT)
        spent.append(time.process_time() - begin)
    return start_s, spent


def solved(spec: Spec, python: str) -> str:
    """Return the solver's time for all configurations, and their number."""
    given = {"parameters": {name: list(values) for name, values in spec.parameters.items()},
             "restrictions": spec.restrictions}
    try:
        done = subprocess.run([python, "-c", _SOLVE], input=json.dumps(given), capture_output=True, text=True,
                              timeout=SOLVER_S, check=True)
    except subprocess.TimeoutExpired:
        return f"more than {SOLVER_S} s"
    except subprocess.CalledProcessError as error:
        return f"failed: {error.stderr.strip().splitlines()[-1]}"
    seconds, count = json.loads(done.stdout)
    return f"{seconds:.2f} s, {count:,} configurations"


def main() -> None:
    """Print a line per space and explorer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SPECS))
    parser.add_argument("--solver", metavar="PYTHON")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in SPECS]:
        parser.error(f"no space is called {unknown[0]!r}; there are: {', '.join(SPECS)}")
    threadpool_limits(1)  # as in a search: the matrices of models are small
    started(Spec({"x": range(99), "y": range(99)}, ("x <= y",)), "colony")  # loads the libraries of the colony's models
    for name in given.names or SPECS:
        spec = SPECS[name]
        print(f"{name}: {spec.combinations:,} combinations, {len(spec.restrictions)} restrictions")
        for explorer in EXPLORERS:
            start_s, spent = started(spec, explorer)
            mean_ms, slowest_ms = 1e3 * sum(spent) / ASKS / COUNT, 1e3 * max(spent) / COUNT
            print(f"  {explorer}: starts in {start_s:.3f} s; per configuration {mean_ms:.2f} ms of processor time, in "
                  f"the slowest ask {slowest_ms:.2f} ms")
        if given.solver:
            print(f"  python-constraint2: all in {solved(spec, given.solver)}")


if __name__ == "__main__":
    main()
