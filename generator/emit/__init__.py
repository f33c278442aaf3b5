"""Text of device code from the kernel IR.

Read in this order: `cstyle.py` (expressions in C syntax), `words.py` (what a dialect has to say), `kernel.py` (kernels,
loops, copies, barriers in any dialect), `folds.py` (values that loops with bounds in the data compute), `contraction.py` (when multiplications and additions stay apart), `borders.py` (loops
that are cut where clamps begin to matter), `atomics.py`, `images.py` and `inlined.py` (functions that kernels call),
`opencl.py` and `cuda.py` (the words of each), `names.py` (names that are taken). A new dialect is a new table.
"""
