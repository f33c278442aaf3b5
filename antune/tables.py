"""Tables for terminals: the result of a run, lists of runs and devices."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from experiments.run import Finish
from experiments.search.result_table import C_TIME, HEADER, PLAN_TIME, result_notes, result_rows
from experiments.search.run_dirs import Listed
from experiments.search.summary import describe_final
from experiments.words import command, describe_ms, describe_percent, describe_plan, describe_ratio, describe_seconds
from generator.plain_text import printable
from runners.base import DeviceInfo

if TYPE_CHECKING:
    from rich.table import Table

    from runners.devices import Survey

WIDE = 160


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; columns after the first are aligned right if all their cells are numbers.

    If the terminal is too narrow for it, each row becomes a few lines.
    """
    from rich.console import Console

    terminal, table = sys.stdout.isatty(), _table(header, rows)
    console = Console(width=None if terminal else WIDE)  # a file or a pipe has no edge to wrap at
    if not terminal or Console(width=10 * WIDE).measure(table).maximum <= console.width:
        console.print(table)
        return
    for first, *others in rows:
        print(f"\n{header[0]} {first}".rstrip() if header[0] else f"\n{first}")
        for name, cell in zip(header[1:], others, strict=True):
            print(printable(f"  {name}: {cell}"))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE)
    for number, name in enumerate(header):
        numeric = number > 0 and all(row[number].lstrip("-")[:1].isdigit() or row[number] == "-" for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def print_finish(finish: Finish) -> None:
    """Print the result of a run: times, ratios, the winning decisions, the files, and the shares of the time."""
    summary = finish.summary
    print(f"\n{summary.name} on {summary.device}: {_ended(finish)}")
    print_table(HEADER, result_rows(summary))
    for note in result_notes(summary):
        print(note)
    if finish.best is not None:
        print(f"The winning decisions (evaluation {finish.best.evaluation.number}):")
        for line in describe_plan(finish.best.evaluation.plan):
            print(f"  {line}")
        if summary.final is not None:
            print(describe_final(summary.final, summary.objective))
    else:
        print("Nothing valid was found: results.csv says what failed, `antune report` shows the messages.")
    failed = {kind: n for kind, n in summary.outcomes.items() if kind != "timed"}
    if failed:
        print("Failed: " + ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in failed.items()))
    if summary.devices:
        print("Devices: " + ", ".join(f"{name} ({n} plans)" for name, n in summary.devices.items()))
    shares = summary.shares
    print(
        f"Time: {describe_seconds(summary.elapsed_s)}; of the work: generate {describe_percent(shares.generate)}, "
        f"compile {describe_percent(shares.compile)}, check {describe_percent(shares.check)}, time "
        f"{describe_percent(shares.time)}"
    )
    print(f"Files: {finish.directory}/  ({', '.join(_files(finish))})")
    print(_next_step(finish))


def _files(finish: Finish) -> list[str]:
    """Return the files that a session wrote at its end."""
    names = ["summary.json", "results.csv", "convergence.png"]
    if finish.best is not None:
        code = sorted(path.name for path in finish.directory.glob("best.*") if path.suffix != ".json")
        names += ["best.json", *code]
    return [name for name in names if (finish.directory / name).exists()]


def _ended(finish: Finish) -> str:
    words = {"finished": "finished", "exhausted": "every plan was tried", "interrupted": "interrupted, saved"}
    why = f": {finish.summary.reason}" if finish.ending == "finished" and finish.summary.reason else ""
    count = finish.summary.evaluations
    return f"{words[finish.ending]} after {count} evaluation{'s' * (count != 1)}{why}"


def _next_step(finish: Finish) -> str:
    verb = "resume" if finish.ending == "interrupted" else "report"
    return f"Next: {command(verb, finish.directory)}"


def print_runs(runs: Sequence[Listed]) -> None:
    """Print one line per run."""
    rows = []
    for run in runs:
        found = run.summary
        if found is None:
            rows.append((str(run.directory), run.status, "-", "-", "-", "-", "-", "-"))
            continue
        rows.append((str(run.directory), run.status, str(found.evaluations), describe_ms(found.sequential_ms),
                     describe_ms(found.default_ms), describe_ms(found.best_ms),
                     describe_ratio(found.speedup_over_sequential), found.device))
    header = ("run", "status", "plans", "sequential C", "default plan", "best plan", "vs sequential C", "device")
    print_table(header, rows)
    print(f"Plans: {PLAN_TIME}. Sequential C: {C_TIME}.")


def print_devices(devices: Sequence[DeviceInfo]) -> None:
    """Print one line per device, with the limits that shape the search."""
    rows = [(str(number), d.name, d.platform, d.driver, str(d.target.compute_units), str(d.target.max_threads),
             f"{d.target.local_bytes // 1024} KiB", ", ".join(d.features)) for number, d in enumerate(devices)]
    print_table(("#", "device", "platform", "driver", "units", "threads/block", "shared", "features"), rows)


def print_broken(seen: Survey) -> None:
    """Print what is wrong with the devices that do not work, and what others need: repairs, other compilers."""
    for device in seen.devices:
        if repair := seen.repairs.get(device.key):
            print(f"{device.platform}, {device.name}: {repair}.")
        if device.warning:
            print(f"warning: {device.platform}, {device.name}: {device.warning}")
    for entry in seen.broken:
        print(f"DOES NOT WORK: {entry.device.platform}, {entry.device.name}: a kernel of one line fails:")
        for line in entry.reason.splitlines():
            print(f"    {line}")
        print(f"    -> {entry.remedy}")


def device_rows(seen: Survey) -> list[dict[str, Any]]:
    """Return every device as in the JSON file, those that work first.

    Each has `state`, `note` (a repair, or why it fails) and `remedy`.
    """
    rows = [{**asdict(device), "state": "repaired" if device.key in seen.repairs else "works",
             "note": seen.repairs.get(device.key, ""), "remedy": ""} for device in seen.devices]
    return rows + [{**asdict(entry.device), "state": "fails", "note": entry.reason, "remedy": entry.remedy}
                   for entry in seen.broken]
