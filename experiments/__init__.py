"""Runs: the one loop, the durable store, resuming, and everything that is made of results.

Read in this order: `options.py` and `records.py` (the values), `loop.py` (ask, evaluate, store, tell), `store.py`
with `schema.sql`, `schema_2.sql`, `finals_table.py` and `store_errors.py` (what survives), `run.py` (a run from end
to end, and resume), `finals.py` (the best are measured again), `summary.py` (the files scripts rely on), `report.py`
(the page for people), `graph_history.py`, `graph_collapse.py` and `graph_figure.py` (the picture of what a search
learned). `parts.py` is the only place that names the other rooms' makers. `recorded/` compares explorers on what was
measured before, `retimed/` a machine's timing with itself; `ceilings/` says how fast a device can be at most, `profiles.py` and
`profiles_table.py` what profilers count; `exports/` writes what a run found for others.

May import `explorer`, `runners`, `graph`, `metrics` and `generator`; only `antune` imports it. Heavy libraries are
imported inside functions: the commands that only read a store stay quick.
"""
