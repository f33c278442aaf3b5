"""Constants of cost models for a device, from measured plans: `antune suite calibrate`.

Read `runs.py` (measured plans of runs, and runs that are made for that), then `results.py` (the fit, what it is worth
on programs left out, the file).
"""
