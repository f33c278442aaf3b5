"""`antune tune` and `antune resume`: the commands that search."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.files import read_constants
from antune.loops import settle
from antune.objective_options import Maximize, ObjectiveText, OwnMetrics, sought
from antune.options import (
    Anyway,
    Args,
    BeamText,
    Cache,
    CacheChoice,
    CalibrationFile,
    Cflags,
    Cluster,
    CompileLimit,
    Defines,
    Devices,
    Elsewhere,
    Evaluations,
    Finalists,
    ForeseeBy,
    ForetellBy,
    FromWisdom,
    Function,
    IncludeDirs,
    Iterations,
    Live,
    LivePort,
    MaxRepeats,
    MemoryLimit,
    Minutes,
    Models,
    Parameters,
    Picture,
    Precision,
    Profile,
    ProgramLimit,
    RandomInputs,
    Realtime,
    Reuse,
    RunDirectory,
    RunLimit,
    Scop,
    Seed,
    Size,
    SourceFile,
    Sources,
    Stagnation,
    Stdin,
    StopAt,
    Trust,
)
from antune.parsing import parse_budget, parse_models, parse_scoped, usual_space
from generator.frontend_c.source import PROGRAM_LIMIT_S

if TYPE_CHECKING:
    from antune.progress import Bar, Lines
    from experiments.run import Finish
    from experiments.search.parts import Parts
    from experiments.values.options import RunOptions, SpaceName

NOTHING_VALID = 3
INTERRUPTED = 130


class SpaceChoice(StrEnum):
    """The spaces that can be searched."""

    wide = "wide"
    paper = "paper"
    tiles = "tiles"
    pipeline = "pipeline"


class ProductsChoice(StrEnum):
    """The precisions in which products may be computed."""

    full = "full"
    tf32 = "tf32"
    fp16 = "fp16"
    bf16 = "bf16"


class LevelChoice(StrEnum):
    """The levels: how much of the schedule is searched."""

    o1 = "o1"
    o2 = "o2"
    o3 = "o3"


Explorer = Annotated[str, typer.Option("--explorer", metavar="NAME", help="Search method: `colony` (ants with "
                                                                          "pheromone), `genetic`, `beam`, `local`, "
                                                                          "`portfolio` (several methods share the "
                                                                          "budget), `random`, `exhaustive`, a cost "
                                                                          "model's scheduler (`sioutas`, "
                                                                          "`polymage-dp`), the search of Halide's "
                                                                          "prototype as published (`halide-ga`), or "
                                                                          "an ant system as published: `as`, "
                                                                          "`elitist`, `rank`, `acs`, `mmas`, "
                                                                          "`coding-ants` (docs/explorers.md).")]
Ahead = Annotated[bool, typer.Option("--ahead", help="On GPUs, compile the plans of the next iteration while those of "
                                                     "this one are measured: more plans per minute, but the search "
                                                     "learns from each an iteration later (docs/explorers.md).")]
Ants = Annotated[int, typer.Option("--ants", metavar="N", help="Plans per iteration.")]
SpaceOption = Annotated[SpaceChoice | None,
                        typer.Option("--space", help="The search space: `wide`, that of the Coding Ants `paper`, only"
                                                     " the tile size of PPCG's plan (`tiles`), or `pipeline`: where "
                                                     "each stage is computed. Default: `pipeline` for .py files, else"
                                                     " `wide`.", show_default=False)]
LevelOption = Annotated[LevelChoice, typer.Option("--level", help="How much of the schedule is searched: nothing, isl"
                                                                  " decides which statements share loops (`o1`); "
                                                                  "which statements share loops (`o2`); also skewing,"
                                                                  " permutation and tiling of these loops (`o3`).")]
StrictFloat = Annotated[bool, typer.Option("--strict-float", help="Never change the order of floating-point sums: no "
                                           "parallel reductions of float and double.")]
ProductsOption = Annotated[ProductsChoice, typer.Option(
    "--precision-of-products", help="Allow tensor cores of NVIDIA GPUs for sums of products of float (matrix "
                                    "multiplications): factors are rounded to this precision, sums are in fp32. The "
                                    "tolerance of the check allows for this rounding (docs/tensor_cores.md).")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Directory of the run. Default: "
                                                                       "antune-runs/NAME-N.", show_default=False)]


def tune(file: SourceFile, include: IncludeDirs = None, define: Defines = None, source: Sources = None,
         cflags: Cflags = "", function: Function = None, scop: Scop = None, param: Parameters = None, size: Size = None,
         args: Args = "", stdin: Stdin = None, program_limit: ProgramLimit = PROGRAM_LIMIT_S,
         random_inputs: RandomInputs = False, explorer: Explorer = "colony", ants: Ants = 10,
         ahead: Ahead = False, iterations: Iterations = None, evaluations: Evaluations = None, minutes: Minutes = None,
         stop_at: StopAt = None, stagnation: Stagnation = None, seed: Seed = 0, device: Devices = None,
         cluster: Cluster = None, space: SpaceOption = None, level: LevelOption = LevelChoice.o1,
         strict_float: StrictFloat = False, precision_of_products: ProductsOption = ProductsChoice.full,
         compile_limit: CompileLimit = 60.0, run_limit: RunLimit = 30.0, memory_limit: MemoryLimit = None,
         precision: Precision = 2.0, max_repeats: MaxRepeats = 200, cache: Cache = CacheChoice.warm,
         finalists: Finalists = 5, realtime: Realtime = False, profile: Profile = 0, reuse: Reuse = None,
         wisdom: FromWisdom = False, models: Models = "usual", foretell: ForetellBy = None, foresee: ForeseeBy = None,
         beam: BeamText = "", calibration: CalibrationFile = None, objective: ObjectiveText = "time",
         maximize: Maximize = None, metric: OwnMetrics = None, live: Live = False, live_port: LivePort = None,
         picture: Picture = True, out: Out = None) -> None:
    """Search for fast code for the loops of a C file, or for an image pipeline.

    Tunes the loops between `#pragma scop` and `#pragma endscop`, or those that take the most time. Runs the file once
    for real inputs, results and the sequential time. Saves every result at once: `antune resume` continues.

    \b
    Examples:
      antune tune gemm.c -D MEDIUM_DATASET --evaluations 20
      antune tune solver.c --args "512 mesh.txt" --stdin settings.txt --stop-at 8x --live
      antune tune pipeline.py:build --size 2048x2048
    """
    from experiments.values.options import RunOptions, Timing
    devices, scoped = tuple(device or ()), settle(parse_scoped(
        file, include, define, source, cflags, function, scop, param, size, args, stdin, program_limit, random_inputs))
    options = RunOptions(
        str(scoped.file), scoped.compilation, parse_budget(evaluations, iterations, minutes, stop_at, stagnation),
        scoped.function, scoped.scop, scoped.parameters, explorer, ants, seed, devices[0] if devices else None,
        _space(space, scoped.file), level.value, strict_float, compile_limit_s=compile_limit, run_limit_s=run_limit,
        memory_limit_gb=memory_limit, timing=Timing(precision, max_repeats, cache.value, finalists, realtime),
        cluster=cluster, more_devices=devices[1:], profile=profile, reuse=_absolute(reuse), models=parse_models(models),
        foretell=foretell, foresee=foresee, calibration=read_constants(calibration),
        objective=sought(objective, maximize, metric), products=precision_of_products.value, ahead=ahead, beam=beam)
    with _directory(out, file.stem) as directory, _reporting(directory, live, live_port) as reporter:
        finish = _begun(options, directory, reporter, picture, wisdom)
    _end(finish)


def _begun(options: RunOptions, directory: Path, reporter: Lines | Bar, picture: bool, wisdom: bool) -> Finish:
    from experiments.run import tune as run

    return _guarded(lambda: run(options, directory, reporter, _parts(picture), wisdom=wisdom), directory)


def resume(directory: RunDirectory, evaluations: Evaluations = None, iterations: Iterations = None,
           minutes: Minutes = None, stop_at: StopAt = None, stagnation: Stagnation = None, device: Devices = None,
           cluster: Elsewhere = None, reuse: Reuse = None, anyway: Anyway = False, trust: Trust = False,
           live: Live = False, live_port: LivePort = None, picture: Picture = True) -> None:
    """Continue a run that was stopped, interrupted or killed, as if it had never stopped.

    Needs only the directory. A new budget extends a finished run; it includes the work already done, and replaces the
    old budget and its goals. Other devices must be of the same model.

    \b
    Examples:
      antune resume antune-runs/gemm-1
      antune resume antune-runs/gemm-1 --evaluations 200
    """
    from experiments.run import More
    from experiments.run import resume as run
    from experiments.values.options import Budget
    from experiments.values.stopping import parse_goal
    from runners.many import Place

    limits = (evaluations, iterations, minutes, parse_goal(stop_at) if stop_at is not None else None, stagnation)
    elsewhere, more = Place(tuple(device or ()), cluster), More(anyway, trust, _absolute(reuse))
    extension = Budget(*limits) if any(limit is not None for limit in limits) else None
    with _reporting(directory, live, live_port) as reporter:
        finish = _guarded(lambda: run(directory, extension, reporter, _parts(picture), elsewhere, more), directory)
    _end(finish)


def _parts(picture: bool) -> Parts:
    from experiments.search.parts import PARTS

    return replace(PARTS, picture=picture)


def _space(given: SpaceChoice | None, file: Path) -> SpaceName:
    """Return the space to search: `given`, or the default of the file."""
    return usual_space(file) if given is None else given.value


def _directory(out: Path | None, name: str) -> AbstractContextManager[Path]:
    """Return the directory that the user named, or the first free one for runs of that name."""
    from experiments.search.run_dirs import RUNS_ROOT, claimed_directory

    return nullcontext(out) if out else claimed_directory(RUNS_ROOT, name)


def _absolute(directories: list[Path] | None) -> tuple[str, ...]:
    return tuple(str(directory.absolute()) for directory in directories or ())


@contextmanager
def _reporting(directory: Path, live: bool, port: int | None) -> Iterator[Lines | Bar]:
    """Yield a reporter that fits standard output; start the live view if the user asked for it."""
    from antune.progress import make_reporter
    from experiments.report.live_view import live_view

    wanted = live or port is not None
    with make_reporter() as reporter, (live_view(directory, port or 0) if wanted else nullcontext("")) as address:
        if wanted:
            reporter.note(f"live view: {address}")
        yield reporter


def _guarded(work: Callable[[], Finish], directory: Path) -> Finish:
    """Do `work`, and report Ctrl-C and devices that run nothing.

    The search handles Ctrl-C itself; at other times the message says whether the run is saved.
    """
    from experiments.search.loop import Refused
    from experiments.store import is_run
    from experiments.words import command

    try:
        return work()
    except Refused as error:
        print(f"antune: {error}", file=sys.stderr)
        raise typer.Exit(NOTHING_VALID) from None
    except KeyboardInterrupt:
        saved = f"`{command('resume', directory)}` goes on" if is_run(directory) else "nothing was saved"
        print(f"antune: interrupted; {saved}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _end(finish: Finish) -> None:
    """Print the result, and exit with the code for it."""
    from antune.tables import print_finish

    print_finish(finish)
    if finish.ending == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if finish.best is None:
        raise typer.Exit(NOTHING_VALID)
