"""The HTML elements of a page: sections, tables, notes. All text is escaped here, once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page. `anchor` is its id and never changes, `short` its name in the contents, `body` its HTML."""

    anchor: str
    short: str
    title: str
    body: str

    def html(self) -> str:
        """Return the element. `data-version` changes with the content, so that a live page replaces changed sections
        only.
        """
        version = sha256(self.body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return (f'<section id="{self.anchor}" data-version="{version}" aria-labelledby="{self.anchor}-title">'
                f'<h2 id="{self.anchor}-title">{escape(self.title)}</h2>{self.body}</section>\n')


def table(rows: Iterable[Sequence[str]], header: Sequence[str] = (), numbers: Collection[int] = (),
          strong: Collection[int] = ()) -> str:
    """Return a table of texts. Columns in `numbers` are right-aligned, rows in `strong` are emphasised.

    A table that is wider than the page has its own scroll bar.
    """
    head = "".join(f"<th{_align(n, numbers)} scope=\"col\">{escape(cell)}</th>" for n, cell in enumerate(header))
    body = "".join(
        f"<tr{' class=strong' if n in strong else ''}>{_cells(row, numbers)}</tr>" for n, row in enumerate(rows)
    )
    return (
        f'<div class="scroll" '
        f'tabindex="0"><table>{f"<thead><tr>{head}</tr></thead>" if head else ""}<tbody>{body}</tbody>'
        "</table></div>"
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a sortable table: sorted by `key` (None: last), or by its text if `key` is empty."""

    text: str
    key: float | str | None = ""


def sortable(rows: Iterable[Sequence[Cell]], header: Sequence[str], numbers: Collection[int], filtered: str) -> str:
    """Return a table that is sorted by clicking a column head, below a field that filters rows by text.

    `filtered` is the label of the field.
    """
    head = "".join(
        f'<th{_align(n, numbers)} scope="col"><button type="button" class="sort">{escape(name)}</button></th>'
        for n, name in enumerate(header)
    )
    body = "".join(f"<tr>{''.join(_cell(cell, n, numbers) for n, cell in enumerate(row))}</tr>" for row in rows)
    return (
        f'<div class="sortable"><input type="search" class="filter" placeholder="filter" '
        f'aria-label="{escape(filtered)}">'
        f'<div class="scroll" '
        f'tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>'
    )


def _cell(cell: Cell, column: int, numbers: Collection[int]) -> str:
    key = "" if cell.key == "" else f' data-key="{escape(str("" if cell.key is None else cell.key))}"'
    return f"<td{_align(column, numbers)}{key}>{escape(cell.text)}</td>"


def shortened(text: str, most: int) -> str:
    """Return `text` with at most `most` characters; an ellipsis replaces the rest."""
    return text if len(text) <= most else text[:most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _cells(row: Sequence[str], numbers: Collection[int]) -> str:
    return "".join(f"<td{_align(n, numbers)}>{escape(cell)}</td>" for n, cell in enumerate(row))


def _align(column: int, numbers: Collection[int]) -> str:
    return " class=n" if column in numbers else ""


def words(text: str) -> str:
    """Return escaped text in which words between backticks are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{words(text)}</p>"


def note(text: str) -> str:
    """Return a note that explains the figure or table above it."""
    return f'<p class="note">{words(text)}</p>'


def nothing(text: str) -> str:
    """Return a sentence that takes the place of a figure without data."""
    return f'<p class="nothing">{words(text)}</p>'


def copied(text: str, kind: str, inner: str | None = None) -> str:
    """Return preformatted text with a copy button; `inner` is the same text as highlighted HTML."""
    return (f'<div class="copied"><button type="button" class="copy" aria-label="copy the {escape(kind)}">copy</button>'
            f'<pre class="code" tabindex="0">{escape(text) if inner is None else inner}</pre></div>')
