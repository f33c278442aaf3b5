"""Arrays that are computed where they are read: the stages of a pipeline.

Read `nests.py` (what a program consists of), `stages.py` (which arrays can be, and what must hold), `joint.py` (tuples,
scans, histograms: elements that are computed together), `speculation.py` (which reads are safe on the wrong side of
a condition), `joining.py` (arrays that share a kernel), `sections.py` (a program scheduled stage by stage),
`stage_facts.py` (stages as a search sees them), `dataflow.py` with `arithmetic.py` and
`histogram.py` (as cost models see them).

May import `polyhedral.kit`, `polyhedral.dependences` and `polyhedral.schedules`.
"""
