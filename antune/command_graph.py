"""`antune graph`: the optimization graph of a run as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from antune.options import RunDirectory


class FormatChoice(StrEnum):
    """What a picture is written as."""

    svg = "svg"
    html = "html"


Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", show_default=False,
                                          help="Where to write it. Default: graph.svg or graph.html in DIR.")]
Format = Annotated[FormatChoice | None, typer.Option("--format", show_default=False, help="`svg`: a picture. `html`: a "
                                                     "page that says more on what is pointed at. Default: as FILE "
                                                     "ends, else svg.")]


def graph(directory: RunDirectory, out: Out = None, kind: Format = None) -> None:
    """Draw what a search knows: its decisions, their options, how likely each is taken next, and what it cost.

    The explorer is rebuilt from the stored history; nothing is measured, and the run may still be going on.

    \b
    Examples:
      antune graph antune-runs/gemm-1
      antune graph antune-runs/gemm-1 --out gemm.html
    """
    from experiments.files import write_atomically
    from experiments.graph_figure import graph_page, graph_svg
    from experiments.store import read_store
    from generator.errors import InputError

    chosen = kind or (FormatChoice.html if out and out.suffix in (".html", ".htm") else FormatChoice.svg)
    path = out or directory / f"graph.{chosen}"
    if out and not out.parent.is_dir():
        raise InputError(f"--out {path} cannot be written: {path.parent} is not a directory; make it first")
    with read_store(directory) as store:
        text = graph_page(store) if chosen == FormatChoice.html else graph_svg(store)
    write_atomically(path, text)
    print(f"{path} is written; open it in a browser")
