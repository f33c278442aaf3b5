"""Schedules: from isl, from partitions or from matrices, cut into kernels, and checked exactly.

Read `scheduling.py` (isl's scheduler), `partition.py` (groups of statements that share loops), `cones.py`,
`candidates.py`, `hyperplanes.py` and `schedule_matrix.py` (rows of a schedule matrix: the legal ones, and their tree),
`kernels.py` (where kernels start), `legality.py` (the exact check).

May import `polyhedral.kit` and `polyhedral.dependences`.
"""
