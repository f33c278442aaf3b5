"""Arrays that are computed where they are read: the stages of a pipeline.

Read `nests.py` (the parts of a program), `distribution.py` (loops for each array), `trimming.py` (local arrays as large
as what is written), `stages.py` (the arrays that can be stages, and the conditions), `joint.py` (tuples, scans,
histograms: elements that are computed together), `speculation.py` (reads that are safe although their condition is
false), `joining.py` (arrays that share a kernel), `storage.py` (arrays in other storage orders), `sections.py` (a
program scheduled stage by stage), `whole.py` (stages of whole tiles), `levels.py` (stages for several tiles),
`stage_facts.py` (stages for a search) with `moves.py` (how their reads move), `dataflow.py` with `quasi_affine.py`,
`arithmetic.py` and `histogram.py` (for cost models).

May import `polyhedral.kit`, `polyhedral.dependences` and `polyhedral.schedules`.
"""
