"""A run as values: the user's options, the environment, the results of the evaluations, and all of this as
JSON.

Read `options.py` and `stopping.py` (the options), `objective.py` and `sought.py` (what is sought, and its value for a
plan), `environment.py`, `rooms.py` and `versions.py` (the machine and the software), `records.py` (the run and its
results), `outcome_rows.py` and `program_json.py` (how the store keeps them).

May import the values of `generator`, `graph`, `explorer`, `runners` and `metrics`; nothing else of `experiments` but
`words.py`.
"""
