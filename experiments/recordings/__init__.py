"""Recorded spaces of our own: walks of real runs with outcomes, per-kernel times and metrics (see README.md there).

`python -m experiments.benchmarks.record_walks` makes them.
"""
