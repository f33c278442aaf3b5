"""Tuning from Python: `antune.tune`, `antune.resume`, and what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antune.options import parse_budget, parse_scoped, usual_space
from antune.reporters import ReporterName, opened
from experiments.run import Finish, More, Reporter
from experiments.run import resume as resume_run
from experiments.run import tune as tune_run
from experiments.search.run_dirs import RUNS_ROOT, claimed_directory
from experiments.store import read_store
from experiments.values.options import Budget, LevelName, RunOptions, SpaceName, Timing
from experiments.words import describe_ms, describe_plan, describe_ratio
from generator.frontend_c.source import PROGRAM_LIMIT_S

if TYPE_CHECKING:
    from experiments.search.summary import Summary
    from generator.plan import Plan


@dataclass(frozen=True, slots=True)
class Result:
    """What a run came to. Times are in milliseconds, None where nothing valid was found."""

    finish: Finish

    @property
    def directory(self) -> Path:
        """Where the run is kept."""
        return self.finish.directory

    @property
    def summary(self) -> Summary:
        """All figures, as in summary.json."""
        return self.finish.summary

    @property
    def plan(self) -> Plan | None:
        """The best plan."""
        return self.finish.best.evaluation.plan if self.finish.best else None

    @property
    def best_ms(self) -> float | None:
        """The device time of the best plan."""
        return self.summary.best_ms

    @property
    def default_ms(self) -> float | None:
        """The device time of the default plan."""
        return self.summary.default_ms

    @property
    def sequential_ms(self) -> float | None:
        """The wall-clock time of the program itself, compiled for this machine."""
        return self.summary.sequential_ms

    @property
    def speedup(self) -> float | None:
        """How many times faster the best plan is than the program itself."""
        return self.summary.speedup_over_sequential

    @property
    def speedup_over_default(self) -> float | None:
        """How many times faster the best plan is than the default plan."""
        return self.summary.speedup_over_default

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was noticed about the program, such as results that rounding errors decide."""
        with read_store(self.directory) as store:
            return store.reference().warnings

    def report(self) -> Path:
        """Write report.html; returns its path."""
        from experiments.report.page import write_report

        with read_store(self.directory) as store:
            return write_report(store, self.directory)

    def export(self, kind: str, out: str | Path, sizes: Sequence[str] = ()) -> tuple[Path, ...]:
        """Write the best plan or the results into the folder `out`, as `antune export --to KIND`; returns the files.

        `sizes` are other sizes that the function takes, too, each like a --size of the command.

        Raises:
            InputError: there is no such kind, nothing to export, the plan does not do for another size, or `out` cannot
                be written.
        """
        from experiments.exports.kinds import Kind
        from experiments.exports.resized import Resizing
        from experiments.exports.write import export
        from generator.errors import InputError

        if kind not in Kind.__members__.values():
            raise InputError(f"there is no export {kind!r}; use one of {', '.join(Kind)}")
        with read_store(self.directory) as store:
            return export(store, Kind(kind), None, Path(out), resizing=Resizing(tuple(sizes)))

    def __repr__(self) -> str:
        """The figures and the winning decisions, a line each."""
        lines = [(f"{self.summary.name} on {self.summary.device}: best {describe_ms(self.best_ms)}, "
                 f"{describe_ratio(self.speedup)} over sequential C ({describe_ms(self.sequential_ms)}), "
                 f"{describe_ratio(self.speedup_over_default)} over the default plan ({describe_ms(self.default_ms)})"),
                 *(f"  {line}" for line in (describe_plan(self.plan) if self.plan else ("nothing valid was found",))),
                 f"  in {self.directory}"]
        return "\n".join(lines)


def tune(source: str | Path, *, evaluations: int | None = None, iterations: int | None = None,
         minutes: float | None = None, stop_at: str | None = None, stagnation: int | None = None,
         defines: Sequence[str] = (), includes: Sequence[str | Path] = (),
         sources: Sequence[str | Path] = (), cflags: str = "", args: str = "", stdin: str | Path | None = None,
         program_limit: float = PROGRAM_LIMIT_S, random_inputs: bool = False,
         function: str | None = None, scop: int | None = None, parameters: Mapping[str, int] | None = None,
         explorer: str | type[Any] = "colony", ants: int = 10, seed: int = 0, device: str | Sequence[str] | None = None,
         cluster: str | None = None, space: SpaceName | None = None, level: LevelName = "o1",
         strict_float: bool = False, finalists: int = 5, out: str | Path | None = None,
         reporter: ReporterName | Reporter = "text") -> Result:
    """Search for fast code for a C file or a pipeline (`FILE.py` or `FILE.py:FUNCTION`), as `antune tune` does.

    Everything has the meaning of the option of the same name (`antune tune --help`). `parameters` are --param (and the
    sizes of pipelines: width, height), `out` is the directory of the run (default: antune-runs/NAME-N), `explorer` may
    be a class (see docs/python.md), `reporter` who tells how the run gets on: "silent", "text", "rich" (a bar),
    "notebook", or an object of your own with `note`, `begin` and `result`.

    Raises:
        InputError: whatever is wrong with the input, in one sentence that says what to do.
    """
    sizes = [f"{name}={value}" for name, value in (parameters or {}).items()]
    scoped = parse_scoped(Path(source), [Path(folder) for folder in includes], list(defines),
                          [Path(file) for file in sources], cflags, function, scop, sizes, None, args,
                          None if stdin is None else Path(stdin), program_limit, random_inputs)
    devices = (device,) if isinstance(device, str) else tuple(device or ())
    options = RunOptions(
        str(scoped.file), scoped.compilation, parse_budget(evaluations, iterations, minutes, stop_at, stagnation),
        scoped.function, scoped.scop, scoped.parameters, _explorer_name(explorer), ants, seed, devices[0] if devices
        else None, space or usual_space(scoped.file), level, strict_float,
        timing=Timing(finalists=finalists), more_devices=devices[1:], cluster=cluster)
    place = nullcontext(Path(out)) if out is not None else claimed_directory(RUNS_ROOT, scoped.file.stem)
    with place as directory, opened(reporter) as told:
        return Result(tune_run(options, directory, told))


def resume(directory: str | Path, *, evaluations: int | None = None, iterations: int | None = None,
           minutes: float | None = None, trust: bool = False, reporter: ReporterName | Reporter = "text") -> Result:
    """Go on with a run, as `antune resume` does; a new budget replaces the old one. `trust`: see docs/security.md.

    Raises:
        InputError: there is no run, it cannot go on here, or it is somebody else's and needs `trust`.
    """
    given = any(limit is not None for limit in (evaluations, iterations, minutes))
    with opened(reporter) as told:
        return Result(resume_run(Path(directory), Budget(evaluations, iterations, minutes) if given else None, told,
                                 more=More(trust=trust)))


def _explorer_name(explorer: str | type[Any]) -> str:
    """The name by which a run finds its explorer again: that of a class is where it can be imported from."""
    return explorer if isinstance(explorer, str) else f"{explorer.__module__}:{explorer.__qualname__}"
