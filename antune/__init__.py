"""antune searches for fast OpenCL and CUDA code. This package holds the public names and the command line.

From Python: `result = antune.tune("file.c", evaluations=50)` (`api.py`, `arguments.py`, `sources.py`, `result.py`,
docs/python.md). Names import their rooms on first use, so `import antune` is cheap.

Read `cli.py` (the list of commands), then one `command_*.py` per group of commands. `options.py` and `parsing.py`
convert command line options to typed values, `help.py` groups them in --help, `progress.py`, `reporters.py` and
`tables.py` print for the user. `template.py` describes kernel templates, `kernel_tuner/` has the function for users of
Kernel Tuner. `loading.py` makes a function from a run, `jitted.py` makes one from a pipeline. `folders.py` handles user
files with the names of our packages, `early.py` handles Ctrl-C during imports. This package may import every other
top-level folder; none imports it.
"""

from __future__ import annotations

from antune.early import die_quietly

die_quietly()

from importlib import import_module
from typing import TYPE_CHECKING, Any

from antune.folders import take_own_folders

take_own_folders()

from antune.errors import AntuneError, IllegalPlan, InputError, Location  # these are in a folder

if TYPE_CHECKING:
    from antune.api import resume, tune
    from antune.jitted import jit
    from antune.loading import load
    from antune.result import Best, Result
    from experiments.run import Finish, Reporter
    from experiments.search.summary import Summary, summarize
    from experiments.store import read_store
    from experiments.values.options import Budget, RunOptions
    from generator.frontend_c.source import Compilation
    from generator.plan import KernelPlan, Plan, plan_from_json
    from generator.problem import Problem
    from generator.program import Program
    from generator.reading import read_problem
    from generator.schedules.choice import ScheduleChoice

__all__ = [
    "AntuneError",
    "Best",
    "Budget",
    "Compilation",
    "Finish",
    "IllegalPlan",
    "InputError",
    "KernelPlan",
    "Location",
    "Plan",
    "Problem",
    "Program",
    "Reporter",
    "Result",
    "RunOptions",
    "ScheduleChoice",
    "Summary",
    "jit",
    "load",
    "plan_from_json",
    "read_problem",
    "read_store",
    "resume",
    "summarize",
    "tune",
]

_HOMES = {
    "experiments.values.options": ("Budget", "RunOptions"),
    "antune.api": ("resume", "tune"),
    "antune.result": ("Best", "Result"),
    "antune.jitted": ("jit",),
    "antune.loading": ("load",),
    "experiments.run": ("Finish", "Reporter"),
    "experiments.store": ("read_store",),
    "experiments.search.summary": ("Summary", "summarize"),
    "generator.frontend_c.source": ("Compilation",),
    "generator.plan": ("KernelPlan", "Plan", "plan_from_json"),
    "generator.problem": ("Problem",),
    "generator.program": ("Program",),
    "generator.reading": ("read_problem",),
    "generator.schedules.choice": ("ScheduleChoice",),
}


def __getattr__(name: str) -> Any:  # the type is that of the name (PEP 562)
    """The public name `name`, imported from its room now. Raises AttributeError for any other."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'antune' has no attribute {name!r}")
