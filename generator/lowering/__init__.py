"""From Program + Plan + Target to a Variant.

Read in this order: `assemble.py` (`lower`, the door), `kernel.py` (one kernel: map, check, generate), `teams.py` (who shares
a tile: a block, a sub-group or a thread), `fill.py` (statements into its loops), `keep.py` and `registers.py` (results in registers, and
how threads combine them; `points.py`: their subscripts become constants; `vectors.py`: loops over neighbours), `box.py` (what threads
keep of an array beside global memory; `cooperative.py`: the loops in which they take turns), `private.py` (boxes that each block updates
for itself), `staging.py` (copies), `computed.py` (stages inside of kernels), `time_tiles.py` and `team_tile.py` (several time steps per
kernel), `barriers.py` (the rules of barriers), `host.py` (launches and host loops), `placement.py` (textures and constant memory),
`naming.py` (readable loop names), `shapes.py` (what a kernel offers to decide), `default.py` and `starts.py` (PPCG's plan and others worth
measuring first; `usual.py`: which is the default plan; `neighbours.py`: which dimension is x).
`facts.py` describes lowered kernels by numbers: executions (`sampling.py`, `counting.py`), strides (`addresses.py`),
operations (`generator.operations`).

May import `generator.polyhedral`, `generator.emit` and the value types of `generator`.
"""

from __future__ import annotations

from generator.lowering.assemble import lower

__all__ = ["lower"]
