"""From Program + Plan + Target to a Variant.

Read the rooms in this order; each imports only those before it:

- `memory/`: what threads keep of arrays beside global memory: copies, boxes of stages, private copies, registers, and
  their barriers.
- `core/`: `assemble.py` (`lower`, the door), one kernel from its schedule tree to its body, the host program.
- `analysis/`: lowered kernels in numbers, and what a kernel offers to decide.
- `heuristics/`: plans that are chosen without measuring: the default plan, and those that a search tries first.

`naming.py` (readable names for loops, new names for everything else) serves all.

May import `generator.polyhedral`, `generator.emit`, `generator.decisions` and the value types of `generator`.
"""

from __future__ import annotations

from generator.lowering.core.assemble import lower

__all__ = ["lower"]
