"""The kernels of Halide's autoschedulers for GPUs: `python -m experiments.benchmarks.halide_groupings NAME...`.

Li2018 and Anderson2021 get the pipelines of the suite with the extents of the full size as estimates, for a CUDA device
of compute capability 7.0, each in a separate process with a time limit. Their output is parsed: stages with their own
blocks are kernels, stages at a loop of another are in its kernel (copies of a stage's inputs are not counted). Nothing
is run; no GPU is needed. Needs the extra `peers`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.benchmarks.model_groupings import program_at_full_size
from experiments.script import plain_errors
from experiments.suites.image_pipelines import Pipeline, pipeline
from generator.frontend_py.named_sizes import SIZES

SCHEDULERS = ("Li2018", "Anderson2021")
TARGET = "x86-64-linux-cuda-cuda_capability_70"
UNITS = "80"
"""The number of multiprocessors of a V100."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """The number of kernels, and the stages computed inside others as (stage, where)."""

    count: int
    inside: tuple[tuple[str, str], ...]


def read_schedule(text: str) -> Kernels:
    """Return the kernels of a schedule as printed by Halide: a directive per line and a semicolon after each stage.

    >>> read_schedule("f.gpu_blocks(x); g.compute_at(f, x).gpu_threads(y); h.in(g).compute_at(g, x); f.gpu_blocks(y);")
    Kernels(count=2, inside=(('g', 'f'),))
    """
    count, inside = 0, []
    for stage in text.split(";"):
        name = re.match(r"\s*([\w$]+)(\.in\()?", stage)
        count += ".gpu_blocks(" in stage
        at = re.search(r"\.compute_at\(([\w$]+)", stage)
        if name and at and not name[2]:
            inside.append((name[1], at[1]))
    return Kernels(count, tuple(dict.fromkeys(inside)))


def schedule(one: Pipeline, scheduler: str) -> str:
    """Return the scheduler's schedule, computed in this process. Raises Halide's RuntimeError."""
    import halide as hl

    from experiments.studies.side_by_side.halide_child import built, in_order

    parameters = dict(one.parameters_at("full"))
    arguments = {name: value for name, value in parameters.items() if name not in SIZES}
    request = {"file": str(one.file), "function": "build", "arguments": arguments}
    program = program_at_full_size(one)
    sys.path.insert(0, str(one.file.parent))
    outputs, recorder = built(request)
    read = {array.name: array.extents for array in program.arrays if array.role == "in" and array.extents}
    for param, extents in zip(recorder.inputs, in_order(recorder.inputs, read), strict=True):
        param.set_estimates([(0, extent) for extent in reversed(extents)])
    for output in outputs:
        output.set_estimates([(0, extent) for extent in reversed(program.outputs[0].extents)])
    (plugin,) = Path(hl.__file__).parent.glob(f"lib*/libautoschedule_{scheduler.lower()}.so")
    hl.load_plugin(str(plugin))
    found = hl.Pipeline(outputs).apply_autoscheduler(
        hl.Target(TARGET), hl.AutoschedulerParams(scheduler, {"parallelism": UNITS})
    )
    return str(found.schedule_source)


def kernels(name: str, scheduler: str, limit_s: float) -> Kernels | str:
    """Return the kernels of a scheduler for a pipeline, or the reason why there are none."""
    command = [sys.executable, "-m", __spec__.name, name, "--say", scheduler]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return f"more than {limit_s:g} s"
    if done.returncode:
        return f"ended with {done.returncode}"
    return read_schedule(done.stdout)


def rows(names: Sequence[str], limit_s: float) -> Iterator[str]:
    """Yield a row per pipeline."""
    for name in names:
        cells = []
        for scheduler in SCHEDULERS:
            found = kernels(name, scheduler, limit_s)
            cells += [found, ""] if isinstance(found, str) else [str(found.count), _fused(found)]
        yield f"| {name} | {' | '.join(cells)} |"


def _fused(found: Kernels) -> str:
    return ", ".join(f"{stage} in {where}" for stage, where in found.inside) or "nothing"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="PIPELINE")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a scheduler and a pipeline")
    parser.add_argument("--say", choices=SCHEDULERS, help="print what this scheduler says, of one pipeline")
    given = parser.parse_args(arguments)
    if given.say is not None:
        warnings.simplefilter("ignore")  # Halide warns about constants that become float32
        print(schedule(pipeline(given.names[0]), given.say))
        return
    for name in given.names:
        pipeline(name)  # a refusal comes before the first scheduler
    heads = [head for one in SCHEDULERS for head in (f"{one}: kernels", "stages in them")]
    print(f"| pipeline | {' | '.join(heads)} |\n|---|" + "---|" * len(heads))
    for row in rows(given.names, given.limit):
        print(row, flush=True)


if __name__ == "__main__":
    with plain_errors():
        main()
