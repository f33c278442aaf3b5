"""Outcomes of evaluations, statistics of their samples, and a static model of kernels.

Read `outcome.py` (the closed union of all results; a timed one carries the metrics of its kernels), then
`statistics.py` (median, its intervals, geometric mean) and `finals.py` (the fastest of plans that were timed in turns).
`static_model.py` rates a variant without running it, from `generator.facts`. It starts with the definitions of the
metrics; `device_model.py` (limits of devices, occupancy), `transactions.py` (coalescing, bank conflicts) and
`resources.py` (output of compilers) are its parts. `costs/` has cost models.

Everything here is a value or a pure function; nothing reads a device or a clock. This room may import only value types
of `generator`.
"""
