"""The result of `antune.tune`: the figures of a run, its best plan, and all results as a table, a plot or a page."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.run import Finish
from experiments.search.result_table import HEADER, result_rows
from experiments.store import read_store
from experiments.values.objective import TIME
from experiments.values.outcome_rows import kind_of
from experiments.values.records import Result as Evaluated
from experiments.values.sought import Sought, describe_value, own_values, sought_for
from experiments.words import describe_ms, describe_plan, describe_ratio
from generator.errors import InputError
from generator.plan import Value
from metrics.outcome import Timed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.search.summary import Summary
    from generator.plan import Plan


@dataclass(frozen=True, slots=True)
class Best:
    """The best plan of a run and its times: device time in milliseconds, the 95 % interval of the median.

    `speedup` compares with the sequential program (None without one), `speedup_over_default` with the default plan.
    `value` is that of the objective, by which the plan is the best (by default the time); None if the objective has no
    value at these times. `parameters`: of a kernel template.
    """

    evaluation: int
    plan: Plan
    ms: float
    low_ms: float | None
    high_ms: float | None
    speedup: float | None
    speedup_over_default: float | None
    value: float | None

    @property
    def parameters(self) -> dict[str, Value]:
        """The values of a template's parameters; empty for a program."""
        return dict(self.plan.parameters)

    def __repr__(self) -> str:
        """Return its time, then the decisions, one per line."""
        return "\n".join([f"evaluation {self.evaluation}: {describe_ms(self.ms)}", *describe_plan(self.plan)])


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run. Times are in milliseconds, None if nothing valid was found."""

    finish: Finish

    @classmethod
    def of(cls, finish: Finish) -> Result:
        """Return the result of a run that has just ended, with an absolute path: the program may change its directory.
        """
        return cls(replace(finish, directory=finish.directory.absolute()))

    @property
    def directory(self) -> Path:
        """The directory of the run: an absolute path."""
        return self.finish.directory

    @property
    def summary(self) -> Summary:
        """All figures, as in summary.json."""
        return self.finish.summary

    @property
    def best(self) -> Best | None:
        """The best plan with its times of the final measurement; None if nothing valid was found."""
        found, summary = self.finish.best, self.summary
        if found is None or summary.best_ms is None:
            return None
        return Best(found.evaluation.number, found.evaluation.plan, summary.best_ms, summary.best_low_ms,
                    summary.best_high_ms, self.speedup, self.speedup_over_default, summary.best_value)

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
        """The time of the program itself over that of the best plan."""
        return self.summary.speedup_over_sequential

    @property
    def speedup_over_default(self) -> float | None:
        """The time of the default plan over that of the best plan."""
        return self.summary.speedup_over_default

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the program, for example that its results depend on rounding errors."""
        with read_store(self.directory) as store:
            return store.reference().warnings

    @property
    def table(self) -> Any:
        """All evaluations, one row each: a pandas DataFrame if pandas is installed, else a list of dictionaries.

        Columns: `evaluation` (0: the default plan), `iteration`, `status` ("timed", or the kind of failure), `ms`,
        `low_ms`, `high_ms` (as the search measured them; None without a time), `message`, `plan` (its digest),
        `decisions` (in words); for a kernel template, each parameter instead of these, with a `_` at the end of its
        name if that is already a column. With an objective other than the time, `objective` is its value.
        """
        with read_store(self.directory) as store:
            info = store.info()
            sought = sought_for(info.options.objective, info.subject)
            rows = [_row(result, sought) for result in store.results()]
        try:
            from pandas import DataFrame
        except ImportError:
            return rows
        return DataFrame(rows)

    def plot(self) -> Figure:
        """Return the times of all evaluations and the best so far, as a matplotlib figure without a window."""
        from experiments.pictures.stills import drawn
        from experiments.report.convergence import still

        with read_store(self.directory) as store:
            info = store.info()
            sought = sought_for(info.options.objective, info.subject)
            return drawn(still(store.results(), self.summary, sought=sought))

    def report(self) -> Path:
        """Write report.html, and return its path."""
        from experiments.report.page import write_report

        with read_store(self.directory) as store:
            return write_report(store, self.directory)

    def export(self, kind: str, out: str | Path, sizes: Sequence[str] = ()) -> tuple[Path, ...]:
        """Write the best plan or the results into the folder `out`, as `antune export --to KIND`; returns the files.

        `sizes` are other sizes that the function accepts, each like a --size of the command.

        Raises:
            InputError: an unknown kind, nothing to export, a plan that does not work for another size, or `out` cannot
                be written.
        """
        from experiments.exports.kinds import Kind
        from experiments.exports.resized import Resizing
        from experiments.exports.write import export

        if kind not in Kind.__members__.values():
            raise InputError(f"there is no export {kind!r}; use one of {', '.join(Kind)}")
        with read_store(self.directory) as store:
            return export(store, Kind(kind), None, Path(out), resizing=Resizing(tuple(sizes)))

    def __repr__(self) -> str:
        """Return the figures and the winning decisions, one per line."""
        lines = [self._headline, *(f"  {line}" for line in self._decisions), f"  in {self.directory}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same for notebooks: times and ratios as a table."""
        cells = "".join(f"<tr><th style='text-align:left'>{escape(row[0])}</th>"
                        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
                        for row in result_rows(self.summary))
        head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
        decisions = "<br>".join(escape(line) for line in self._decisions)
        return (f"<b>{escape(self.summary.name)}</b> on {escape(self.summary.device)}<table><thead><tr>{head}</tr>"
                f"</thead><tbody>{cells}</tbody></table><details><summary>the best plan</summary>{decisions}</details>"
                f"<code>{escape(str(self.directory))}</code>")

    @property
    def _headline(self) -> str:
        over = (f"{describe_ratio(self.speedup)} over sequential C ({describe_ms(self.sequential_ms)}), "
                if self.sequential_ms is not None else "")
        summary = self.summary
        if summary.objective != TIME:
            best, default = describe_value(summary.best_value), describe_value(summary.default_value)
            return (f"{summary.name} on {summary.device}: {'most' if summary.objective_higher else 'least'} "
                    f"{summary.objective} {best} in {describe_ms(self.best_ms)}; the default plan has {default} in "
                    f"{describe_ms(self.default_ms)}")
        return (f"{self.summary.name} on {self.summary.device}: best {describe_ms(self.best_ms)}, {over}"
                f"{describe_ratio(self.speedup_over_default)} over the default plan ({describe_ms(self.default_ms)})")

    @property
    def _decisions(self) -> Sequence[str]:
        return describe_plan(self.plan) if self.plan else ("nothing valid was found",)


def _row(result: Evaluated, sought: Sought) -> dict[str, Any]:
    """Return one evaluation as a record of plain values."""
    asked, outcome = result.evaluation, result.outcome
    times = (outcome.median_ms, outcome.low_ms, outcome.high_ms) if isinstance(outcome, Timed) else (None, None, None)
    row = {"evaluation": asked.number, "iteration": asked.iteration, "status": kind_of(outcome),
           **dict(zip(("ms", "low_ms", "high_ms"), times, strict=True)),
           "message": None if isinstance(outcome, Timed) else outcome.message}
    if not sought.objective.is_time:
        row["objective"] = next(iter(own_values(sought, result)), None)
    if asked.plan.schedule is None:
        for name, value in asked.plan.parameters:
            row[_free(name, row)] = value
        return row
    return row | {"plan": asked.plan.digest, "decisions": "; ".join(describe_plan(asked.plan))}


def _free(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name
