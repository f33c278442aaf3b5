"""Text of device code from lowered kernels (`generator/lowered_kernel.py`): printed once, when all is decided.

Read in this order: `cstyle.py` (expressions in C syntax), `words.py` (what a dialect has to say), `dialects.py` (its
words), `kernel.py` (a kernel: signature, indices, shared arrays), `body.py` (loops, copies, barriers), `needs.py` (what
a kernel mentions, found in its nodes), `preamble.py` (what stands before kernels), `compilers.py` (what some compilers
get wrong: `guards.py`, `opaque.py`, `in_order.py`, `even_unrolls.py`), `rolled.py` (loops that stay loops), `folds.py`
(values that loops with bounds in the data compute), `contraction.py` (when multiplications and additions stay apart),
`borders.py` (loops that are cut where clamps begin to matter), `atomics.py`, `images.py`, `inlined.py`, `half.py` and
`later.py` (functions that kernels call), `tensor_cores.py` (fragments), `opencl.py`, `cuda.py` and `hip.py` (the words
of each, found by `dialects.py`), `names.py` (names that are taken). A new dialect is a new table.
"""
