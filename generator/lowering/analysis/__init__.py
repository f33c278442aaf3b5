"""Lowered kernels in numbers.

Read `facts.py` (`kernel_facts`, the entry point), `index_values.py` (replaces variables that hold indices),
`sampling.py` and `counting.py` (executions), `addresses.py` (strides); `shapes.py` (the properties of a kernel that
decisions need) with `block_parts.py`, `block_copies.py`, `staged_copy.py`, `thread_loops.py` and `written.py`,
`planned.py` (a plan for cost models; `time_flow.py`: with several time steps per launch), `parallelism.py` (the number
of threads that have work at the same time), `along_rows.py` (distances between neighbours, from subscripts),
`stage_work.py` (how often elements of stages are computed).

May import `lowering.core`.
"""
