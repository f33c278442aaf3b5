"""The suite `recorded`: how good the explorers' search is, on measurements that were made before.

Read in this order: `arena.py` (a recording as a space with a runner), `race.py` (one explorer searches one space),
`methodology.py` (the score P), `suite.py` (all explorers, spaces and seeds, on all cores), `workers.py` (the processes
that do its jobs), `results.py` (what comes of it), `peers.py` (Kernel Tuner's strategies on the same recordings),
`plot.py`.
"""
