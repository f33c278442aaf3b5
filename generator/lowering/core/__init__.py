"""One kernel after the other, then the program around them.

Read `assemble.py` (`lower`), `kernel.py` (map, check, generate), `fill.py` (statements into loops), `keep.py` (what
stays in registers) with `points.py` (their subscripts become constants) and `vectors.py` (loops over neighbours),
`ahead.py` (copies a tile ahead) and `later.py` (those that go on by themselves), `wide.py` with `neighbours.py` (vector
accesses), `time_tiles.py` with `time_parts.py` (several time steps per kernel), `diagonals.py` (blocks that run one
tile of a wavefront), tiles of warps that are partly in registers: `lane_moves.py` (what lanes hold and get),
`held_stages.py` and `split_tiles.py` (of stages), `versions.py` and `split_steps.py` (of several time steps);
`tensor_cores.py` (sums of products), `host.py` (launches and host loops), `grids.py` (more blocks than a device
counts), `placement.py` (textures and constant memory).

May import `lowering.memory`.
"""
