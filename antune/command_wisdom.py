"""`antune wisdom`: list, forget, export and import the best known plans of this user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from generator.errors import InputError

if TYPE_CHECKING:
    from experiments.wisdom.database import Wisdom
    from experiments.wisdom.entry import Entry

wisdom = typer.Typer(no_args_is_help=True, rich_markup_mode=None,
                     context_settings={"help_option_names": ["-h", "--help"]},
                     help="The best known plans for each program, its sizes and the device.")
Database: TypeAlias = Annotated[Path | None, typer.Option(
    "--database", metavar="FILE", show_default=False, help="Use another database. Default: $ANTUNE_WISDOM, else "
                                                           "antune/wisdom.sqlite in the data folder, ~/.local/share.")]
Which: TypeAlias = Annotated[list[str] | None, typer.Argument(
    metavar="[PLAN]...", show_default=False, help="Numbers of `antune wisdom list`, or names of programs.")]


def _opened(database: Path | None) -> Wisdom:
    from experiments.wisdom.database import Wisdom
    from experiments.wisdom.place import wisdom_file

    path = database.absolute() if database else wisdom_file()
    if path is None:
        raise InputError("wisdom is off ($ANTUNE_WISDOM), so there is none; name a file with --database")
    return Wisdom(path)


def _chosen(entries: Sequence[Entry], which: Sequence[str]) -> list[Entry]:
    """Return the entries with these numbers or names. Raises InputError for an unknown one."""
    found: dict[int, Entry] = {}
    for word in which:
        there = {number: entry for number, entry in enumerate(entries, 1)
                 if word in (str(number), entry.subject.name)}
        if not there:
            raise InputError(f"wisdom has no plan {word!r}; `antune wisdom list` shows {len(entries)}")
        found |= there
    return [found[number] for number in sorted(found)]


def _sizes(entry: Entry) -> str:
    return " ".join(f"{name}={value}" for name, value in entry.subject.sizes) or "-"


@wisdom.command("list")
def list_plans(database: Database = None) -> None:
    """List what is known: programs, sizes, devices, times."""
    from antune.tables import print_table
    from experiments.words import describe_ms, describe_ratio

    found = _opened(database)
    entries = found.entries()
    if not entries:
        print(f"There is no wisdom yet in {found.path}; each run that ends leaves its best plan there.")
        return
    rows = [(str(number), entry.subject.name, _sizes(entry), f"{entry.device} ({entry.platform})",
             describe_ms(entry.ms), describe_ratio(entry.speedup),
             f"{entry.made_at[:10]}{'' if entry.own else ', imported'}") for number, entry in enumerate(entries, 1)]
    print_table(("", "program", "sizes", "device", "time", "vs default plan", "from"), rows)


@wisdom.command()
def show(which: Which = None, database: Database = None) -> None:
    """Show plans in words, and as JSON for `antune explain --plan`."""
    from experiments.words import describe_ms, describe_plan
    from generator.plain_text import printable

    entries = _opened(database).entries()
    for entry in _chosen(entries, which) if which else entries:
        lines = [f"{entry.subject.name} ({_sizes(entry)}) on {entry.device}: {describe_ms(entry.ms)}",
                 *(f"  {line}" for line in describe_plan(entry.plan)), f"  {entry.plan.to_json()}"]
        print(printable("\n".join(lines)))


@wisdom.command()
def forget(which: Which = None, everything: Annotated[bool, typer.Option(
        "--all", help="Forget all plans.")] = False, database: Database = None) -> None:
    """Forget plans."""
    found = _opened(database)
    entries = found.entries()
    if not which and not everything:
        raise InputError("say which plans to forget: numbers of `antune wisdom list`, names of programs, or --all")
    if which and everything:
        raise InputError("--all forgets all plans: leave it out, or the numbers and names")
    gone = list(entries) if everything else _chosen(entries, which or ())
    found.forget(gone)
    print(f"{len(gone)} plan{'s' * (len(gone) != 1)} forgotten")


@wisdom.command("export")
def export_plans(file: Annotated[Path, typer.Argument(metavar="FILE.json", show_default=False)], which: Which = None,
                 database: Database = None) -> None:
    """Write plans as JSON, for another machine or another person."""
    from experiments.wisdom.exchange import export_wisdom

    entries = _opened(database).entries()
    chosen = _chosen(entries, which) if which else list(entries)
    export_wisdom(chosen, file)
    print(f"{len(chosen)} plan{'s' * (len(chosen) != 1)} written to {file}")


@wisdom.command("import")
def import_plans(file: Annotated[Path, typer.Argument(metavar="FILE.json", show_default=False)],
                 database: Database = None) -> None:
    """Take plans that `antune wisdom export` wrote; they never replace what was measured here."""
    from experiments.wisdom.exchange import import_wisdom

    entries = import_wisdom(file)
    kept = _opened(database).keep(entries)
    others = "; of the others the same or something better is known" if kept < len(entries) else ""
    print(f"{kept} of {len(entries)} plan{'s' * (len(entries) != 1)} taken{others}")
