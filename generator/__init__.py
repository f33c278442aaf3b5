"""From a program to code: the polyhedral model, the Plan, and the kernels and host program that they determine.

Read in this order: `contract.py` (arrays and results of a program), `program.py` (the program to optimize), `plan.py`
(every decision, as a value) with `schedules/` (a file per kind of schedule) and `decisions/` (a file per decision about
a kernel), `variant.py` (the output), then the rooms: `frontend_c/` (C to Program), `capture/` (real inputs and
reference), `frontend_py/` (image pipelines to Program), `sequential/` (Programs as sequential C: expected results, and
how far rounding decides them), `templates/` (kernels with parameters, and their variants), `polyhedral/` (the only room
that uses isl), `lowering/` (Program + Plan to Variant), `emit/` (text). `expr.py`, `linear.py`, `nest.py` and
`lowered_kernel.py` define the expressions, loops and kernels that the rooms exchange; `sharing.py` names common
subexpressions. `facts.py` describes kernels for a static performance model, `operations.py` counts the operations of an
assignment, `dataflow.py` describes the dataflow between arrays for cost models, `storage_orders.py` says in which order
arrays should be stored. `rounding.py`, `distances.py` and `chains.py` say how far rounding may change results,
`precision.py` bounds that of products on tensor cores. `scratch.py` makes temporary folders, `garbage.py` tunes the
garbage collection of processes. `reading.py` reads files, `explain.py` prints every step, `pipeline_graph.py` lists the
stages of each kernel.

This room imports no other top-level folder: you can write a Plan by hand and get code without a search.
"""
