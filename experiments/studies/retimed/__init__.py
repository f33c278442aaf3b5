"""The suite `timing`: whether a machine, noisy as it is, names the same winner twice.

The same plans are timed twice by fresh processes, as a run would do it, each time with a final. Then those that were
named winners, and the other finalists, are measured for long, in turns: that is what they are judged by. Read
`plans.py` (which plans), `passes.py` (the measuring), `results.py` (the figures and their words).
"""
