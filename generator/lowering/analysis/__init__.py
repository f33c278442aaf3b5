"""Lowered kernels in numbers.

Read `facts.py` (`kernel_facts`, the door), `index_values.py` (variables that hold indices, replaced),
`sampling.py` and `counting.py` (executions), `addresses.py` (strides);
`shapes.py` says what a kernel offers to decide, `parallelism.py` how many threads have work at the same time.

May import `lowering.core`.
"""
