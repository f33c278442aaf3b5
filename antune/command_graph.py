"""`antune graph`: the optimization graph of a run as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

import typer

from antune.options import RunDirectory


class FormatChoice(StrEnum):
    """The file formats of pictures."""

    svg = "svg"
    html = "html"
    png = "png"
    pdf = "pdf"


Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        show_default=False,
        help="Output file: FILE.svg, .html, .png or .pdf. Default: graph.svg in DIR.",
    ),
]
Format = Annotated[
    FormatChoice | None,
    typer.Option(
        "--format",
        show_default=False,
        help="`svg`, `png`, `pdf`: a picture. `html`: a page with details on hover. Default: the extension of FILE, "
             "else svg.",
    ),
]


def graph(directory: RunDirectory, out: Out = None, kind: Format = None) -> None:
    """Draw the state of a search: its decisions, their options, the probability of each option, and its cost.

    The explorer is rebuilt from the stored history. Nothing is measured, and the run may be unfinished.

    \b
    Examples:
      antune graph antune-runs/gemm-1
      antune graph antune-runs/gemm-1 --out gemm.html
      antune graph antune-runs/gemm-1 --out gemm.png
    """
    from antune.files import check_place
    from experiments.files import write_atomically
    from experiments.graphs.figure import graph_page, graph_picture, graph_svg
    from experiments.pictures.canvas import save_picture
    from experiments.store import read_store

    with read_store(directory) as store:
        if out is not None:
            check_place(out)
        chosen = kind or _format(out)
        path = out or directory / f"graph.{chosen}"
        match chosen:
            case FormatChoice.html:
                write_atomically(path, graph_page(store))
            case FormatChoice.svg:
                write_atomically(path, graph_svg(store))
            case FormatChoice.png | FormatChoice.pdf:
                save_picture(graph_picture(store), path, chosen)
            case _:
                assert_never(chosen)
    print(
        f"{path} is written; open it in a browser"
        if chosen in (FormatChoice.html, FormatChoice.svg)
        else f"{path} is written"
    )


def _format(out: Path | None) -> FormatChoice:
    """Return the format by the file's extension. Raises InputError for an unknown one."""
    from generator.errors import InputError

    ending = "svg" if out is None else out.suffix.lower().lstrip(".")
    ending = "html" if ending == "htm" else ending
    if ending not in FormatChoice.__members__:
        raise InputError(
            f"--out {out} is not a .svg, .html, .png or .pdf file; give it one of these endings, or say --format"
        )
    return FormatChoice(ending)
