"""The pieces a page is made of: sections, tables, notes. All text is escaped here, once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page. `anchor` is its id and never changes; `body` is HTML. `short`: its name in the contents."""

    anchor: str
    short: str
    title: str
    body: str

    def html(self) -> str:
        """The element; `data-version` changes with the content, so that a live page swaps only what is new."""
        version = sha256(self.body.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return (f'<section id="{self.anchor}" data-version="{version}" aria-labelledby="{self.anchor}-title">'
                f'<h2 id="{self.anchor}-title">{escape(self.title)}</h2>{self.body}</section>\n')


def table(rows: Iterable[Sequence[str]], header: Sequence[str] = (), numbers: Collection[int] = (),
          strong: Collection[int] = ()) -> str:
    """A table of texts; columns in `numbers` are aligned to the right, rows in `strong` stand out.

    One that is wider than the page scrolls on its own.
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
    """A cell of a table that can be sorted: by `key` where it has one (None: behind all others), else by its text."""

    text: str
    key: float | str | None = ""


def sortable(rows: Iterable[Sequence[Cell]], header: Sequence[str], numbers: Collection[int], filtered: str) -> str:
    """A table whose heads sort it when they are clicked, below a field that leaves the rows with some text.

    `filtered` is what the field is called.
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
    """`text` with at most `most` letters; an ellipsis stands for the rest."""
    return text if len(text) <= most else text[:most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _cells(row: Sequence[str], numbers: Collection[int]) -> str:
    return "".join(f"<td{_align(n, numbers)}>{escape(cell)}</td>" for n, cell in enumerate(row))


def _align(column: int, numbers: Collection[int]) -> str:
    return " class=n" if column in numbers else ""


def words(text: str) -> str:
    """Escaped text, in which what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def paragraph(text: str) -> str:
    """A sentence or more."""
    return f"<p>{words(text)}</p>"


def note(text: str) -> str:
    """What helps to read the figure or table above."""
    return f'<p class="note">{words(text)}</p>'


def nothing(text: str) -> str:
    """What stands where a figure would be if there were anything to show."""
    return f'<p class="nothing">{words(text)}</p>'


def copied(text: str, kind: str, inner: str | None = None) -> str:
    """Preformatted text with a button that copies it; `inner` is the same text as highlighted HTML."""
    return (f'<div class="copied"><button type="button" class="copy" aria-label="copy the {escape(kind)}">copy</button>'
            f'<pre class="code" tabindex="0">{escape(text) if inner is None else inner}</pre></div>')
