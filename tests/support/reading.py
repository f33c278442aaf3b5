"""Problems for tests that need no times of the sequential program: a single fast build makes their reference."""

from __future__ import annotations

from functools import partial

from generator.frontend_py import problem as pipelines
from generator.reading import read_problem

read_untimed = partial(read_problem, baselines=False)
problem_of = partial(pipelines.problem_of, baselines=False)
