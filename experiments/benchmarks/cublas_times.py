"""Times of cuBLAS on an NVIDIA GPU, for comparison: `python -m experiments.benchmarks.cublas_times`.

Needs PyTorch with CUDA. The products of gemm at LARGE and EXTRALARGE, in fp32 and with TF32, those of mvt and atax, and
a copy. Ten calls in a row are recorded as a CUDA graph, so that PyTorch's host code does not count; a time is the
median over 30 replays, divided by ten. Caches are warm, as for our plans.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

WARM, CALLS, REPLAYS = 5, 10, 30
GEMMS = ((1000, 1100, 1200), (2000, 2300, 2600))
"""Rows, columns and terms of PolyBench's gemm at LARGE and EXTRALARGE."""
SQUARES = (2000, 8192)
COPIED = 1 << 27
"""Elements of the copy: 512 MiB."""


def milliseconds(torch: Any, call: Callable[[], object]) -> float:
    """Return the time of `call` in ms."""
    for _ in range(WARM):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = list[float]()
    for _ in range(REPLAYS):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / CALLS)
    return statistics.median(times)


def products(torch: Any) -> Iterator[tuple[str, float]]:
    """Yield what was computed, and its time in ms."""
    def random(*extents: int) -> Any:
        return torch.rand(*extents, device="cuda")

    for rows, columns, terms in GEMMS:
        a, b, c = random(rows, terms), random(terms, columns), random(rows, columns)
        out = torch.empty_like(c)
        for tf32 in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            yield (f"gemm {rows}x{columns}x{terms}, {'TF32' if tf32 else 'fp32'}",
                   milliseconds(torch, lambda: torch.addmm(c, a, b, beta=1.2, alpha=1.5, out=out)))  # noqa: B023
    for size in SQUARES:
        a, x, y = random(size, size), random(size), random(size)
        yield f"mvt {size}", milliseconds(torch, lambda: (torch.mv(a, x, out=y), torch.mv(a.t(), x)))  # noqa: B023
        yield f"atax {size}", milliseconds(torch, lambda: torch.mv(a.t(), torch.mv(a, x)))  # noqa: B023
    x = random(COPIED)
    y = torch.empty_like(x)
    yield f"copy of {COPIED >> 18} MiB", milliseconds(torch, lambda: y.copy_(x))


def main() -> None:
    """Print a line for each."""
    if find_spec("torch") is None:
        sys.exit("this needs PyTorch: pip install torch")
    import torch

    if not torch.cuda.is_available():
        sys.exit("this needs a GPU with CUDA; PyTorch finds none")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for name, ms in products(torch):
        print(f"{name}: {ms:.4g} ms", flush=True)


if __name__ == "__main__":
    main()
