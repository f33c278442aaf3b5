"""`antune.load`: the tuned kernel of a run as a function on arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.function import TunedFunction


def load(directory: str | Path, *, plan: int | None = None, trust: bool = False) -> TunedFunction:
    """The best plan of the run in `directory` (or that of evaluation `plan`) as a function on arrays.

        gemm = antune.load("antune-runs/gemm-1")
        C2 = gemm(alpha, beta, C, A, B)                # numpy arrays: C stays, the result is new
        gemm(alpha, beta, C, A, B, inplace=True)       # C is changed, and returned

    `help(gemm)` lists its arguments: the scalars and arrays that the tuned loops read, in the order of the original
    function, then by name what they write as a whole. Of a kernel template these are the kernel's arguments; its whole
    numbers are built in as sizes are. Names that Python keeps for something else (`lambda`), or the
    function itself (`queue`), have a `_` at their end. It runs in this process and does not wait for the device, unless
    arrays are numpy's or no stream is known:

    - numpy arrays are copied to the run's device and back.
    - pyopencl arrays are used where they lie, on `queue=` or on their own queue.
    - CuPy, PyTorch and whatever has `__cuda_array_interface__` or `__dlpack__` is used where it lies, on `stream=` or
      on the stream that it names: results are ready in the order of that stream. Where neither is there, the call
      waits.

    Its device memory is released with the function.

    Kernels are compiled at the first call, once in this process, and kept on disk. The code works for the types and
    sizes that were tuned; anything else is an error. The run's program and plan are checked as `antune resume` does:
    `trust` is needed for somebody else's run of which that proves too little (docs/security.md).

    Raises:
        InputError: there is no run, it has no valid plan, or it needs `trust`.
    """
    from experiments.exports.chosen import choose
    from experiments.exports.function import function_of
    from experiments.store import read_store

    with read_store(Path(directory)) as store:
        return function_of(choose(store, plan, True, trust, "plan="))
