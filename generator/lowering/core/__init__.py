"""Lower one kernel after the other, then the program around them.

Read `assemble.py` (`lower`), `kernel.py` (map, check, generate) with `staged.py` (what is copied) and `branch_names.py`
(names of loops) with `fitting.py` (decisions that do not go together), `idle.py` (options without effect) and
`same_loops.py` (plans that share loops), `fill.py` (statements into loops), `sums_of_points.py` (points inside the sums
of inline stages), `keep.py` (arrays in registers) with `points.py` (constant subscripts for them) and `vectors.py`
(loops over neighbours), `ahead.py` (copies a tile ahead) and `later.py` (asynchronous ones), `wide.py` with
`neighbours.py` (vector accesses), `carried.py` (recurrences in variables), `operated.py` (vectors of results),
`gpu_loops.py` (both in turn), `streams.py` (stores past the caches), `time_tiles.py` with `time_parts.py` (several time
steps per kernel), `diagonals.py` (blocks that run one tile of a wavefront); tiles of warps that are partly in
registers: `lane_moves.py` (what lanes hold and receive), `held_stages.py` and `split_tiles.py` (of stages),
`versions.py` and `split_steps.py` (of several time steps); `tensor_cores.py` (sums of products) with `tile_rounds.py`
(its loop over tiles) and `factor_copies.py` (what fills them), `host.py` (launches and host loops) with
`merged_launches.py` (independent ones), `grids.py` (the blocks of each launch; more blocks than a device allows per
dimension), `placement.py` (textures and constant memory) with `texture_rows.py` (arrays under two-dimensional
textures).

May import `lowering.memory`.
"""
