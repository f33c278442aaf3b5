"""The command line: the list of commands, and the handling of errors.

Exit codes: 0 ok, 1 `check` found an error, 2 bad input, 3 nothing valid found, 130 interrupted (saved). Commands import
what they need when they run, so that `antune --help` answers at once.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import Annotated

import typer

from antune.command_autotune import autotune
from antune.command_check import check
from antune.command_compare import compare
from antune.command_explain import explain
from antune.command_export import export
from antune.command_graph import graph
from antune.command_machine import devices, doctor
from antune.command_profile import profile
from antune.command_results import list_runs, report
from antune.command_roofline import roofline
from antune.command_run import resume, tune
from antune.command_suite import suite
from antune.command_wisdom import wisdom
from antune.command_worker import worker
from antune.errors import AntuneError
from antune.help import GroupedCommand
from generator.plain_text import printable

BAD_INPUT = 2
NO_BUGS = (errno.EACCES, errno.EDQUOT, errno.ENOSPC, errno.EPERM, errno.EROFS)

app = typer.Typer(name="antune", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
                  add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
for _name, _command in (("tune", tune), ("autotune", autotune), ("resume", resume),
                        ("report", report), ("compare", compare), ("export", export), ("graph", graph),
                        ("profile", profile), ("list", list_runs),
                        ("explain", explain), ("check", check), ("devices", devices), ("doctor", doctor),
                        ("worker", worker)):
    app.command(_name, cls=GroupedCommand)(_command)
suite.command(cls=GroupedCommand)(roofline)
app.add_typer(suite)
app.add_typer(wisdom, name="wisdom")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"antune {version('antune')}")
        except PackageNotFoundError:
            print("antune (not installed: run from its sources)")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True,
                                       help="Print the version and exit.")]


@app.callback()
def antune(version: Version = False) -> None:
    """Find fast OpenCL and CUDA code for C loops by search.

    Mark the loops with `#pragma scop` and `#pragma endscop`, or let antune find those that take the time:

    \b
      antune tune FILE.c      search; everything is saved as it goes
      antune report DIR       what was found and why, as a page
      antune export DIR       the best plan as standalone code
      antune doctor           is everything installed?
    """


def main() -> None:
    """The entry point of the `antune` command: an error that the user can fix is one message, without a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # an odd name in a file's path must not end a run
    try:
        app()
    except AntuneError as error:
        print(printable(f"antune: {error}"), file=sys.stderr)
        sys.exit(BAD_INPUT)
    except OSError as error:
        if error.errno not in NO_BUGS:
            raise
        print(f"antune: {error.filename or 'a file'} cannot be written: {error.strerror}; free disk space, or use a "
              "place that you can write", file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
