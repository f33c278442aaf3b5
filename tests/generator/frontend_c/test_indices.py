"""Index variables: `int at = y * w + x; a[at]` has the model of `a[y * w + x]`, and results stay what C computes."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

import pytest

from generator.frontend_c.source import Compilation
from generator.program import Program
from tests.support.devices import check_default_plan
from tests.support.printed import as_read, printed
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn

PROGRAM = """#include <stddef.h>
#include <math.h>
#include <stdio.h>
#define W 20
#define H 12
#define LOG 3
static float a[W * H], b[W * H]; static int k[W * H], last; static unsigned char narrow[W];
static int clamp(int v, int low, int high) { if (v < low) return low; if (v > high) return high; return v; }
int main(void) {
  for (int i = 0; i < W * H; i++) { a[i] = i * 37 % 23; k[i] = 5; b[i] = 1; }
  int at = 3;
#pragma scop
  BODY
#pragma endscop
  for (int i = 0; i < W * H; i++) printf("%.17g %d\\n", b[i], k[i]);
  for (int i = 0; i < W; i++) printf("%d\\n", narrow[i]);
  printf("%d %d\\n", at, last);
  return 0;
}
"""
ALL = "for (int y = 1; y < H - 1; y++) for (int x = 1; x < W - 1; x++) "
MEANT = ALL + "b[y * W + x] = a[y * W + x - 1] + a[y * W + x + W];"
# Ways to write the body above; each has the same model.
WAYS = {
    "a variable of the loop": ALL + "{ int at = y * W + x; b[at] = a[at - 1] + a[at + W]; }",
    "one after another": ALL + "{ const int row = y * W, p = row + x; b[p] = a[p - 1] + a[p + W]; }",
    "of the outer loop": "for (int y = 1; y < H - 1; y++) { const size_t row = (size_t)y * W; for (int x = 1; x < W - "
        "1; x++) "
    "b[row + x] = a[row + x - 1] + a[row + x + W]; }",
    "assigned twice": ALL + "{ int p = y * W + x - 1, q; q = p; p = y * W + x; b[p] = a[q] + a[p + W]; }",
    "a pointer to it": ALL + "{ int p = y * W + x; const float *c = a + p; b[p] = c[-1] + c[W]; }",
    "shifts": ALL + "{ int p = y * (W >> 1) * 2 + (x << 1) / 2; b[p] = a[p - (1 << 0)] + a[p + (10 << 1)]; }",
}
# Bodies in which a variable is more than an index.
KEPT = {
    "read afterwards": ALL + "{ at = y * W + x; b[at] = a[at]; }",
    "a value": ALL + "{ int p = y * W + x; b[p] = p / 2.0f; last = p; }",
    "changed in between": ALL + "{ int p = y * W + x; b[p] = a[p]; p = p + 1; k[p] = p; }",
    "changed in a branch": ALL + "{ int p = y * W + x; if (a[p] > 9) p -= 1; b[p] = a[p]; }",
    "narrow": "for (int x = 0; x < 300; x++) { unsigned char p = x; if (p < W) narrow[p] = x; }",
    "without a sign": ALL + "{ unsigned p = x - 3; b[y * W + x] = p / 2; }",
    "data": ALL + "{ int p = y * W + k[x]; b[y * W + x] = a[p]; }",
    "of another loop": "for (int x = 0; x < W; x++) { int p = x; for (int y = 0; y < 3; y++) { b[p] += a[p + y]; p = "
        "x + y; } }",
    "clamped": ALL + "{ int p = clamp(x - 3, 0, W / 2); b[y * W + x] = a[y * W + p]; }",
    "the lowest bits": "for (int x = -40; x < 40; x++) { int p = x & 15; b[p] += x; k[x >> 3 & 7] = x >> 2; }",
    "known bounds and sizes": "last = 7; int m = 4; for (int x = 0; x < last; x++) { float t[m]; t[1] = x; b[x] = "
        "t[1]; }",
    "infinity": ALL
    + "{ float least = INFINITY; for (int j = 0; j < 5; j++) if (a[y * W + j] < least) least = a[y * W + j]; b[y * W "
        "+ x] = least; }",
}


def program(body: str) -> str:
    return PROGRAM.replace("BODY", body)


@lru_cache
def captured(body: str) -> Program:
    with tempfile.TemporaryDirectory(prefix="antune-test-") as folder:
        return read_untimed(write_c(program(body), Path(folder)), Compilation(), None, None, {}, 0).program


@in_turn
@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_index_that_it_means(way: str) -> None:
    found, meant = captured(WAYS[way]), captured(MEANT)
    assert {a.name: a.extents for a in found.arrays} == {a.name: a.extents for a in meant.arrays}
    for one, other in zip(found.statements, meant.statements, strict=True):
        assert [access.relation for access in one.accesses] == [access.relation for access in other.accesses]


def test_bounds_and_pointers_may_be_computed_from_it(tmp_path: Path) -> None:
    body = ("for (int y = 1; y < H - 1; y++) { int row = y * W, end = row + W - 1; const float *up = a + row - W; "
            "for (int p = row + 1; p < end; p++) b[p] = up[p - row]; }")
    [statement] = read_untimed(write_c(program(body), tmp_path), Compilation(), None, None, {}, 0).program.statements
    assert "20y < p <= 18 + 20y" in statement.domain
    assert [access.kind for access in statement.accesses] == ["read", "write"]


@in_turn
@pytest.mark.parametrize("name", few([*WAYS, *KEPT], ["assigned twice", "shifts", *list(KEPT)[:-2]]))
def test_it_computes_the_same(name: str, tmp_path: Path) -> None:
    text = program((WAYS | KEPT)[name])
    assert printed(as_read(text, tmp_path), tmp_path) == printed(text, tmp_path)


@in_turn
@pytest.mark.parametrize(
    "name", few(["the lowest bits", "infinity", "shifts", "clamped", "read afterwards", "without a sign", "narrow"], 2)
)
def test_on_pocl(name: str, tmp_path: Path) -> None:
    found = read_untimed(write_c(program((WAYS | KEPT)[name]), tmp_path), Compilation(), None, None, {}, 0)
    check_default_plan(found)
