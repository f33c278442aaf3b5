"""A recording: measurements of a space's configurations or walks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from generator.errors import InputError
from generator.plan import Plan
from generator.templates.template import template_plan
from graph.recorded import Answer
from graph.space import Option
from metrics.outcome import Outcome, Timed, cost_ms

WALK = "recorded walk"
"""The parameter of a Plan for the number of a walk in a recording."""


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded evaluation: the choices in their order, and the outcome."""

    choices: tuple[Answer, ...]
    outcome: Outcome

    @property
    def seconds(self) -> float:
        """The total time of the evaluation; a failure takes time, too."""
        spent = self.outcome.durations
        return spent.generate_s + spent.compile_s + spent.check_s + spent.time_s


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a recording, as far as known; `made` is a date, `size` the program's."""

    program: str = ""
    size: str = ""
    driver: str = ""
    made: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """Rows with different choices, at least one of them timed.

    `fixed`: every row decides the same named parameters (a Kernel Tuner or T4 file); otherwise rows are walks, whose
    later decisions depend on earlier ones. `notes` are messages to the user about the file.
    """

    name: str
    device: str
    rows: tuple[Row, ...]
    fixed: bool
    origin: Origin = Origin()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The Plans of the rows: a template's, or the number of the walk."""
        if self.fixed:
            return tuple(template_plan((name, _value(option)) for name, _, option in row.choices) for row in self.rows)
        return tuple(Plan(None, (), parameters=((WALK, number),)) for number in range(len(self.rows)))

    @property
    def optimum_ms(self) -> float:
        """The best recorded time."""
        return min(row.outcome.median_ms for row in self.rows if isinstance(row.outcome, Timed))


def make_recording(path: Path, name: str, device: str, rows: Sequence[Row], fixed: bool, origin: Origin = Origin(),
                   notes: tuple[str, ...] = ()) -> Recording:
    """Return the recording that was read from `path`; of rows with equal choices, the last one counts.

    Raises:
        InputError: no row is timed.
    """
    different = {row.choices: row for row in rows}
    if all(cost_ms(row.outcome) is None for row in different.values()):
        raise InputError(f"{path} holds no valid configuration ({len(rows)} entries, all failed); use a recording with "
                         "at least one measured time")
    return Recording(name, device, tuple(different.values()), fixed, origin, notes)


def _value(option: Option) -> str | int | float | bool:
    if isinstance(option, tuple):
        raise TypeError(f"{option!r} is not a value of a parameter")
    return option
