"""Suites of programs searched side by side, with the toy runner in place of a device."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.search.parts import Parts
from experiments.studies.side_by_side.entries import Entry
from experiments.studies.side_by_side.suite import run_suite
from experiments.studies.side_by_side.table import Section
from experiments.studies.side_by_side.wanted import SuiteOptions
from runners.base import DeviceInfo
from tests.support.runs import DEVICE, ToyRunner, toy_parts


@dataclass
class Shown:
    """Keeps all messages."""

    notes: list[str] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def note(self, text: str) -> None:
        """See `experiments.studies.side_by_side.suite.Show`."""
        self.notes.append(text)

    def progress(self, done: int, total: int) -> None:
        """See `experiments.studies.side_by_side.suite.Show`."""
        self.steps.append((done, total))

    def entry(self, entry: Entry) -> None:
        """See `experiments.studies.side_by_side.suite.Show`."""
        self.entries.append(entry)


def suite(folder: Path, wanted: SuiteOptions, runner: ToyRunner | None = None,
          parts: Parts | None = None) -> tuple[tuple[Section, ...], Shown]:
    """Return the sections of a suite on the toy device, and the messages."""
    def find(_name: str | None) -> DeviceInfo:
        return DEVICE

    shown = Shown()
    return run_suite(wanted, folder, shown, parts or toy_parts(runner or ToyRunner()), find), shown


def figures(entry: Entry) -> Entry:
    """Return the part that does not depend on the load of the machine."""
    return replace(entry, measured_at="", load=0.0)
