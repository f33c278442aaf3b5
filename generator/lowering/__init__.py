"""From Program + Plan + Target to a Variant.

Read the rooms in this order; each imports only those before it:

- `memory/`: data that threads keep outside of global memory: copies, boxes of stages, private copies, registers, and
  their barriers.
- `core/`: `assemble.py` (`lower`, the entry point), one kernel from its schedule tree to its body, the host program.
- `analysis/`: facts about lowered kernels, and the options that a kernel offers.
- `heuristics/`: plans chosen without measuring: the default plan, and the start plans of a search.

`naming.py` (readable names for loops, new names for everything else) is for all rooms.

May import `generator.polyhedral`, `generator.emit`, `generator.decisions` and the value types of `generator`.
"""

from __future__ import annotations

from generator.lowering.core.assemble import lower

__all__ = ["lower"]
