"""`antune export`: the best plan as code that works without antune, or a run's results in another format."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from antune.options import RunDirectory, Trust
from experiments.exports.kinds import Kind
from generator.plain_text import path_word, shell_word

To = Annotated[Kind, typer.Option("--to", help="Kind of export.", show_default=False)]
Out = Annotated[Path, typer.Option("--out", metavar="OUTDIR", help="Folder for the files; created if necessary.",
                                   show_default=False)]
PlanNumber = Annotated[int | None, typer.Option(
    "--plan", metavar="N", min=0, help="Number of the evaluation to export (0: the default plan). Default: the best.",
    show_default=False)]
Sizes = Annotated[list[str] | None, typer.Option(
    "--size", metavar='"N=512 M=100"', show_default=False,
    help="Another size that the function accepts at run time: definitions as for -D (or --param), or \"--args=TEXT\". "
         "The source is read and run again, and the plan is checked at this size. Repeatable.")]


def export(directory: RunDirectory, to: To, out: Out, plan: PlanNumber = None, size: Sizes = None,
           trust: Trust = False) -> None:
    """Write the best plan of a run as standalone code, or the run's results for other programs.

    \b
    opencl, cuda, hip
                   a directory: kernels, the original function around them, and a self-check for `make check`
    c-header       one C header with all of that (OpenCL), to be included
    python         a module with the function on numpy arrays (pyopencl); `python -m MODULE` checks it
    json           the plan, with what is known of program, device and times
    csv            all evaluations as a table
    t4             all evaluations in the T4 format of the auto-tuning community
    kernel-tuner   all evaluations as a cache file of Kernel Tuner

    \b
    Examples:
      antune export antune-runs/gemm-1 --to opencl --out gemm-opencl && make -C gemm-opencl check
      antune export antune-runs/gemm-1 --to python --plan 12 --out .
      antune export antune-runs/gemm-1 --to c-header --size "NI=64 NJ=64 NK=64" --size SMALL_DATASET --out .
    """
    from experiments.exports.resized import Resizing
    from experiments.exports.write import export as write
    from experiments.store import read_store

    with read_store(directory) as store:
        files = write(store, to, plan, out, trust, Resizing(tuple(size or ()), print))
    print(f"Written to {out}: {', '.join(str(path.relative_to(out)) for path in files)}")
    print(_next(to, out, files))


def _next(kind: Kind, out: Path, files: tuple[Path, ...]) -> str:
    match kind:
        case Kind.opencl | Kind.cuda | Kind.hip:
            return f"Next: {shlex.join(['make', '-C', path_word(out), 'check'])}"
        case Kind.python:
            return f"Next: cd {shell_word(out)} && python -m {files[0].stem}"
        case Kind.c_header:
            return f"Next: #include \"{files[0].name}\", and link with -ldl"
        case Kind.json | Kind.csv | Kind.t4 | Kind.kernel_tuner:
            return f"Next: {files[0]} is for other programs; docs/exports.md says what it holds"
