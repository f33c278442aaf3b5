"""Threads with four neighbours each, which they access as one vector: kernels without inner loops, such as the sweeps
of stencils, on GPUs.

Memory limits these kernels, and threads that read 16 bytes at a time have more bytes on the way. Blocks have 32 threads
along x and 8 rows: neighbouring rows are in the first-level cache when the next row of threads reads them.
"""

from __future__ import annotations

from generator.lowering.analysis.shapes import KernelShape
from generator.plan import KernelPlan
from generator.program import ELEMENT_BYTES, Program
from generator.target import LANES

_BYTES = 16
"""The longest access of a thread."""
_ROWS, _WARPS = 8, 4
"""Rows of a block with several dimensions; warps of one without."""


def wide_points(program: Program, shape: KernelShape, order: tuple[int, ...]) -> KernelPlan | None:
    """Return a kernel with a vector of points per thread; None for one with inner loops, stages or short rows."""
    count = len(shape.extents)
    extents = tuple(shape.extents[d] for d in order or range(count))
    run = neighbours(program, shape)
    if run == 1 or not count or shape.sequential or shape.computes or shape.reduces or shape.skewed:
        return None
    if 2 * extents[-1] <= LANES * run or (count > 1 and extents[-2] < _ROWS):
        return None
    block = (*(1,) * (count - 2), _ROWS, LANES) if count > 1 else (LANES * _WARPS,)
    return KernelPlan(shape.statements, (*block[:-1], block[-1] * run), block, order=order, run=run, vector=run)


def neighbours(program: Program, shape: KernelShape) -> int:
    """Return the number of neighbours per access: 16 bytes if the rows of all matrices are multiples of that."""
    used = {access.array for name in shape.statements for access in program.statement(name).accesses}
    arrays = [array for array in program.arrays if array.name in used]
    run = _BYTES // max((ELEMENT_BYTES[array.type] for array in arrays), default=_BYTES)
    return run if run > 1 and not any(array.extents[-1] % run for array in arrays if len(array.extents) > 1) else 1
