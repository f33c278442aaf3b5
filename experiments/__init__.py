"""Runs: the one loop, the durable store, resuming, and everything that is made of results.

Read in this order: `values/` (what a run is), `wisdom/` (the best known plans), `store/` (what survives), `search/`
(one search from its first plan to its files), `run.py` (the door: a run from end to end, and the same again on
resume) with `goals.py`; then what is made of results: `pictures/` (the kit), `graphs/` (what a search learned),
`ceilings/` (how fast a device can be at most), `report/` (the page for people, and plots as files), `exports/` (code
and results for others), `studies/` (many runs beside each other), with the programs in `suites/` and what was
measured in `recordings/`. `benchmarks/` measures the project itself. `words.py` says plans and numbers for people,
`files.py` writes files whole.

May import `explorer`, `runners`, `graph`, `metrics` and `generator`; only `antune` imports it. Heavy libraries are
imported inside functions: the commands that only read a store stay quick.
"""
