"""What C means where other languages mean something else: `_Bool`, narrow iterators, comparisons of comparisons,
labels, rounded quotients.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.problem import Problem
from tests.support.devices import check_default_plan
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import in_turn

PROGRAM = """#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#define N 60
#define floord(n, d) floor(((double)(n)) / ((double)(d)))
#define ceild(n, d) ceil(((double)(n)) / ((double)(d)))
#define max(x, y) ((x) > (y) ? (x) : (y))
#define min(x, y) ((x) < (y) ? (x) : (y))
typedef _Bool truth;
struct mixed { int k; truth t; };
static _Bool b[N];
static bool c[N], one;
static truth d[N];
static int x[N], y[N], z[N];
static double r[N];
static struct mixed m[N];
static bool odd(int v) { return v & 2; }
int main(void) {
  int i;
  for (i = 0; i < N; i++) { x[i] = i * 7 % 9 - 3; b[i] = i % 3; r[i] = (i - 20) * 0.125; m[i].k = i % 5; }
#pragma scop
BODY
#pragma endscop
  for (i = 0; i < N; i++) y[0] += y[i] + z[i] + b[i] + c[i] + d[i] + m[i].t;
  printf("%d\\n", y[0] + one);
  return 0;
}
"""
EACH = "for (i = 0; i < N; i++) "
BODIES = {
    "assigned": EACH + "b[i] = x[i];",
    "half is true": EACH + "c[i] = r[i];",
    "compound": EACH + "{ c[i] += x[i]; d[i] |= 4; b[i] -= 1; }",
    "counted": EACH + "{ b[i]++; c[i]--; }",
    "cast": EACH + "z[i] = (_Bool)x[i] + (bool)r[i] + (truth)(x[i] * 2);",
    "local": EACH + "{ _Bool t = x[i] * 4; t += 2; y[i] = t + 1; }",
    "of a function": EACH + "{ d[i] = odd(x[i]); z[i] += odd(x[i] + 1); }",
    "member": EACH + "m[i].t = m[i].k * 2;",
    "single": "one = x[4] * 6;",
    "comparisons of comparisons": EACH + "y[i] += (x[i] < 2) < 1; " + EACH + "z[i] += (x[i] == 2) != (i < 5) == 0;",
    "narrow": "for (unsigned char k = 3; k < 60; k++) y[k] += k * 5;",
    "down to one": "for (unsigned k = 59; k >= 1; k--) z[k] += z[k - 1];",
    "iterators of one name": "for (unsigned i = 0; i < N; i++) r[i] += (i - 7) * 0.25; for (unsigned char i = 0; i < "
        "N; i++) { r[i] *= i - 9; "
    "z[i] += (i - 5) / 2; } for (short i = N - 1; i > 0; i--) y[i] += (i - 8) / 2 + z[i - 1]; "
    "{ unsigned k; for (k = 0; k < N; k++) y[k] += (k - 3) / 2; } { long k; for (k = 0; k < N; k++) r[k] += k - 4; }",
    "labels": "begin: for (i = 0; i < N; i++) { here: y[i] += 2; }",
    "rounded quotients": "for (int t = ceild(-7, 4); t <= floord(N - 1, 8); t++) for (i = max(0, 8 * t); i <= min(N - "
        "1, 8 * t + 7); i++) "
    "{ y[i] += t; z[(int)floord(i, 2)] += i; }",
}
WRAPPING = {
    "unsigned char upwards": (
        "for (unsigned char k = 252; k < 260; k++) x[k - 252] = 1;",
        "`k` is of type `unsigned char`, from 0 to 255",
    ),
    "unsigned downwards": (
        "for (unsigned k = 5; k >= 0; k--) x[k] = 1;",
        "its unsigned or narrow integers wrap around",
    ),
    "over the end": ("for (unsigned char k = 0; k <= 255; k++) x[k / 8] = 1;", "`k` is of type `unsigned char`"),
    "char": ("for (char k = 0; k < 200; k++) x[k / 8] = 1;", "`k` is of type `char`, from -128 to 127"),
}


def captured(body: str, folder: Path) -> Problem:
    return read_untimed(write_c(PROGRAM.replace("BODY", body), folder), Compilation(), None, None, {}, 0)


@in_turn
def test_results_are_those_of_c(tmp_path: Path) -> None:
    found = captured("\n".join(BODIES.values()), tmp_path)
    check_default_plan(found)


@pytest.mark.parametrize("name", WRAPPING)
def test_iterators_that_leave_their_type_are_refused(name: str) -> None:
    body, words = WRAPPING[name]
    with pytest.raises(InputError, match=r"would leave it before the loop ends: use `int`|wrap around") as caught:
        program_of(scop(body, "int x[64];"))
    assert words in str(caught.value)


def test_a_label_that_is_jumped_to_is_refused(tmp_path: Path) -> None:
    body = (
        "again: for (i = 0; i < N; i++) y[i] += 2;\n#pragma endscop\n  if (y[0] < 5) goto again;\n#pragma scop\none = "
        "1;"
    )
    with pytest.raises(InputError, match="is not static control"):
        read_untimed(write_c(PROGRAM.replace("BODY", body), tmp_path), Compilation(), None, 1, {}, 0)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "bom.c"
    file.write_bytes(b"\xef\xbb\xbf" + PROGRAM.replace("BODY", BODIES["assigned"]).encode())
    assert read_untimed(file, Compilation(), None, None, {}, 0).program.array("b").role == "out"
