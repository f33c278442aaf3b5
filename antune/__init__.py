"""antune finds fast OpenCL and CUDA code for a program by search. This package is the door: public names and the CLI.

From Python: `options = antune.RunOptions(...)`, then `antune.tune(options, directory, reporter)`; what it found is
in the directory and in the `Finish` it returns. Names load their rooms when first used, so `import antune` costs
nothing.

Read `cli.py` (which commands there are), then one `command_*.py` per group of commands; `options.py` is where the
words of a command line become typed values, `progress.py` and `tables.py` are what the user sees. May import
every other top-level folder, nothing imports it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from antune.errors import AntuneError, IllegalPlan, InputError, Location

if TYPE_CHECKING:
    from experiments.options import Budget, RunOptions
    from experiments.run import Finish, Reporter, resume, tune
    from experiments.store import read_store
    from experiments.summary import Summary, summarize
    from generator.frontend_c.source import Compilation
    from generator.plan import KernelPlan, Plan, ScheduleChoice, plan_from_json
    from generator.problem import Problem
    from generator.program import Program
    from generator.reading import read_problem

__all__ = ["AntuneError", "Budget", "Compilation", "Finish", "IllegalPlan", "InputError", "KernelPlan", "Location",
           "Plan", "Problem", "Program", "Reporter", "RunOptions", "ScheduleChoice", "Summary", "plan_from_json",
           "read_problem", "read_store", "resume", "summarize", "tune"]

_HOMES = {
    "experiments.options": ("Budget", "RunOptions"),
    "experiments.run": ("Finish", "Reporter", "resume", "tune"),
    "experiments.store": ("read_store",),
    "experiments.summary": ("Summary", "summarize"),
    "generator.frontend_c.source": ("Compilation",),
    "generator.plan": ("KernelPlan", "Plan", "ScheduleChoice", "plan_from_json"),
    "generator.problem": ("Problem",),
    "generator.program": ("Program",),
    "generator.reading": ("read_problem",),
}


def __getattr__(name: str) -> Any:  # the type is that of the name (PEP 562)
    """The public name `name`, imported from its room now. Raises AttributeError for any other."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'antune' has no attribute {name!r}")
