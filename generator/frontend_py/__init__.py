"""The pipeline front end: Halide's language in Python; its pipelines become Programs, like C files.

Users write `from antune import halide as hl`. Read in this order: `types.py`, `expressions.py`, `nodes.py` and
`trees.py` (types, expressions and their operators; `no_number.py`: they are none; `called.py`: names and numbers that
may be called), `functions.py`, `blend.py`, `bits.py`, `integers.py`, `wide_integers.py`, `casts.py`, `random.py`,
`said.py` (prints and checks), `domain.py` (RDom), `images.py`, `buffer.py` and `param.py` (inputs), `func.py` (Funcs;
`definition.py`, `declared.py`, `implicit.py`, `prepared.py`: their definitions and checks; `promises.py`,
`func_facts.py`), `pipeline.py`, `generators.py` with `generator_parts.py` and `generator_decorators.py`, `outputs.py`,
`reductions.py`, `boundary.py`, `shorthand.py`, `ignored.py` (schedules have no effect), `where.py` (the user's file and
line). Then the processing of a pipeline: `collect.py` (its Funcs in order), `sizes.py` and `bounds.py` (the needed
coordinates, with `intervals.py` and `func_ranges.py` for data-dependent ones), `operators.py`, `notes.py` and
`interpret.py` (its results; `fronts.py`: points of scans that numpy computes at once), `realize.py`, `values.py`
(equivalent C expressions), `lower.py` (statements and arrays; `carried.py`: operands of minima in scans), `show.py`
(text). `load.py` runs the user's file, `named_sizes.py` says what its sizes are, `problem.py` adds data and expected
results.

May import `generator.polyhedral` (boxes and affine accesses), `generator.sequential` (expected results) and the value
types of `generator`.
"""
