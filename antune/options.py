"""The options of the command line, as types for typer."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class CacheChoice(StrEnum):
    """The state of the caches before a timed run."""

    warm = "warm"
    cold = "cold"


SourceFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="C file with the loops to tune between `#pragma scop` and `#pragma endscop` (without pragmas: the loops "
             "that take the most time); or PIPELINE.py:FUNCTION, where FUNCTION (default: build) returns the output "
             "of an image pipeline (docs/pipelines.md), or a kernel of your own with parameters (docs/templates.md); "
             "or a T1 file KERNEL.json.",
        show_default=False,
    ),
]
RunDirectory: TypeAlias = Annotated[Path, typer.Argument(
    metavar="DIR", help="Directory of a run, as `antune list` shows it.", show_default=False)]
IncludeDirs: TypeAlias = Annotated[list[Path] | None, typer.Option(
    "-I", "--include", metavar="DIR", help="Search this directory for included files, as for a C compiler. Repeatable.",
    show_default=False)]
Defines: TypeAlias = Annotated[list[str] | None, typer.Option(
    "-D", "--define", metavar="NAME[=VALUE]", help="Define a macro, e.g. -D N=1024. Repeatable.",
    show_default=False)]
Sources: TypeAlias = Annotated[list[Path] | None, typer.Option(
    "--source", metavar="OTHER.c", help="Another C file that the program needs to link. Repeatable.",
    show_default=False)]
Cflags: TypeAlias = Annotated[str, typer.Option(
    "--cflags", metavar="FLAGS", help='Further flags for the C compiler, e.g. --cflags "-std=c11 -fopenmp".',
    show_default=False)]
Args: TypeAlias = Annotated[
    str,
    typer.Option(
        "--args",
        metavar="WORDS",
        help="Arguments for the program's main, e.g. --args \"512 --seed 3\". The program runs in a separate folder; "
             "paths of existing files become absolute.",
        show_default=False,
    ),
]
Stdin: TypeAlias = Annotated[Path | None, typer.Option(
    "--stdin", metavar="FILE", help="Standard input of the program.", show_default=False)]
ProgramLimit: TypeAlias = Annotated[float, typer.Option(
    "--program-limit", metavar="SECONDS", min=0.1, help="Time limit for a run of the program itself.")]
RandomInputs: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--random-inputs",
        help="If the program cannot be run, call the function that contains the SCoP with random data.",
        show_default=False,
    ),
]
Function: TypeAlias = Annotated[str | None, typer.Option(
    "--function", metavar="NAME", help="The function that contains the SCoP (or the loops), if the file has several.",
    show_default=False)]
Scop: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--scop",
        metavar="N",
        min=1,
        help="Number of the SCoP, from 1, if the file has several; in a file without pragmas, number of the loop nest"
             " in `antune explain FILE --find`.",
        show_default=False,
    ),
]
Parameters: TypeAlias = Annotated[list[str] | None, typer.Option(
    "--param", metavar="NAME=VALUE", help="A size, for a file without a main. Repeatable.",
    show_default=False)]
Size: TypeAlias = Annotated[str | None, typer.Option(
    "--size", metavar="WxH[xC]", help="The extents of a pipeline's output, e.g. 2048x2048; the same as --param width=W "
    "--param height=H --param channels=C.", show_default=False)]
Device: TypeAlias = Annotated[str | None, typer.Option(
    "--device", metavar="DEVICE", help="Number or part of a name from `antune devices`; `deterministic` computes "
    "times instead of measuring. Default: the best device found.", show_default=False)]
Devices: TypeAlias = Annotated[list[str] | None, typer.Option(
    "--device", metavar="DEVICE", help="Number or part of a name from `antune devices`; repeatable for devices of one "
    "model, `all` takes every device of the best one's platform. `deterministic` computes times instead of measuring. "
    "Default: the best device found.", show_default=False)]
Cluster: TypeAlias = Annotated[str | None, typer.Option(
    "--cluster", metavar="ADDRESS", help="Measure on a Dask cluster: tcp://HOST:PORT or tls://HOST:PORT of its "
    "scheduler, its scheduler file, or `local:N` to start N workers here (docs/cluster.md).", show_default=False)]
Elsewhere: TypeAlias = Annotated[str | None, typer.Option(
    "--cluster", metavar="ADDRESS", help="Continue on another cluster, see `antune tune`; `none`: on this machine.",
    show_default=False)]
Seed: TypeAlias = Annotated[int, typer.Option(
    "--seed", metavar="N", help="Seed of all random choices and random inputs: same seed, same walks.")]
Json: TypeAlias = Annotated[Path | None, typer.Option(
    "--json", metavar="FILE", help="Also write the table to FILE as JSON.", show_default=False)]
Evaluations: TypeAlias = Annotated[int | None, typer.Option(
    "--evaluations", metavar="N", help="End after N plans.", show_default=False)]
Iterations: TypeAlias = Annotated[int | None, typer.Option(
    "--iterations", metavar="N", help="End after N iterations of --ants plans each (default: 5).",
    show_default=False)]
CompileLimit: TypeAlias = Annotated[float, typer.Option(
    "--compile-limit", metavar="SECONDS", help="Upper limit for generating and compiling a plan. The actual limit is "
                                               "usually lower: a multiple of the time of other plans.")]
RunLimit: TypeAlias = Annotated[float, typer.Option(
    "--run-limit", metavar="SECONDS", help="Upper limit for checking and timing a plan. The actual limit is usually "
                                           "lower: a multiple of the time of the best plan.")]
MemoryLimit: TypeAlias = Annotated[float | None, typer.Option(
    "--memory-limit", metavar="GB", help="Memory limit of a process that compiles or runs plans, in addition to the "
                                         "program's data. Default: a share of the machine's memory.",
    show_default=False)]
Minutes: TypeAlias = Annotated[float | None, typer.Option(
    "--minutes", metavar="M", help="End after M minutes of work.", show_default=False)]
StopAt: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--stop-at",
        metavar="GOAL",
        help="End when a plan is fast enough: `8x` as fast as the default plan, `2x-sequential` as "
        "the C program, `90%` of the speed that the device's ceilings allow (`antune suite roofline`).",
        show_default=False,
    ),
]
Stagnation: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--stagnation",
        metavar="N",
        help="End after N plans in a row without a clear improvement (an interval below that of the best plan).",
        show_default=False,
    ),
]
Precision: TypeAlias = Annotated[float, typer.Option(
    "--precision", metavar="PERCENT", help="Repeat a plan until the 95 % interval of its median time is within this "
                                           "percentage on either side; for plans that are clearly slower than the "
                                           "best, 2.5 times this width is enough.")]
MaxRepeats: TypeAlias = Annotated[int, typer.Option(
    "--max-repeats", metavar="N", help="Maximum number of repeats of a plan.")]
Cache: TypeAlias = Annotated[CacheChoice, typer.Option(
    "--cache", help="State of the device's caches for a timed run: they contain its own data (`warm`), or none of it "
                    "(`cold`: they are overwritten before each run).")]
Realtime: TypeAlias = Annotated[bool, typer.Option(
    "--realtime", help="Measure at real-time priority, so that other work on this machine's cores does not lengthen "
                       "times (Linux; needs the right to do so, as root has it).")]
Reuse: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--reuse",
        metavar="DIR",
        help="Reuse the measurements of another run of the same program, device and toolchain. Repeatable.",
        show_default=False,
    ),
]
FromWisdom: TypeAlias = Annotated[bool, typer.Option(
    "--wisdom", help="Start with the best known plans for the same program at similar sizes, or on similar devices "
                     "(`antune wisdom list`).")]
Anyway: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--anyway",
        help="Continue although the driver or antune has changed: times may not be comparable. If antune would now "
             "request other plans, it continues from the measurements.",
    ),
]
Trust: TypeAlias = Annotated[bool, typer.Option(
    "--trust", help="Trust the author of this run: also use parts of it that could run arbitrary code "
                    "(docs/security.md).")]
Finalists: TypeAlias = Annotated[
    int,
    typer.Option(
        "--finalists",
        envvar="ANTUNE_FINALISTS",
        metavar="N",
        help="At the end, measure up to N of the best plans again, in turns; the fastest of these is the best plan "
             "(0: none).",
    ),
]
Models: TypeAlias = Annotated[
    str,
    typer.Option(
        "--models",
        metavar="A,B",
        help="Start with the best plans according to cost models: `sioutas`, `polymage-dp`, `beam`; `none`; `usual`: "
             "`beam` for pipelines with many stages on CPUs (docs/models.md).",
    ),
]
ForetellBy: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--foretell",
        metavar="MODEL",
        help="Let colony, genetic and portfolio use the costs predicted by a model to choose plans, weighted by how "
             "well they match measurements: `sioutas`, `polymage` or `learned`; `only:learned`: choose by the costs "
             "alone (docs/models.md).",
        show_default=False,
    ),
]
ForeseeBy: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--foresee",
        metavar="MODEL",
        help="Let the colony's ants prefer options with low costs according to a model: `sioutas`, `polymage` or "
             "`learned` (docs/models.md).",
        show_default=False,
    ),
]
BeamText: TypeAlias = Annotated[str, typer.Option(
    "--beam", metavar="A=B,...", show_default=False,
    help="Parameters of beam searches (in `tune`: `--explorer beam`, `--models beam` or `usual`): `width=N`, "
         "`passes=N`, `turns=N`, `dropout=P`; `sampling=off`, `memory=off`, `freezing=off`; `freezing=N`: freeze "
         "programs of N stages or more (docs/explorers.md).")]
CalibrationFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="Constants of cost models for the device, from `antune suite calibrate` (docs/models.md).",
        show_default=False,
    ),
]
Profile: TypeAlias = Annotated[
    int,
    typer.Option(
        "--profile",
        metavar="N",
        help="Also run the N fastest plans of every iteration under a profiler (perf events on CPUs, Nsight Compute "
             "on NVIDIA); the search uses its counters.",
    ),
]
Live: TypeAlias = Annotated[bool, typer.Option(
    "--live", help="Serve the report on 127.0.0.1 during the run; the page is updated continuously.")]
LivePort: TypeAlias = Annotated[int | None, typer.Option(
    "--live-port", metavar="N", min=0, max=65535, help="The same, on port N (0: a free one, as with --live).",
    show_default=False)]

Picture: TypeAlias = Annotated[bool, typer.Option(
    "--picture/--no-picture", envvar="ANTUNE_PICTURE",
    help="Draw convergence.png at the end (takes about a second).")]
