"""From a program to code: the polyhedral model, the Plan, and what they determine: kernels and host program.

Read in this order: `contract.py` (which arrays there are, what is computed), `program.py` (what is optimized),
`plan.py` (every decision, as a value) with `schedules/` (a file per kind of schedule) and `decisions/` (a file per
decision about a kernel), `variant.py` (what comes out), then the rooms: `frontend_c/` (C to Program), `capture/` (real
inputs and reference), `frontend_py/` (image pipelines to Program), `templates/` (kernels with parameters, and their
variants), `polyhedral/` (the only room that knows isl), `lowering/` (Program + Plan to Variant), `emit/` (text).
`expr.py`, `linear.py`, `nest.py` and `lowered_kernel.py` are the expressions, loops and kernels that pass between them;
`sharing.py` names what expressions repeat. `facts.py` holds what a static performance model needs to know of kernels,
`operations.py` counts what an assignment computes, `dataflow.py` is what cost models see of arrays that are made from
each other. `precision.py` says what products on tensor cores lose. `scratch.py` makes temporary folders. `reading.py`
is the door for files, `explain.py` shows every step, `pipeline_graph.py` which kernel computes what.

Imports nothing of the other top-level folders: a person can write a Plan by hand and get code without search.
"""
