"""First contact with a machine that has a GPU and no network: tests and measurements, in steps of a few minutes.

Read `steps.py` (the steps: a pure function), `visit.py` (their order, their time, resuming), `told.py` (a JSON and a
Markdown file for each), then the programs in separate processes: `plans.py` (random plans, checked) and `peers.py`
(other programs). `pack.py` collects the files to carry to the machine, with `begin.sh`, which unpacks them
there and begins.

Steps are commands of antune, each in a separate process: one that crashes or hangs only costs its own time.
"""
