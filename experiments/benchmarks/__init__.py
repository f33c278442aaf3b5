"""Small programs that measure the project itself: how fast it generates code, how fast the explorers think.

Each is run as `python -m experiments.benchmarks.NAME` and prints a few lines; none of them needs a device.
"""
