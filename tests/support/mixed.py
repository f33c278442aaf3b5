"""A program with arrays of all element types, on which possible memories depend."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from generator.frontend_c.source import Compilation
from generator.problem import Problem
from tests.support.reading import read_untimed

ALL_TYPES = """
void mix(double A[9][11][37], float B[11][37], int c[37], unsigned int d[9], double e[37], long f[11],
         double out[9][11])
{
#pragma scop
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 11; j++)
      for (int k = 0; k < 37; k++)
        out[i][j] += A[i][j][k] * B[j][k] + 1e-9 * c[k] * e[36 - k] + 1e-9 * d[i] + 1e-18 * f[j];
#pragma endscop
}
"""


@lru_cache(maxsize=2)
def mixed(swap: str = "") -> Problem:
    """Return the program above; `swap` "a->b" changes its text."""
    old, _, new = swap.partition("->")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "mix.c"
        file.write_text(ALL_TYPES.replace(old, new) if swap else ALL_TYPES)
        return read_untimed(file, Compilation(), "mix", None, {}, 0)
