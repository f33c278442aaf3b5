"""The C front end: from the loops of a C file, with or without `#pragma scop` and `#pragma endscop`, to a Program.

Read in this order: `source.py` (the values), `preprocess.py` (the system compiler's preprocessor, system text dropped;
`expansion.py`: runs it), `parse.py` (syntax: the SCoP, its variables and their declarations), `places.py` (locations of
trees), `scopes.py` (makes names unique), `counting.py` (`while` loops that count), `exits.py` (values of iterators
after their loops), `inlining.py` (calls of the file's own functions: statements; `bodies.py`: the returned value as an
expression; `functions.py`; `pointers.py`: array arguments; `temporaries.py`: values used several times; `c_types.py`:
types of expressions; `rewriting.py`: the pass over statements), `fields.py` (structures with members of different types
become arrays), `structures.py` (the others become arrays with one more dimension; `layouts.py`), `complex_numbers.py`
(pairs), `indices.py` (variables that hold an index), `swaps.py` (pointers that are swapped), `elements.py` (pointer
arithmetic becomes subscripts), `liveness.py` and `unshared.py` (variables that are dead after the SCoP), `ctypes.py`
(element types), `constants.py` and `expressions.py` (C expressions to ours), `loops.py` (loop headers), `jumps.py`
(`continue`, `break`), `conditions.py` (data-dependent conditions), `fresh_values.py` (variables that they set),
`folds.py` (loops with data-dependent bounds), `accesses.py` (the elements that a statement may access), `ranges.py`
(their existence), `extract.py` (sets, statements and the original schedule, once parameters and extents are known from
a capture), `needed.py` (without statements that no result needs). `probing.py` checks a SCoP before sizes are known.
`detect.py` finds loops without pragmas; `standalone.py` makes a C function of a SCoP whose text was stored.

May import `generator.polyhedral` (affine sets) and the value types of `generator`.
"""
