"""Tuning from Python: `antune.tune` and `antune.resume`; `result.py` has what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from antune.arguments import (
    ExplorerLike,
    Paths,
    Texts,
    check_single,
    explorer_name,
    paths,
    texts,
    with_plain_numbers,
    words,
)
from antune.parsing import parse_budget, parse_models
from antune.reporters import ReporterName, opened
from antune.result import Best, Result
from antune.sources import CWords, Source, built_here, fit_name, in_file, name_of, of_file, plain_parameters
from experiments.run import More, Reporter
from experiments.run import resume as resume_run
from experiments.run import tune as tune_run
from experiments.search.run_dirs import RUNS_ROOT, claimed_directory
from experiments.values.objective import named_metrics, parse_objective
from experiments.values.options import USUAL_MODELS, Budget, LevelName, RunOptions, SpaceName, Timing
from experiments.values.records import Result as Evaluated
from generator.frontend_c.source import PROGRAM_LIMIT_S, Compilation
from generator.precision import Products

__all__ = ["Best", "Result", "resume", "tune"]


@with_plain_numbers
def tune(source: Source, *, evaluations: int | None = None, iterations: int | None = None,
         minutes: float | None = None, stop_at: str | None = None, stagnation: int | None = None,
         defines: Texts = (), includes: Paths = (), sources: Paths = (), cflags: Texts = "", args: Texts = "",
         stdin: str | Path | None = None, program_limit: float = PROGRAM_LIMIT_S, random_inputs: bool = False,
         function: str | None = None, scop: int | None = None, parameters: Mapping[str, float] | None = None,
         explorer: ExplorerLike = "colony", ants: int = 10, ahead: bool = False, seed: int = 0,
         device: Texts | None = None, cluster: str | None = None, space: SpaceName | None = None,
         level: LevelName = "o1", strict_float: bool = False, precision_of_products: Products = "full",
         finalists: int = 5, out: str | Path | None = None, name: str | None = None, wisdom: bool = False,
         models: Texts = USUAL_MODELS, objective: str = "time", maximize: bool | None = None,
         metrics: Mapping[str, str] | None = None, reporter: ReporterName | Reporter | None = None,
         on_result: Callable[[Evaluated], object] | None = None) -> Result:
    """Search for fast code, as `antune tune` does.

    `source`: a file (C, `FILE.py:FUNCTION`, T1), C text, or an object built by this program: an output Func or several,
    a kernel template, or a function that returns one of these and takes `parameters`. All other arguments correspond to
    the options of the same name (`antune tune --help`). `parameters` are --param (sizes of pipelines: width, height),
    `out` is the directory of the run (default: antune-runs/NAME-N), `explorer` may be a class or a function,
    `reporter` is a name or an object (docs/python.md; None: a bar in notebooks, else lines). `models` are the plan
    makers with whose plans the search begins: "sioutas", "polymage-dp", "beam", or several, as a list or with commas;
    "none" for none; "usual" for those that pay (docs/models.md). `objective` is an expression over times and metrics to
    minimize, or to maximize (`maximize`); `metrics` defines further metrics (docs/objectives.md). What the command line
    repeats or splits (`device`, `defines`, `includes`, `sources`, `cflags`, `args`) may be a text or a list.
    `on_result` is called with each evaluation after it is stored; an exception from it ends the search.

    Raises:
        InputError: the input is wrong; the message is one sentence with a remedy.
    """
    check_single(stop_at=stop_at, cluster=cluster, space=space, level=level, function=function, ants=ants, seed=seed,
                 finalists=finalists, scop=scop, program_limit=program_limit)
    said = CWords(texts("defines", defines), paths("includes", includes), paths("sources", sources),
                  words("cflags", cflags), words("args", args), stdin, program_limit, random_inputs, function, scop)
    devices, sizes = () if device is None else texts("device", device), parameters or {}
    options = RunOptions("", Compilation(), parse_budget(evaluations, iterations, minutes, stop_at, stagnation),
                         explorer=explorer_name(explorer), ants=ants, ahead=ahead, seed=seed,
                         models=parse_models(",".join(texts("models", models))), device=next(iter(devices), None),
                         level=level, strict_float=strict_float, timing=Timing(finalists=finalists),
                         more_devices=devices[1:], cluster=cluster, products=precision_of_products,
                         objective=parse_objective(objective, maximize, named_metrics(metrics)))
    return _tuned(source, said, sizes, space, options, out, name, wisdom, opened(reporter, on_result))


@with_plain_numbers
def resume(directory: str | Path, *, evaluations: int | None = None, iterations: int | None = None,
           minutes: float | None = None, trust: bool = False, reporter: ReporterName | Reporter | None = None,
           on_result: Callable[[Evaluated], object] | None = None) -> Result:
    """Continue a run, as `antune resume` does; a new budget replaces the old one. `trust`: see docs/security.md.

    Raises:
        InputError: there is no run, it cannot continue here, or it is somebody else's and needs `trust`.
    """
    given = any(limit is not None for limit in (evaluations, iterations, minutes))
    with opened(reporter, on_result) as told:
        return Result.of(resume_run(Path(directory), Budget(evaluations, iterations, minutes) if given else None, told,
                                    more=More(trust=trust)))


def _tuned(source: Source, said: CWords, sizes: Mapping[str, float], space: SpaceName | None, options: RunOptions,
           out: str | Path | None, name: str | None, wisdom: bool,
           reporting: AbstractContextManager[Reporter]) -> Result:
    """Run the search that `options` describe, on `source`."""
    name, sizes = fit_name(name), plain_parameters(sizes)
    built = built_here(source, sizes, name)
    title = name_of(source, built, name)
    place = nullcontext(Path(out)) if out is not None else claimed_directory(RUNS_ROOT, title)
    with place as directory, reporting as told:
        if built is not None:
            given = built.given(replace(options, space=space or built.space), said)
            return Result.of(tune_run(given.options, directory, told, given.parts, given.text, wisdom))
        with in_file(str(source), directory, title) as file:
            given = of_file(file, said, sizes, space, options)
            return Result.of(tune_run(given.options, directory, told, wisdom=wisdom))
