"""The only room that knows isl: sets, dependences, the scheduler, schedule trees, legality, AST.

Read in this order: `affine.py`, `wrapping.py`, `original.py`, `regions.py` and `sequence.py` (used by the front
ends), `parsed.py` (a program's texts as isl objects), `flow.py` and `model.py` (dependences), `live_ranges.py` and
`expansion.py` (copies per iteration of scalars and small arrays that serialise loops), `reductions.py` (updates that may change
places, and what then still has an order), `limited.py` (calls that may not end) and `scheduling.py` (isl's scheduler with the Plan's options), `tree.py`
(schedule trees as values), `partition.py` (groups of statements that share loops), `cones.py`, `candidates.py`,
`hyperplanes.py` and `explicit.py` (rows of a schedule matrix), `kernels.py` (where kernels start), `stages.py`
(arrays that can be computed where they are read; `untimely.py`: what reads them under a condition), `sections.py`
(programs scheduled stage by stage), `time_steps.py` (loops over time, and what a tile needs to run several steps;
`time_relations.py`: as relations), `overlap.py` (the exact check of tiles that compute what others do, too),
`footprint.py` (arrays worth a shared copy), `tile_boxes.py`, `private.py` (what
a block may update in a copy of its own) and `boxes.py` (what a block computes of a stage; `rough_boxes.py`: quickly),
`stage_facts.py` (stages as a search sees them), `thread_values.py` (arrays that are variables of a thread), `accumulate.py`, `placement.py` and `padding.py` (elements that a
thread keeps in registers), `mapping.py` (blocks, threads, tiles), `legality.py` and `staged.py` (the exact checks),
`violation.py` (a broken dependence in words), `ast.py` (loops and expressions out of isl), `coverage.py` (the exact
check of those loops), `points.py` and `demand.py` (how much a program computes and moves, for the roofline model).

isl objects never leave through a public value: Programs, Plans and Variants hold text and our own nodes.
"""
