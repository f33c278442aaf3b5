"""What a run is, as values: what the user asked for, where it was made, what came of each evaluation, and all of it as
JSON.

Read `options.py` and `stopping.py` (what was asked), `environment.py` and `versions.py` (the machine and the software),
`records.py` (the run and its results), `outcome_rows.py` and `program_json.py` (how the store keeps them).

May import the values of `generator`, `graph`, `explorer`, `runners` and `metrics`; nothing else of `experiments` but
`words.py`.
"""
