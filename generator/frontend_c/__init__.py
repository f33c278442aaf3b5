"""The C front end: the loops of a C file, between `#pragma scop` and `#pragma endscop` or found without, become a
Program.

Read in this order: `source.py` (the values), `preprocess.py` (the system compiler's preprocessor, system text
dropped), `parse.py` (syntax: the SCoP, its variables and their declarations), `places.py` (where trees stand),
`scopes.py` (no name means two things), `counting.py` (`while` loops that count), `exits.py` (what iterators hold after
their loops), `inlining.py` (calls of the file's own functions: statements, `bodies.py`: what a function returns as an
expression, `functions.py`, `pointers.py`: arrays that it is given, `temporaries.py`: values used several times,
`c_types.py`: what C converts them to), `fields.py` (structures with members of different types become arrays),
`structures.py` (the others become arrays with one more dimension; `layouts.py`), `complex_numbers.py` (pairs),
`indices.py` (variables that hold an index), `swaps.py` (pointers that change places), `elements.py` (pointer arithmetic
becomes subscripts), `liveness.py` (variables that nothing reads afterwards), `ctypes.py` (element types),
`constants.py` and `expressions.py` (C expressions to ours), `loops.py` (loop headers), `jumps.py` (`continue`,
`break`), `conditions.py` (conditions that depend on data), `folds.py` (loops whose bounds are data), `accesses.py`
(which elements a statement may touch), `ranges.py` (whether they exist), `extract.py` (sets, statements and the
original schedule, once parameters and extents are known from a capture). `probing.py` asks before sizes are known.
`detect.py` finds loops without pragmas; `standalone.py` makes a C function of a SCoP whose text was stored.

May import `generator.polyhedral` (affine sets) and the value types of `generator`.
"""
