"""What measurements mean: outcomes of evaluations and the statistics of their samples.

Read `outcome.py` (the closed union of all results; a timed one carries the metrics of its kernels), then
`statistics.py` (median, its intervals, geometric mean) and `finals.py` (who is fastest of those timed in turns).
`static_model.py` judges a variant without running it, from `generator.facts`: its definitions of the metrics come
first, then `device_model.py` (limits of devices, occupancy), `transactions.py` (coalescing, bank conflicts) and
`resources.py` (what compilers report). `costs/` has cost models.

Everything here is a value or a pure function; nothing reads a device or a
clock. This room may import value types of `generator` only.
"""
