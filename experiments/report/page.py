"""report.html: one self-contained page that explains a run to readers who did not see it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from experiments.files import write_atomically
from experiments.pictures.palette import palette_css
from experiments.report import (
    code_columns,
    convergence,
    coordinates,
    effects,
    environment,
    evaluations,
    failures,
    finals,
    importance,
    kernels,
    metrics,
    overview,
    pheromone,
    pipeline,
    predictions,
    roofline,
    source,
    tree_picture,
)
from experiments.report.facts import Facts, gather
from experiments.report.html import Section
from experiments.search.parts import PARTS, Parts
from experiments.store import Store

REPORT_FILE = "report.html"
GRAPH_S = 3.0
"""Time limit in seconds for repeating the walks that the graph shows."""


def write_report(store: Store, directory: Path, parts: Parts = PARTS, facts: Facts | None = None) -> Path:
    """Write the page from the current contents of the store, or `facts` of it, and return its path.

    Works without a valid result, too.
    """
    facts = facts or gather(store)
    page = whole_page(facts.heading, about(facts), sections(store, facts, parts, GRAPH_S), packed_library())
    path = directory / REPORT_FILE
    write_atomically(path, page)
    return path


def sections(store: Store, facts: Facts, parts: Parts, graph_s: float) -> list[Section]:
    """Return all sections in order. A section without data says so."""
    return [
        overview.section(facts),
        finals.section(facts),
        convergence.section(facts),
        failures.section(facts),
        importance.section(facts),
        effects.section(facts),
        coordinates.section(facts),
        tree_picture.section(facts),
        pheromone.section(store, parts, graph_s),
        *pipeline.section(facts),
        kernels.section(facts),
        metrics.section(facts),
        *predictions.section(facts),
        roofline.section(facts),
        source.section(facts),
        code_columns.section(facts),
        evaluations.section(facts),
        environment.section(facts),
        environment.command_section(facts),
    ]


def whole_page(
    heading: str, about: str, shown: Sequence[Section], library: str, status: str = "", script: str = ""
) -> str:
    """Return the HTML document. `library` loads plotly.js, `status` precedes the contents, `script` runs after the
    page's own.
    """
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><title>{escape(heading)}</title>'
            f'<link rel="icon" href="data:,"><style>{palette_css()}{asset("style.css")}</style></head><body>'
            f'<a class="skip" href="#overview">to the results</a>'
            f'<header><h1>{escape(heading)}</h1><p class="soft" id="about">{escape(about)}</p>{status}</header>'
            f'<nav aria-label="contents"><ul>{contents(shown)}</ul></nav><main>{main_part(shown)}</main>'
            f"{library}<script>{asset('page.js')}{script}</script></body></html>\n")


def contents(shown: Sequence[Section]) -> str:
    """Return the entries of the navigation."""
    return "".join(f'<li><a href="#{section.anchor}">{escape(section.short)}</a></li>' for section in shown)


def main_part(shown: Sequence[Section]) -> str:
    """Return the HTML of all sections."""
    return "".join(section.html() for section in shown)


def about(facts: Facts) -> str:
    """Return the line below the heading."""
    return f"{facts.info.created_at[:10]}, {Path(facts.info.options.file).name}"


def packed_library() -> str:
    """Return plotly.js for embedding, compressed to a third of its size; current browsers decompress it."""
    return (
        f'<script type="text/plain" '
        f'id="plotly">{base64.b64encode(gzip.compress(library().encode(), 6, mtime=0)).decode()}</script>'
    )


def library() -> str:
    """Return the text of plotly.js, which the package plotly contains."""
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    return text


def asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


