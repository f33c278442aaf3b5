"""How much memory lies behind a pointer whose elements data choose: asked of the allocator, or of the executable's
symbols.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.problem import Problem
from generator.reading import read_problem
from tests.support.programs import write_c
from tests.support.slow import few, in_turn

PROGRAM = """#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
static double fixed[90];
struct pair { float a, b; };
static void work(int n, const int *at, const double *x, double (*rows)[4], struct pair *pairs, double *y)
{
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = x[at[i]];
    rows[at[i]][1] = y[i];
    pairs[at[i]].b = 2.0f;
  }
#pragma endscop
}
int main(void)
{
  int n = 20, *at;
  double *y = malloc(n * sizeof *y), *x = DATA, (*rows)[4] = calloc(33, sizeof *rows);
  struct pair *pairs = malloc(44 * sizeof *pairs);
  for (int k = 0; k < 100000; k++) free(malloc(64 + k % 50));
  at = malloc(n * sizeof *at);
  for (int i = 0; i < n; i++) at[i] = i * 7 % 17;
  for (int i = 0; i < 40; i++) x[i] = i;
  work(n, at, x, rows, pairs, y);
  printf("%f %f %f\\n", y[3], rows[2][1], pairs[1].b);
  return 0;
}
"""
ROOMS = {
    "malloc": ("malloc(77 * sizeof *x)", 77), "calloc": ("calloc(50, sizeof *x)", 50),
    "realloc": ("realloc(malloc(80), 65 * sizeof *x)", 65), "aligned": ("aligned_alloc(64, 48 * sizeof *x)", 48),
    "inside a block": ("(double *)malloc(77 * sizeof *x) + 12", 65), "a global array": ("fixed", 90),
    "inside a global array": ("fixed + 40", 50), "rounded down": ("malloc(77 * sizeof *x + 5)", 77),
}


def read(data: str, folder: Path) -> Problem:
    return read_problem(write_c(PROGRAM.replace("DATA", data), folder), Compilation(("-std=gnu11",)), None, None, {}, 0)


@in_turn
@pytest.mark.parametrize("name", few(
    ROOMS, ("calloc", "aligned", "inside a global array")))
def test_all_that_lies_there_counts(name: str, tmp_path: Path) -> None:
    data, size = ROOMS[name]
    program = read(data, tmp_path).program
    assert {array.name: array.own_extents for array in program.arrays} == {
        "at": (20,), "x": (size,), "rows": (33, 4), "pairs": (44, 2), "y": (20,)}


def test_of_the_stack_nothing_is_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the size of `x` is unknown: declare it as `double x"):
        read("(double[60]){0}", tmp_path)
