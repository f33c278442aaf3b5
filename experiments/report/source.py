"""The tuned program: its lines with the names of statements, and the kernel that runs each."""

from __future__ import annotations

from html import escape
from itertools import groupby
from pathlib import Path

from experiments.report.facts import Facts, kernels_of
from experiments.report.html import Section, note, shortened, table
from generator.templates.template import Template

BEFORE, AFTER = 2, 1
"""Lines shown before the first and after the last statement if there is no pragma."""
MOST_LETTERS = 60
"""The most characters of a kernel's name: kernels of pipelines can have a hundred statements."""


def section(facts: Facts) -> Section:
    """Return the lines of the SCoP with the names of statements; for a pipeline, the definitions of its stages."""
    if isinstance(facts.info.subject, Template):
        return _of_template(facts.info.subject)
    program, options = facts.info.program, facts.info.options
    rows = [(statement.name, str(statement.line), " ".join(statement.text.split()), _kernel(facts, statement.name))
            for statement in program.statements]
    body = ""
    if Path(options.file).suffix != ".py":
        names = {
            line: " ".join(name for name, *_ in group) for line, group in groupby(rows, key=lambda row: int(row[1]))
        }
        body = f'<pre class="code" tabindex="0">{_numbered(facts.info.source_text.splitlines(), names)}</pre>'
    body += table(rows, ("statement", "line", "text", "kernel of the best plan"), (1,))
    return Section(
        "source",
        "Source",
        "The program, and the names of its statements",
        body
        + note(
            f"`{Path(options.file).name}`. Plans, kernels and decisions name statements (S0, S1, ...) in the order of "
            f"the text."
        ),
    )


def _of_template(template: Template) -> Section:
    """Return the text of a kernel template, and its parameters with their values."""
    rows = [(one.name, ", ".join(map(str, one.values))) for one in template.parameters]
    body = f'<pre class="code" tabindex="0">{escape(template.text)}</pre>' + table(rows, ("parameter", "values"), ())
    if template.restrictions:
        body += note("Restrictions: " + "; ".join(f"`{text}`" for text in template.restrictions))
    return Section("source", "Source", "The kernel and its parameters", body)


def _kernel(facts: Facts, statement: str) -> str:
    names = [" ".join(kernel.statements) for kernel in kernels_of(facts, facts.best) if statement in kernel.statements]
    return shortened(", ".join(names) or "-", MOST_LETTERS)


def _span(lines: list[str], first: int, last: int) -> tuple[int, int]:
    """Return the first and the last line to show (from 1), including the pragmas if they are near."""
    begin = next((n for n in range(first, 0, -1) if _word(lines, n) == "scop"), max(1, first - BEFORE))
    end = next((n for n in range(last, len(lines) + 1) if _word(lines, n) == "endscop"), min(len(lines), last + AFTER))
    return begin, end


def _word(lines: list[str], number: int) -> str:
    words = lines[number - 1].split() if number <= len(lines) else []
    return words[1] if len(words) > 1 and words[0] == "#pragma" else ""


def _numbered(lines: list[str], names: dict[int, str]) -> str:
    """Return HTML lines: the names of the statements that begin in the line, the line number, the text."""
    first, last = _span(lines, min(names), max(names))
    width = max(map(len, names.values()))
    return "\n".join(
        f'<span class="kt">{escape(names.get(number, "").rjust(width))}</span> <span class="c1">{number:>4}</span>  '
        f"{escape(lines[number - 1])}"
        for number in range(first, last + 1)
        if number <= len(lines)
    )
