"""The result of a step as a JSON and a Markdown file, written atomically."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree

from experiments.files import write_atomically
from experiments.studies.first_contact.steps import Step

State: TypeAlias = Literal["done", "not finished", "failed", "cannot be run"]
SUMMARY = "summary"
IDLE = ("skipped", "fails")
"""States of rows of a result, tests and devices, that show that nothing was done."""
REASON_CHARS = 600


@dataclass(frozen=True, slots=True)
class Told:
    """The result of a step. `exit_code` is None if it was stopped or not run; `output` are its last lines, or why it
    cannot be run.
    """

    name: str
    title: str
    state: State
    seconds: float
    exit_code: int | None
    command: tuple[str, ...]
    output: str
    result: Any = None


def write_told(told: Told, step: Step, folder: Path) -> None:
    """Write NAME.json and NAME.md. Raises OSError if they cannot be written."""
    write_atomically(folder / f"{told.name}.json", json.dumps(asdict(told), indent=2, default=str) + "\n")
    write_atomically(folder / f"{told.name}.md", _page(told, step))


def read_told(name: str, folder: Path) -> Told | None:
    """Return the latest result of a step; None if it was never run or its file is damaged.

    A step that did nothing is not done, whatever the file says.
    """
    try:
        data = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        return judged(Told(**{**data, "command": tuple(data["command"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def judged(told: Told) -> Told:
    """Return the result; if all of a step's tests were skipped, or its list is empty, it could not be run."""
    reason = _idle_because(told) if told.state == "done" else ""
    return replace(told, state="cannot be run", output=reason) if reason else told


def _idle_because(told: Told) -> str:
    """Return why a step did nothing; empty if it did something."""
    rows = told.result
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.get("state") in IDLE for row in rows):
        return ""
    if not rows:
        said = "; ".join(line.strip() for line in told.output.splitlines() if line.strip())
        return f"there was nothing to do: {said[:REASON_CHARS]}"
    reasons = dict.fromkeys(str(row.get("message") or row.get("note") or "no reason was given") for row in rows)
    return f"{len(rows)} of {len(rows)} {rows[0]['state']}: {'; '.join(reasons)[:REASON_CHARS]}"


def write_summary(found: Sequence[Told], folder: Path) -> None:
    """Write summary.json and summary.md, with a line per step. Raises OSError if they cannot be written."""
    lines = [{"step": one.name, "what": one.title, "state": one.state, "seconds": round(one.seconds)} for one in found]
    write_atomically(folder / f"{SUMMARY}.json", json.dumps(lines, indent=2) + "\n")
    write_atomically(folder / f"{SUMMARY}.md", "# First contact\n\n" + table(lines) + "\n")


def read_result(step: Step) -> Any:
    """Return the output file of a step's command; None if it is missing or incomplete."""
    try:
        if step.result.suffix == ".xml":
            return [_case(case) for case in ElementTree.parse(step.result).iter("testcase")]
        return json.loads(step.result.read_text(encoding="utf-8"))
    except (OSError, ValueError, ElementTree.ParseError):
        return None


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table with the columns of the first row."""
    if not rows:
        return "(nothing)"
    names = list(rows[0])
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [names, ["---"] * len(names), *cells])


def _case(case: ElementTree.Element) -> dict[str, Any]:
    bad = next((child for kind in ("failure", "error", "skipped") for child in case.iter(kind)), None)
    return {"test": case.get("name"), "state": "passed" if bad is None else bad.tag,
            "seconds": float(case.get("time") or 0), "message": "" if bad is None else bad.get("message", "")[:300]}


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def _page(told: Told, step: Step) -> str:
    parts = [f"# {told.title}", f"{told.state}, {told.seconds:.0f} s"]
    if step.table is not None and step.table.exists():
        parts.append(step.table.read_text(encoding="utf-8"))
    else:
        parts += _tables(told.result)
    if told.state != "done" and told.output:
        parts.append(f"```\n{told.output}\n```")
    return "\n\n".join(parts) + "\n"


def _tables(result: Any) -> list[str]:
    """Return lists of objects as tables, one below the other; nested objects likewise."""
    if isinstance(result, list) and result and all(isinstance(row, dict) for row in result):
        return [table(result)]
    if isinstance(result, dict):
        plain = [{"": name, "value": value} for name, value in result.items() if not isinstance(value, list | dict)]
        deeper = [part for name, value in result.items() if isinstance(value, list | dict)
                  for part in (f"## {name}", *(_tables(value) or [_cell(value)]))]
        return ([table(plain)] if plain else []) + deeper
    return [] if result is None else [_cell(result)]
