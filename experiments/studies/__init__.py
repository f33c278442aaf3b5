"""Many runs beside each other: `comparison/` (of runs that are there), `side_by_side/` (a suite of programs, searched
in several ways), `recorded/` (explorers on what was measured before), `retimed/` (a machine's timing compared with
itself).

May import everything of `experiments` but `experiments.benchmarks`.
"""
