"""The output of C programs, in their original form and with the SCoP that the front end read."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pycparser import c_generator

from generator.frontend_c.parse import read_scop
from generator.frontend_c.preprocess import find_compiler
from generator.frontend_c.source import Compilation
from tests.support.programs import write_c


def printed(text: str, folder: Path) -> str:
    """Return the output of a C program, compiled without unsafe optimizations."""
    (folder / "run.c").write_text(text, encoding="utf-8")
    subprocess.run([find_compiler(), "-w", "-O1", "-ffp-contract=off", "-fno-builtin", "run.c", "-o", "run", "-lm"],
                   cwd=folder, check=True)
    return subprocess.run([folder / "run"], capture_output=True, text=True, check=True).stdout


def as_read(text: str, folder: Path) -> str:
    """Return the program with its SCoP as the front end read it."""
    source = read_scop(write_c(text, folder), Compilation())
    writer = c_generator.CGenerator()
    inside = "\n".join(writer._generate_stmt(item) for item in source.items)
    before, rest = text.split("#pragma scop")
    return before + inside + rest.split("#pragma endscop")[1]
