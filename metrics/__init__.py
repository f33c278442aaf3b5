"""What measurements mean: outcomes of evaluations and the statistics of their samples.

Read `outcome.py` (the closed union of all results), then `statistics.py` (median, its interval,
geometric mean). Everything here is a value or a pure function; nothing reads a device or a clock. This room may import
value types of `generator` only.
"""
