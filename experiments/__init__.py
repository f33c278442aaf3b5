"""Runs: the search loop, the durable store, resuming, and everything derived from results.

Read in this order: `values/` (the values of a run), `wisdom/` (the best known plans), `store/` (durable results),
`search/` (one search from its first plan to its files), `run.py` (the entry point: a run from end to end, and again on
resume) with `goals.py`; then the uses of results: `pictures/` (the plotting kit), `graphs/` (the optimization graph as
a picture), `ceilings/` (the peak rates of a device), `report/` (the report page, and plots as files), `exports/` (code
and results for others), `studies/` (comparisons of many runs), with the programs in `suites/` and recorded measurements
in `recordings/`. `benchmarks/` measures antune itself. `words.py` describes plans and numbers in words, `files.py`
makes folders and writes files atomically, `script.py` runs a file as a command.

This room may import `explorer`, `runners`, `graph`, `metrics` and `generator`; only `antune` imports it. Heavy
libraries are imported inside functions, so that commands that only read a store stay fast.
"""
