"""The only room that knows isl: sets, dependences, the scheduler, schedule trees, legality, AST.

Read in this order: `affine.py`, `wrapping.py` and `original.py` (used by the front end), `flow.py` and `model.py`
(dependences), `live_ranges.py` and `expansion.py` (copies per iteration of scalars and small arrays that serialise
loops), `limited.py` (calls that may not end) and `scheduling.py` (isl's scheduler with the Plan's options), `tree.py`
(schedule trees as values), `kernels.py` (where kernels start), `footprint.py` (arrays worth a shared copy),
`mapping.py` (blocks, threads, tiles), `legality.py` and `staged.py` (the exact checks), `ast.py` (loops and expressions
out of isl), `coverage.py` (the exact check of those loops).

isl objects never leave through a public value: Programs, Plans and Variants hold text and our own nodes.
"""
