"""Runs: the one loop, the durable store, resuming, and everything that is made of results.

Read in this order: `options.py`, `stopping.py` and `records.py` (the values), `loop.py` (ask, evaluate, store, tell),
`store/` (what survives) with `checkpoints.py` (a shortcut for long runs), `starts.py` (what a search tries first),
`run.py` (a run from end to end, and resume) with `reuse.py` (known results of other runs), `changes.py` and `versions.py`
(what changed since), `finals.py` (the best are measured again), `summary.py` (the files scripts rely on) with `result_table.py` (the same for people), `report/` and
`plots.py` (the page for people, pictures as files), `graph_history.py`, `graph_collapse.py` and `graph_figure.py` (the
picture of what a search learned), `layers.py` and `pipeline_picture.py` (that of which stages of a pipeline share kernels). `parts.py`
and `starts.py` are the only places that name the other rooms' makers. `comparison/` compares runs, `side_by_side/` searches a suite of
programs in several ways, `recorded/` compares explorers on what was measured before, `retimed/` a machine's timing with
itself; `ceilings/` says how fast a device can be at most, `profiles.py` what profilers count; `exports/` writes what a
run found for others.

May import `explorer`, `runners`, `graph`, `metrics` and `generator`; only `antune` imports it. Heavy libraries are
imported inside functions: the commands that only read a store stay quick.
"""
