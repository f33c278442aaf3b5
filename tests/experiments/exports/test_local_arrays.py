"""Exports of programs whose intermediate arrays are in memory of their own, of which loops leave out the borders."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from experiments.exports.kinds import Kind
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.schedules.stages import Stages
from tests.support.exports import AGREES, GPU, checked, exported, ran, stored_run
from tests.support.programs import write_c
from tests.support.reading import read_untimed

CHAIN = """#include <stdio.h>
#include <stdlib.h>
#define W 70
#define H 33
static float sums[H][W];
static void sharpen(int w, int h, const float *in, float *out) {
  float *rows = malloc(sizeof *rows * w * h), (*columns)[W];
  if (!rows || !(columns = malloc(sizeof(float[H][W])))) exit(1);
#pragma scop
  for (int y = 0; y < h; y++)
    for (int x = 1; x < w - 1; x++) rows[y * w + x] = in[y * w + x - 1] + in[y * w + x] + in[y * w + x + 1];
  for (int y = 1; y < h - 1; y++)
    for (int x = 1; x < w - 1; x++) columns[y][x] = rows[(y - 1) * w + x] + rows[y * w + x] + rows[(y + 1) * w + x];
  for (int y = 1; y < h - 1; y++)
    for (int x = 2; x < w - 2; x++) sums[y][x] = columns[y][x - 1] + columns[y][x + 1];
  for (int y = 1; y < h - 1; y++)
    for (int x = 2; x < w - 2; x++) out[y * w + x] = 2 * in[y * w + x] - sums[y][x] / 9;
#pragma endscop
  free(rows);
  free(columns);
}
int main(void) {
  float *in = malloc(sizeof(float) * W * H), *out = calloc(W * H, sizeof(float)), sum = 0;
  for (int i = 0; i < W * H; i++) in[i] = (float)(i * 37 % 251);
  sharpen(W, H, in, out);
  for (int i = 0; i < W * H; i++) sum += out[i];
  printf("%g\\n", sum);
  return 0;
}
"""


def test_the_sequential_code_has_room_for_what_its_loops_name(pocl: Mapping[str, str], tmp_path: Path) -> None:
    """In the model, the arrays are smaller, and one of them is a matrix."""
    file = write_c(CHAIN, tmp_path)
    program = read_untimed(file, Compilation(), None, None, {}, 0).program
    assert {array.name: array.extents for array in program.arrays if array.role == "temp"} == {
        "rows": (33, 68), "columns": (31, 68), "sums": (31, 66)}
    where = Stages((("columns", "inline"), ("rows", "block"), ("sums", "inline")))
    run = stored_run(tmp_path / "run", file, changes=[lambda _: default_plan(program, GPU, choice=where)])
    folder = exported(run, Kind.opencl, tmp_path / "opencl", 1)
    text = (folder / "sequential.c").read_text()
    assert "static float rows[2309];" in text and "static float columns[32][69];" in text
    assert "static float sums[33][70];" in text
    assert AGREES in checked(folder, pocl)
    python = exported(run, Kind.python, tmp_path / "python", 1)
    done = ran(python, pocl, sys.executable, "-m", "sharpen")
    assert done.returncode == 0, done.stdout + done.stderr
