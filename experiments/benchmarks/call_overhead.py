"""The cost of calling a tuned function: `python -m experiments.benchmarks.call_overhead [--device D]`.

Calls `C[i] = s * A[i] + B[i]` on three small pyopencl arrays, as a function made by `antune.load`, in turns with the
same launch by pyopencl alone, whose arguments are set in advance. The kernel takes almost no time. The measured time is
the processor time of the calling thread, because on CPU devices other threads run the kernel on cores that other
processes use, too.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from experiments.exports.function import made_function
from experiments.script import run
from generator.errors import AntuneError
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.usual import usual_plan
from generator.reading import read_problem, usual_schedule
from generator.variant import Variant
from runners.base import DeviceInfo
from runners.devices import find_device
from runners.function import TunedFunction
from runners.host_program import launches
from runners.opencl.platforms import register_here

TEXT = """
void add(double s, double A[1024], double B[1024], double C[1024]) {
#pragma scop
  for (int i = 0; i < 1024; i++) C[i] = s * A[i] + B[i];
#pragma endscop
}
"""
US = 1e6
Work: TypeAlias = Callable[[], Any]


def main(device: Annotated[str, typer.Option()] = "pocl", calls: Annotated[int, typer.Option(min=1)] = 20,
         rounds: Annotated[int, typer.Option(min=2)] = 200) -> None:
    """Measure calls and launches, `calls` of each in turns, `rounds` times."""
    register_here()
    info = find_device(device)
    call, launch, finish = calling(*made(info), info)
    for _ in range(calls):
        call()
        launch()
    finish()
    found = [(spent(call, calls, finish), spent(launch, calls, finish)) for _ in range(rounds)]
    called, launched = zip(*found, strict=True)
    for words, times in (("a call", called), ("its launch by pyopencl", launched)):
        print(f"{words}: {min(times):.1f} us at least, {statistics.median(times):.1f} us in the middle")
    extra = statistics.median(one - other for one, other in found)
    print(f"beyond the launch: {min(called) - min(launched):.1f} us at least, {extra:.1f} us in the middle of {rounds} "
          f"rounds, {info.name} ({info.platform})")


def made(info: DeviceInfo) -> tuple[TunedFunction, Variant]:
    """Return the default plan of the program above as a function, and its code."""
    with tempfile.TemporaryDirectory(prefix="antune-call-") as name:
        file = Path(name) / "add.c"
        file.write_text(TEXT)
        program = read_problem(file, Compilation(), "add", None, {}, 0).program
        plan = usual_plan(program, info.target, usual_schedule(file))
    variant = lower(program, plan, info.target)
    return made_function(program, variant, info, "add", ("s", "A", "B", "C"), (), ""), variant


def calling(function: TunedFunction, variant: Variant, info: DeviceInfo) -> tuple[Work, Work, Work]:
    """Return a call, the same launch by pyopencl, and a function that waits for both."""
    import pyopencl as cl
    import pyopencl.array as arrays

    from runners.opencl.probe import open_device

    context = cl.Context([open_device(info.key)])
    queue = cl.CommandQueue(context)
    a, b, c = (arrays.to_device(queue, np.linspace(0, 1, 1024)) for _ in range(3))
    function(2.0, a, b, C=c)
    if not np.array_equal(c.get(), 2.0 * a.get() + b.get()):
        raise AntuneError("the function computes something else")
    kernel = cl.Kernel(cl.Program(context, function.source).build(), variant.kernels[0].name)
    places: dict[str, Any] = {"A": a.data, "B": b.data, "C": c.data}
    [launch] = launches(variant)
    names = (*variant.kernels[0].arrays, *variant.kernels[0].scalars)
    for position, name in enumerate(names):
        kernel.set_arg(position, places.get(name, np.float64(2.0)))
    return (lambda: function(2.0, a, b, C=c),
            lambda: cl.enqueue_nd_range_kernel(queue, kernel, launch.items, launch.block), queue.finish)


def spent(work: Work, times: int, finish: Work) -> float:
    """Return the processor time of this thread in microseconds per call of `work`."""
    begin = time.thread_time()
    for _ in range(times):
        work()
    taken = time.thread_time() - begin
    finish()
    return taken * US / times


if __name__ == "__main__":
    run(main)
