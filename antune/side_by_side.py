"""Common parts of the suites that search programs side by side: running them, and printing their tables."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from generator.plain_text import printable, shell_word

if TYPE_CHECKING:
    from experiments.studies.side_by_side.entries import Entry
    from experiments.studies.side_by_side.table import Section
    from experiments.studies.side_by_side.wanted import SuiteOptions

INTERRUPTED, NOTHING = 130, 3

Explorers: TypeAlias = Annotated[str, typer.Option("--explorer", "--explorers", metavar="A,B", help="Ways to search.")]
Budget: TypeAlias = Annotated[int, typer.Option("--budget", metavar="N", min=1, help="Evaluations of each search.")]
Minutes: TypeAlias = Annotated[float | None, typer.Option("--minutes", metavar="M", show_default=False,
                                                          help="The most that a search may take.")]
Seeds: TypeAlias = Annotated[
    int, typer.Option("--seeds", metavar="N", min=1, help="Searches per explorer, with the seeds 0 to N - 1.")
]
Out: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--out", metavar="DIR", help="Where the suite is kept: its runs, table.md, table.json, convergence.png."
    ),
]


def run_side_by_side(wanted: SuiteOptions, out: Path, json_file: Path | None) -> None:
    """Run the missing searches of a suite, and print its tables; write them to `json_file`, too.

    Raises InputError, or Exit if it is interrupted or has no result.
    """
    from antune.files import check_place, write_json
    from antune.suite_progress import reporting
    from experiments.studies.side_by_side.suite import Interrupted, run_suite
    from experiments.studies.side_by_side.table import to_data

    wanted.budget  # noqa: B018  # checks the numbers before anything is compiled
    check_place(json_file)
    try:
        with reporting("evaluations") as progress:
            sections = run_suite(wanted, out, _Show(progress))
    except (Interrupted, KeyboardInterrupt):
        again = shlex.join(["antune", *sys.argv[1:]])
        print(f"antune: interrupted; what was done is kept in {out}, `{again}` goes on", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    _print(sections)
    if json_file:
        write_json(json_file, to_data(sections))
    if not sections:
        raise typer.Exit(NOTHING)
    print(
        f"\nFiles: {out}/  (table.md, table.json, convergence.png; `antune list {shell_word(out)}/*/*` shows "
        f"the runs)"
    )


class _Show:
    """See `experiments.studies.side_by_side.suite.Show`."""

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self.progress = progress

    def note(self, text: str) -> None:
        print(printable(text), file=sys.stderr, flush=True)

    def entry(self, entry: Entry) -> None:
        """Print a line per table, as soon as a program is done."""
        from experiments.studies.side_by_side.table import Section, line_tables

        lines = [entry.program]
        for (title, *names), ((_, *cells),) in line_tables(Section((entry,))):
            lines.append(f"{title}: " + ", ".join(f"{name} {cell}" for name, cell in zip(names, cells, strict=True)))
        self.note("\n  ".join(lines))


def _print(sections: Sequence[Section]) -> None:
    from antune.tables import print_table
    from experiments.studies.side_by_side.table import BRACKETS, notes, tables

    for section in sections:
        print(f"\n{section.title}")
        for table in tables(section):
            print_table(*table)
    if sections:
        print(f"Times are medians; {BRACKETS}.")
    for note in dict.fromkeys(note for section in sections for note in notes(section)):
        print(f"{note[0].upper()}{note[1:]}.")
