"""Lowered kernels in numbers.

Read `facts.py` (`kernel_facts`, the door), `index_values.py` (variables that hold indices, replaced),
`sampling.py` and `counting.py` (executions), `addresses.py` (strides);
`shapes.py` says what a kernel offers to decide, `planned.py` what cost models see of a plan (`time_flow.py`:
of several time steps per launch), `parallelism.py` how many threads have work at the same time.

May import `lowering.core`.
"""
