"""The options in messages: --help in groups, and errors in values in plain words."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "The program",
        (
            "include",
            "define",
            "source",
            "cflags",
            "function",
            "scop",
            "param",
            "size",
            "args",
            "stdin",
            "program_limit",
            "random_inputs",
        ),
    ),
    ("How to search", ("explorer", "ants", "ahead", "space", "level", "seed", "strict_float", "precision_of_products",
                       "reuse", "wisdom", "profile")),
    ("What is sought", ("objective", "maximize", "metric")),
    ("Cost models", ("models", "foretell", "foresee", "beam", "calibration")),
    ("When to stop", ("evaluations", "iterations", "minutes", "stop_at", "stagnation")),
    ("Where to measure", ("device", "cluster")),
    ("How to measure", ("precision", "max_repeats", "cache", "finalists", "realtime")),
    ("Limits", ("compile_limit", "run_limit", "memory_limit")),
    ("What to write", ("out", "live", "live_port", "picture", "json_file")),
)
"""Titles with the names of parameters, in the order of --help; all others are listed under "Options" at the end."""
FEWEST = 9
"""The least number of options for groups."""


class GroupedCommand(TyperCommand):
    """A command whose --help shows many options in groups, and which reports wrong values in plain words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as typer does, but replace its messages for wrong values, which come from a library that users do not
        know.
        """
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = plain(error)
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options group by group."""
        shown = [
            (parameter, record) for parameter in self.get_params(ctx) if (record := parameter.get_help_record(ctx))
        ]
        options = [(parameter.name, record) for parameter, record in shown if parameter.param_type_name == "option"]
        arguments = [record for parameter, record in shown if parameter.param_type_name == "argument"]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        groups = GROUPS if len(options) >= FEWEST else ()
        grouped = {name for _, names in groups for name in names}
        rest = ("Options", tuple(name for name, _ in options if name not in grouped))
        for title, names in (*groups, rest):
            lines = [record for name, record in options if name in names]
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def plain(error: typer.BadParameter) -> str:
    """Describe what is wrong with a value: `'abc' is not a whole number`."""
    listed = getattr(error.__cause__, "errors", None)
    first: dict[str, Any] = listed()[0] if callable(listed) else {}
    value, limits = first.get("input"), first.get("ctx", {})
    match first.get("type"):
        case "int_parsing" | "int_type" | "int_from_float":
            return f"{value!r} is not a whole number"
        case "float_parsing" | "float_type":
            return f"{value!r} is not a number"
        case "greater_than_equal":
            return f"{value} is too small; the least is {limits['ge']}"
        case "less_than_equal":
            return f"{value} is too large; the most is {limits['le']}"
        case _:
            return error.message.removeprefix("Value error, ")
