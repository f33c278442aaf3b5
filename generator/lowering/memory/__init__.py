"""What threads keep of arrays beside global memory.

Read `box.py` (the value: array, box, level, who fills it), `teams.py` (who shares a tile: a block, a sub-group or a
thread) and `team_tile.py` (the tile of a team, with margins), `sub_tiles.py` with `tile_rows.py` and `lane_room.py`
(that of a warp, partly in registers, and what it takes), `cooperative.py` (loops in which threads take turns),
`barriers.py` (where threads must wait), `staging.py` (copies), `computed.py` (stages inside of kernels), `private.py`
(boxes that a block updates for itself), `registers.py` (results of a thread, and how threads combine them), `alone.py`
(blocks of one thread), `inlined.py` (how much text inline stages may become).
"""
