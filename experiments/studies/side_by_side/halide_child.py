"""Run a pipeline file with Halide's own Python package and one of its autoschedulers. This is a separate program.

    python halide_child.py REQUEST.json SCHEDULER

It imports nothing of antune: `from antune import halide` in the file means Halide. The scheduler receives the extents
of the output and the inputs; its code is run on the given inputs for some time, and again for each line on stdin. Each
time, stdout receives a JSON line with the result, after the outputs are in the output folder.

On a GPU, inputs and output stay in its memory, and runs are queued in groups, so that Halide's host code is hidden
where the kernels take longer. `lock`, if given, is held during runs.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import statistics
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import halide as hl
import numpy as np

WARM, LEAST = 2, 5
"""The number of warm-up runs, and the fewest samples."""
QUEUED = 20
"""The number of runs of a sample on a GPU."""


class Recorder:
    """Halide's names for a pipeline file; records the inputs that the file creates, and the arrays of its Buffers,
    which Halide does not keep alive.
    """

    def __init__(self) -> None:
        """Begin without inputs."""
        self.inputs: list[Any] = []
        self.arrays: list[Any] = []
        self.module = types.ModuleType("antune.halide")
        self.module.__dict__.update({name: value for name, value in vars(hl).items() if not name.startswith("__")})
        self.module.__dict__["ImageParam"] = self._image
        self.module.__dict__["Buffer"] = kept_buffer(self.arrays)

    def _image(self, *given: Any, **named: Any) -> Any:
        self.inputs.append(hl.ImageParam(*given, **named))
        return self.inputs[-1]


def kept_buffer(kept: list[Any]) -> type:
    """Return Halide's class of Buffers, which adds to `kept` what they are made of."""

    class Buffer(hl.Buffer):  # type: ignore[misc]  # Halide's package has no types
        def __init__(self, *given: Any, **named: Any) -> None:
            kept.append((given, named))
            super().__init__(*given, **named)

    return Buffer


def built(request: dict[str, Any]) -> tuple[list[Any], Recorder]:
    """Build the pipeline of the file again; return its output Funcs, and the record with its inputs."""
    recorder, antune = Recorder(), types.ModuleType("antune")
    antune.__dict__["halide"] = recorder.module
    sys.modules["antune"], sys.modules["antune.halide"] = antune, recorder.module
    file = Path(request["file"])
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").parent == file.parent:
            del sys.modules[name]  # helper modules next to the file must use this recorder's names, too
    specification = importlib.util.spec_from_file_location("pipeline", file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    result = getattr(module, request["function"])(**request["arguments"])
    return list(result) if isinstance(result, list | tuple) else [result], recorder


def corners(request: dict[str, Any], arrays: list[Any]) -> list[list[int]]:
    """Return the lowest coordinates of the box of each input that the output needs.

    If Halide cannot know an input's box in advance, because its boundary condition reads its size, the box begins at 0.
    This compiles the pipeline as it is, and Halide would reuse that code whatever is scheduled later; so the pipeline
    is built again.
    """
    outputs, recorder = built(request)
    hl.Pipeline(outputs).infer_input_bounds(request["sizes"])
    found = []
    for param, array in zip(recorder.inputs, arrays, strict=True):
        needed = param.get()
        dims = range(needed.dimensions())
        fits = [needed.dim(d).extent() for d in dims] == list(reversed(array.shape))
        found.append([needed.dim(d).min() if fits else 0 for d in dims])
    return found


def in_order(inputs: list[Any], arrays: dict[str, Any]) -> list[Any]:
    """Return the arrays of the inputs in order; inputs without a name get the arrays that match no input's name."""
    unnamed = iter([name for name in arrays if name not in {param.name() for param in inputs}])
    return [arrays[param.name() if param.name() in arrays else next(unnamed)] for param in inputs]


@dataclass(frozen=True)
class Ready:
    """A compiled pipeline and its outputs; the inputs are kept because Buffers do not keep them alive."""

    pipeline: Any
    inputs: Any
    outputs: list[Any]
    buffers: list[Any]
    queued: int


def compiled(request: dict[str, Any], scheduler: str, arrays: dict[str, Any]) -> Ready:
    """Return the code of a scheduler."""
    outputs, recorder = built(request)
    pipeline, sizes, given = hl.Pipeline(outputs), request["sizes"], in_order(recorder.inputs, arrays)
    for param, array, corner in zip(recorder.inputs, given, corners(request, given), strict=True):
        buffer = hl.Buffer(array)
        buffer.set_min(corner)
        buffer.set_host_dirty()  # a GPU's copy is made at the first run
        param.set(buffer)
        param.set_estimates(list(zip(corner, reversed(array.shape), strict=True)))
    for output in outputs:
        output.set_estimates([(0, extent) for extent in sizes])
    target = hl.Target(request["target"])
    parallelism = {"parallelism": str(request["parallelism"])}
    pipeline.apply_autoscheduler(target, hl.AutoschedulerParams(scheduler, parallelism))
    pipeline.compile_jit(target)
    found = [np.zeros(list(reversed(sizes)), type_) for type_ in request["types"]]
    queued = QUEUED if target.has_gpu_feature() else 1
    return Ready(pipeline, (recorder, given), found, [hl.Buffer(array) for array in found], queued)


def measured(request: dict[str, Any], scheduler: str, ready: Ready) -> dict[str, Any]:
    """Run the code; store its outputs and return the median and the lowest time of a run, and the number of runs."""
    for array in ready.outputs:
        array.fill(0)  # on a GPU, its memory is not affected
    with alone(request["lock"]):
        times = timed(ready.pipeline, ready.buffers, request["seconds"], ready.queued)
    for buffer in ready.buffers:
        buffer.copy_to_host()
    np.savez(Path(request["outputs"]) / f"{scheduler}.npz", *ready.outputs)
    return {"ms": statistics.median(times), "low_ms": min(times), "runs": (WARM + len(times)) * ready.queued}


@contextmanager
def alone(lock: str | None) -> Iterator[None]:
    """Hold the lock file, which antune's timings hold too."""
    if lock is None:
        yield
        return
    with Path(lock).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def timed(pipeline: Any, buffers: list[Any], seconds: float, runs: int) -> list[float]:
    """Return the times of a run in ms within `seconds`, each the mean of `runs`, without the warm-up."""
    into = buffers[0] if len(buffers) == 1 else buffers
    times: list[float] = []
    end_s = time.perf_counter() + seconds
    while len(times) < WARM + LEAST or time.perf_counter() < end_s:
        begin_s = time.perf_counter()
        for _ in range(runs):
            pipeline.realize(into)
        if runs > 1:
            buffers[0].device_sync()
        times.append(1000 * (time.perf_counter() - begin_s) / runs)
    return times[WARM:]


def answers(request: dict[str, Any], scheduler: str) -> Iterator[dict[str, Any]]:
    """Yield the result of the scheduler's code, once and for each line of stdin, or its failure."""
    begin_s = time.perf_counter()
    try:
        (plugin,) = Path(hl.__file__).parent.glob(f"lib*/libautoschedule_{scheduler.lower()}.so")
        hl.load_plugin(str(plugin))
        ready = compiled(request, scheduler, dict(np.load(request["inputs"])))
        compile_s = time.perf_counter() - begin_s
        yield measured(request, scheduler, ready) | {"compile_s": compile_s}
        for _ in sys.stdin:
            yield measured(request, scheduler, ready) | {"compile_s": compile_s}
    except Exception as error:  # noqa: BLE001  # whatever Halide says is an answer
        yield {"failure": f"{type(error).__name__}: {str(error).strip()[:300]}"}


def main(request: dict[str, Any], scheduler: str) -> None:
    """Print the results; what Halide prints goes to stderr."""
    sys.path.insert(0, str(Path(request["file"]).parent))
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for answer in answers(request, scheduler):
        print(json.dumps(answer), file=told, flush=True)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2])
