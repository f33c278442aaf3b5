"""`antune.load`: the tuned kernel of a run as a function on arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.function import TunedFunction


def load(directory: str | Path, *, plan: int | None = None, trust: bool = False) -> TunedFunction:
    """Return the best plan of the run in `directory` (or that of evaluation `plan`) as a function on arrays.

        gemm = antune.load("antune-runs/gemm-1")
        C2 = gemm(alpha, beta, C, A, B)              # numpy arrays: C stays, the result is new
        gemm(alpha, beta, C, A, B, inplace=True)     # C is changed, and returned

    `help(gemm)` lists its arguments: the scalars and arrays that the tuned loops read, in the order of the original
    function (of a pipeline: its ImageParams as they were made, then its Buffers), then, by name, the arrays that they
    write completely. For a kernel template these are the kernel's
    arguments; its integers are built in, like sizes. Names that Python reserves (`lambda`), or that the function itself
    uses (`queue`), get a `_` at the end. It runs in this process and does not wait for the device, unless arrays are
    numpy's or no stream is known:

    - numpy arrays are copied to the run's device and back.
    - pyopencl arrays are used in place, on `queue=` or on their own queue.
    - CuPy and PyTorch arrays, and others with `__cuda_array_interface__` or `__dlpack__`, are used in place, on
      `stream=` or on the stream that they name: results are ready in the order of that stream. Without either, the
      call waits.

    Its device memory is released with the function.

    Kernels are compiled at the first call, once in this process, and kept on disk. The code works for the types and
    sizes that were tuned; anything else is an error. The run's program and plan are checked as by `antune resume`:
    `trust` is needed for somebody else's run if that check is not sufficient (docs/security.md).

    Raises:
        InputError: there is no run, it has no valid plan, or it needs `trust`.
    """
    from experiments.exports.chosen import choose
    from experiments.exports.function import function_of
    from experiments.store import read_store

    with read_store(Path(directory)) as store:
        return function_of(choose(store, plan, True, trust, "plan="))
