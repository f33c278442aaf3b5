"""The C front end: a C file with `#pragma scop` becomes a Program.

Read in this order: `source.py` (the values), `preprocess.py` (the system compiler's preprocessor, system text
dropped), `parse.py` (syntax: the SCoP, its variables and their declarations), `scopes.py` (no name means two things),
`liveness.py` (variables that nothing reads afterwards), `ctypes.py` (element types), `constants.py` and
`expressions.py` (C expressions to ours), `loops.py` (loop headers), `conditions.py` (conditions that depend on data),
`accesses.py` (which elements a statement may touch), `extract.py` (sets, statements and the original schedule, once
parameters and extents are known from a capture). `standalone.py` makes a C function of a SCoP whose text was stored.

May import `generator.polyhedral` (affine sets) and the value types of `generator`.
"""
