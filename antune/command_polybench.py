"""`antune suite polybench`: programs searched in several ways, side by side."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antune.command_run import LevelChoice
from antune.options import Defines, Device

if TYPE_CHECKING:
    from experiments.side_by_side.entries import Entry
    from experiments.side_by_side.table import Section

INTERRUPTED, NOTHING = 130, 3
SUITE_ROOT = Path("antune-suites") / "polybench"


class FloatChoice(StrEnum):
    """The type of the programs' numbers."""

    float = "float"
    double = "double"


Programs = Annotated[str, typer.Option("--programs", metavar="A,B", help="Programs by name, or groups of them: blas, kernels, "
                                       "solvers, datamining, stencils, medley, core (sixteen), all.")]
Size = Annotated[str | None, typer.Option("--size", metavar="SIZE", show_default=False, help="mini, small, medium, large or "
                                          "extralarge, as `-D SMALL_DATASET`. Default: medium.")]
Type = Annotated[FloatChoice, typer.Option("--type", help="The type of floating-point numbers.")]
Explorers = Annotated[str, typer.Option("--explorer", "--explorers", metavar="A,B", help="Ways to search.")]
Budget = Annotated[int, typer.Option("--budget", metavar="N", min=1, help="Evaluations of each search.")]
Minutes = Annotated[float | None, typer.Option("--minutes", metavar="M", show_default=False, help="The most that a search may "
                                               "take.")]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Searches per explorer, with the seeds 0 to N - 1.")]
Level = Annotated[LevelChoice, typer.Option("--level", help="Who decides the schedule, see `antune tune`.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the suite is kept: its runs, table.md, table.json.")]


def polybench(programs: Programs = "core", size: Size = None, define: Defines = None, type_: Type = FloatChoice.float,
              explorer: Explorers = "random,colony", budget: Budget = 20, minutes: Minutes = None, seeds: Seeds = 1,
              level: Level = LevelChoice.o2, device: Device = None, out: Out = SUITE_ROOT) -> None:
    """Tune PolyBench programs in several ways, and compare what they find.

    For each program: sequential C, the default plan, the default plan with the best tile size, and the best plan of each
    explorer. These are measured again in turns at the end, so that the ratios do not depend on the machine's mood. Every
    search is a run below --out. A suite that was stopped or killed goes on with the same command; one that is given more
    programs, explorers, seeds or budget does what is missing. The tables show all that --out holds.

    \b
    Examples:
      antune suite polybench --programs gemm,mvt,atax --size small --budget 10
      antune suite polybench --programs core --size large --budget 50 --device pocl --level o2
      antune suite polybench --programs stencils --explorer random,genetic,colony --seeds 6
    """
    from antune.suite_progress import reporting
    from experiments.side_by_side.suite import Interrupted, run_suite
    from experiments.side_by_side.wanted import SuiteOptions, parse_programs, split_size

    size, defines = split_size(tuple(define or ()), size)
    names = tuple(dict.fromkeys(word.strip() for word in explorer.split(",") if word.strip()))
    wanted = SuiteOptions(parse_programs(programs), size, type_.value, defines, names, budget, minutes, seeds, device,
                          level.value)
    wanted.budget  # noqa: B018  # checks the numbers before anything is compiled
    try:
        with reporting("evaluations") as progress:
            sections = run_suite(wanted, out, _Show(progress))
    except (Interrupted, KeyboardInterrupt):
        again = shlex.join(["antune", *sys.argv[1:]])
        print(f"antune: interrupted; what was done is kept in {out}, `{again}` goes on", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    _print(sections)
    if not sections:
        raise typer.Exit(NOTHING)
    print(f"\nFiles: {out}/  (table.md, table.json; `antune list {shlex.quote(str(out))}/*/*` shows the runs)")


class _Show:
    """See `experiments.side_by_side.suite.Show`."""

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self.progress = progress

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def entry(self, entry: Entry) -> None:
        """One line, as soon as a program is done."""
        from experiments.side_by_side.table import Section, speedups, times

        words = []
        for (title, *names), ((_, *cells),) in (times(Section((entry,))), speedups(Section((entry,)))):
            words.append(f"{title}: " + ", ".join(f"{name} {cell}" for name, cell in zip(names, cells, strict=True)))
        self.note(f"{entry.program}: {'; '.join(words)}")


def _print(sections: Sequence[Section]) -> None:
    from antune.tables import print_table
    from experiments.side_by_side.table import BRACKETS, mean_table, speedups, times

    for section in sections:
        print(f"\n{section.title}")
        for table in (times(section), speedups(section), mean_table(section)):
            print_table(*table)
    if sections:
        print(f"Times are medians; {BRACKETS}.")
