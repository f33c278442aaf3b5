"""antune finds fast OpenCL and CUDA code for a program by search. This package is the door: public names and the CLI.

From Python: `result = antune.tune("file.c", evaluations=50)` (`api.py`, `sources.py`, `result.py`, docs/python.md).
Names load their rooms when first used, so `import antune` costs nothing.

Read `cli.py` (which commands there are), then one `command_*.py` per group of commands; `options.py` is where the
words of a command line become typed values, `help.py` shows them in groups, `progress.py`, `reporters.py` and
`tables.py` are what the user sees. `template.py` has the words for kernel templates, `kernel_tuner/` the function that
Kernel Tuner's users know. `loading.py` makes a function of a run, `jitted.py` one of a pipeline. `folders.py` keeps a
user's files of the same names out of the way, `early.py` ends a command that is interrupted before it begins. May
import every other top-level folder, nothing imports it.
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
