"""The pipeline front end: Halide's language in Python; what it defines becomes a Program like any C file.

Users write `from antune import halide as hl`. Read in this order: `types.py`, `expressions.py`, `nodes.py` and
`trees.py` (types, expressions and their operators; `called.py`: names and numbers that may be called), `functions.py`,
`blend.py`, `bits.py`, `integers.py`, `casts.py`, `random.py`, `said.py` (prints and checks), `domain.py` (RDom),
`images.py`, `buffer.py` and `param.py` (inputs), `func.py` (definitions and what is wrong with them; `declared.py`,
`implicit.py`, `prepared.py`), `pipeline.py`, `generators.py`, `outputs.py`, `reductions.py`, `boundary.py`,
`shorthand.py`, `ignored.py` (schedules have no effect), `where.py` (the user's file and line). Then what becomes of a
pipeline: `collect.py` (its Funcs in order), `sizes.py` and `bounds.py` (which coordinates are needed, with
`intervals.py` and `func_ranges.py` where they depend on data), `operators.py`, `notes.py` and `interpret.py` (what it
computes), `realize.py`, `values.py` (expressions of C that mean the same), `lower.py` (statements and arrays),
`show.py` (text). `load.py` runs the user's file, `sequential.py` prints a Program as C, to be timed.

May import `generator.polyhedral` (boxes and affine accesses) and the value types of `generator`.
"""
