"""What C programs print, as they are and with what the front end makes of their SCoP."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pycparser import c_generator

from generator.frontend_c.parse import read_scop
from generator.frontend_c.preprocess import find_compiler
from generator.frontend_c.source import Compilation
from tests.support.programs import write_c


def printed(text: str, folder: Path) -> str:
    """What a C program prints, compiled without liberties."""
    (folder / "run.c").write_text(text, encoding="utf-8")
    subprocess.run([find_compiler(), "-w", "-O1", "-ffp-contract=off", "-fno-builtin", "run.c", "-o", "run", "-lm"],
                   cwd=folder, check=True)
    return subprocess.run([folder / "run"], capture_output=True, text=True, check=True).stdout


def as_read(text: str, folder: Path) -> str:
    """The program with what the front end makes of its SCoP."""
    source = read_scop(write_c(text, folder), Compilation())
    writer = c_generator.CGenerator()
    inside = "\n".join(writer._generate_stmt(item) for item in source.items)
    before, rest = text.split("#pragma scop")
    return before + inside + rest.split("#pragma endscop")[1]
