"""Blocks, threads, and the data that they keep outside of global memory.

Read `mapping.py` (blocks, threads, tiles), `diagonals.py` (the threads of a block in one tile of a wavefront) with
`wavefront_boxes.py` (the elements that such a tile accesses), `loops_around.py`, `first_vector.py` (where grids of
vectors begin), `launched_blocks.py` (the blocks of each launch), `extents.py` (how accesses depend on tiles),
`footprint.py` and `tile_boxes.py` (arrays worth a shared copy, and their boxes), `boxes.py` (the elements of a stage
that a block computes; `rough_boxes.py` with `rough_reads.py`: fast estimates), `private.py` (private copies per block),
`lines.py` (lines that a point owns), `accumulate.py`, `placement.py` and `padding.py` (elements in registers),
`contractions.py` (sums of products with rows and columns), `thread_values.py` (arrays that are variables of a thread);
then the exact checks: `copied.py` (copies) and `entries.py` (which tile's copies generated code uses), `overlap.py`
(overlapping tiles), `lanes.py` (values that lanes hold for each other), `coverage.py` (generated loops) with
`loop_values.py`, and `mapped.py` (blocks and threads against the dependences, once per kernel if possible).

May import all rooms of `polyhedral` before it.
"""
