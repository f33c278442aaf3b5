"""Programs of a suite, searched in several ways and measured side by side: `antune suite polybench` and `suite
pipelines`.

A suite is a directory: below it, by device, an *entry* per program with its size. An entry holds a run per way to
search and seed, which is resumed like any run, and at last `entry.json`: what the best plans of all ways take, measured
in turns in one sitting after the other. Nothing else is kept, so that a suite can be killed at any time, begun again,
and added to.

Read `wanted.py` (what is asked for) with `polybench.py` and `pipelines.py` (what differs between the two), `lanes.py`
(the runs of an entry), `measured.py` (the best of each, in turns), `sequential.py` (the original C program),
`entries.py` (what is stored), `placing.py` (how near that is to the device's ceilings), `halide_peer.py` (what
Halide makes of the same pipelines, by `halide_child.py`, a program of its own) with `peer_rounds.py` (measured in turns
with our best plan), `table.py` (the tables) with `paper.py` (what others report), `suite.py` (one after the other).
"""
