"""From Program + Plan + Target to a Variant.

Read in this order: `assemble.py` (`lower`, the door), `kernel.py` (one kernel: map, check, generate, fill in),
`fill.py` (statements into its loops), `keep.py` and `registers.py` (results in registers, and how threads combine
them; `points.py`: their subscripts become constants; `vectors.py`: loops over neighbours), `private.py` (arrays that each block updates in a copy of its
own), `staging.py` (shared copies), `computed.py` (stages inside of kernels; `shared_box.py`: what these and private
copies have in common), `time_tiles.py` and `block_tile.py` (several time steps per kernel), `barriers.py` (the rules of barriers), `host.py` (launches and host loops), `placement.py`
(textures and constant memory), `naming.py` (readable loop names), `shapes.py` (what a kernel offers to decide),
`default.py` and `starts.py` (PPCG's plan and others worth measuring first; `usual.py`: which is the default plan; `neighbours.py`: which dimension is x).
`facts.py` describes lowered kernels by numbers: executions (`sampling.py`, `counting.py`), strides (`addresses.py`),
copies and operations (`cooperative.py`, `generator.operations`).

May import `generator.polyhedral`, `generator.emit` and the value types of `generator`.
"""

from __future__ import annotations

from generator.lowering.assemble import lower

__all__ = ["lower"]
