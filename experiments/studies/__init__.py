"""Comparisons of many runs: `comparison/` (of existing runs), `side_by_side/` (a suite of programs, searched in several
ways), `recorded/` (explorers on recorded measurements), `retimed/` (a machine's timing compared with itself).

May import everything of `experiments` but `experiments.benchmarks`.
"""
