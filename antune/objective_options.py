"""The options of `antune tune` for the objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from generator.errors import InputError

if TYPE_CHECKING:
    from experiments.values.objective import Objective

ObjectiveText: TypeAlias = Annotated[str, typer.Option(
    "--objective", metavar="EXPR", help="The objective: `time`, `GFLOP/s`, a metric, or an expression such as `time *"
                                        " shared_bytes` (docs/objectives.md).")]
Maximize: TypeAlias = Annotated[bool | None, typer.Option(
    "--maximize/--minimize", help="Whether to maximize or minimize the objective. Default: minimize, except for rates"
                                  " (GFLOP/s, GB/s) and metrics whose best value is 1.", show_default=False)]
OwnMetrics: TypeAlias = Annotated[list[str] | None, typer.Option(
    "--metric", metavar="NAME=EXPR", help="A metric of your own for --objective. Repeatable.", show_default=False)]


def sought(text: str, higher: bool | None, metrics: list[str] | None) -> Objective:
    """Return the objective of --objective, --maximize and --metric. Raises InputError as `parse_objective`."""
    from experiments.values.objective import parse_objective

    return parse_objective(text, higher, parse_metrics(metrics))


def parse_metrics(texts: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Return metrics as names and expressions. Raises InputError for a text without `=`."""
    pairs = [text.partition("=") for text in texts or []]
    for (name, equals, value), text in zip(pairs, texts or [], strict=True):
        if not (name.strip() and equals and value.strip()):
            raise InputError(f"--metric {text!r} is not a metric; write --metric NAME=EXPRESSION, like "
                             "--metric 'rate=operations / time'")
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)
