"""The messages of OpenCL drivers that refuse something. Runs inside worker processes only: it loads pyopencl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import pyopencl as cl

from runners.driver import MESSAGE_CHARS, LaunchError
from runners.opencl.cpu_name import ERROR

FRAME = ("Build on <", "(options:", "(source saved as")
SOURCE_PATH = re.compile(r"/\S+\.cl:(?=\d)")
RECORD = re.compile(r"<[\w.]*_ErrorRecord[^>]*>")
UNKNOWN_CPU = "PoCL's compiler does not know this CPU, and antune could not repair that (docs/devices.md)"


def in_words(error: cl.Error) -> str:
    """Return the driver's message; some errors of pyopencl print only the object that holds it."""
    text = str(error)
    if not RECORD.search(text):
        return text
    record = error.args[0]
    return f"{record.routine()} failed with the status {record.code()}: {RECORD.sub('', record.what())}".rstrip(" :")


@contextmanager
def refusals(where: str = "") -> Iterator[None]:
    """Convert the driver's errors to LaunchError, with messages that start with `where`."""
    try:
        yield
    except cl.Error as error:
        raise LaunchError(f"{where}{in_words(error)}"[:MESSAGE_CHARS]) from None


def refused_build(program: cl.Program, device: cl.Device, error: cl.Error) -> str:
    """Return why `program` could not be built: the compiler's log, else the driver's error."""
    log = ""
    with suppress(cl.Error):  # without a program there is no log
        log = str(cast(Any, program).get_build_info(device, cl.program_build_info.LOG)).strip()
    words = _short_log(log or in_words(error))
    return f"{words}\n{UNKNOWN_CPU}"[:MESSAGE_CHARS] if ERROR in words else words


def _short_log(text: str) -> str:
    """Return the compiler's log without the lines that pyopencl adds around it."""
    body = text.split("\n\n", 1)[-1] if "BUILD_PROGRAM_FAILURE" in text else text
    lines = [SOURCE_PATH.sub("", line) for line in body.splitlines()
             if line.strip() and not line.startswith(FRAME)]
    return "\n".join(lines)[:MESSAGE_CHARS] or text[:MESSAGE_CHARS]
