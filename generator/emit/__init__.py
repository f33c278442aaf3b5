"""Text of device code from lowered kernels (`generator/lowered_kernel.py`), printed once, after all decisions.

Read in this order: `cstyle.py` (expressions in C syntax), `words.py` (the keywords and functions of a dialect),
`dialects.py` (the table of dialects), `kernel.py` (a kernel: signature, indices, shared arrays), `body.py` (loops,
copies, barriers), `short_loops.py` (conditions in place of loops of at most one iteration), `needs.py` (the definitions
that a kernel uses, found in its nodes), `preamble.py` (the text before kernels), `compilers.py` (workarounds for
compilers: `guards.py`, `opaque.py`, `in_order.py`, `even_unrolls.py`, `counted.py`), `merged.py` (loops of several
stages in one), `rolled.py` (loops that must not be unrolled), `pairs.py` (pairs of elements at places chosen by data),
`row_starts.py` (rows of local arrays), `scopes.py` (what is known around innermost loops) with `phases.py` (even and
odd elements in one iteration) and `arms.py` (both values of a choice), `streams.py` (stores past the caches),
`folds.py` (values computed by loops with data-dependent bounds), `contraction.py` (where fused multiply-adds are
forbidden), `borders.py` (loops split where clamps take effect), `atomics.py`, `images.py`, `inlined.py`, `half.py` and
`later.py` (functions that kernels call), `tensor_cores.py` (fragments), `opencl.py`, `cuda.py` and `hip.py` (the words
of each dialect, found by `dialects.py`), `names.py` (reserved names). A new dialect is a new table.
"""
