"""Captures of C programs that tests write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from generator.capture import Captured, capture
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation

AXPY = """\
#include <stdio.h>
#define N 11
double x[N], y[N];
static void axpy(int n, double alpha) {
  int i;
#pragma scop
  for (i = 0; i < n; i++)
    y[i] += alpha * x[i];
#pragma endscop
}
int main(void) {
  int i;
  for (i = 0; i < N; i++) { x[i] = i; y[i] = 100; }
  printf("noise on stdout\\n");
  fprintf(stderr, "noise on stderr at line %d of %s\\n", __LINE__, __FILE__);
  axpy(N - 1, 0.5);
  axpy(N, 2);
  return 3;
}
"""
"""Its SCoP runs twice, first on 10 elements, then on 11."""


def run(folder: Path, text: str, overrides: Mapping[str, int] | None = None, *, compilation: Compilation | None = None,
        seed: int = 1, limit_s: float = 60, needed: Mapping[str, tuple[int, ...]] | None = None) -> Captured:
    """Write `text` to `user.c` in `folder`, and return what is captured of it."""
    file = folder / "user.c"
    file.write_text(text)
    source = read_scop(file, compilation or Compilation())
    return capture(source, overrides or {}, lambda *_: needed or {}, seed=seed, limit_s=limit_s)
