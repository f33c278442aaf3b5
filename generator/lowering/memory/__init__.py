"""Parts of arrays that threads keep outside of global memory.

Read `box.py` (the value: array, box, level, who fills it), `teams.py` (the threads that share a tile: a block, a
sub-group or a thread) and `team_tile.py` (the tile of a team, with margins), `sub_tiles.py` with `tile_rows.py` and
`lane_room.py` (the tile of a warp, partly in registers, and its resources), `cooperative.py` (loops distributed over
threads), `barriers.py` (where threads must wait), `staging.py` (copies) with `prologues.py` (operations on what is
copied), `wavefront_copies.py` (copies of a wavefront's tile), `swizzle.py` (the order of elements in rows),
`computed.py` (stages inside of kernels) with `outer.py` (those of threads around a team), `private.py` (boxes that a
block updates for itself), `lines.py` (lines that threads own), `registers.py` (results of a thread, and how threads
or warps combine them), `partial_sums.py` (how blocks do), `alone.py` (blocks of one thread), `inlined.py` (the length
of the text of inline stages).
"""
