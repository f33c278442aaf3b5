"""Runs beside each other: explorers, seeds, devices. Behind `antune compare`.

Read `trials.py` (runs as they are compared), `groups.py` (which may be compared with which), `figures.py` (the table
and the tests), `plot.py` (the curves).
"""
