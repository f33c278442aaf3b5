"""Constants at the ends of 64-bit integers, in every place of a program: results are those of C."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.problem import Problem
from tests.support.devices import check_default_plan
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import few

PROGRAM = """#include <stdio.h>
#define MOST 9223372036854775807
static double a[64];
static unsigned long long u[8];
static long l[8];
int main(void) {
  for (int i = 0; i < 64; i++) a[i] = i;
  for (int i = 0; i < 8; i++) { u[i] = 3 * i; l[i] = -i; }
#pragma scop
BODY
#pragma endscop
  for (int i = 0; i < 64; i++) a[0] += a[i];
  for (int i = 0; i < 8; i++) { u[0] += u[i]; l[0] ^= l[i]; }
  printf("%g %llu %ld\\n", a[0], u[0], l[0]);
  return 0;
}
"""
EACH = "for (long i = 0; i < 64; i++) "
BODIES = {
    "step": "for (long i = 0; i > -64; i -= MOST) a[-i] = 2;",
    "least step": "for (long i = 0; i > -64; i += -MOST - 1) a[-i] = 2;",
    "from the least": "for (long i = -MOST - 1; i < -MOST + 7; i++) a[i + MOST + 1] = 1;",
    "to the greatest": "for (long i = MOST - 7; i < MOST; i++) a[i - (MOST - 7)] = 1;",
    "below the greatest unsigned": EACH + "if ((unsigned long)i < 18446744073709551615ull) a[i] = 1;",
    "above the least": EACH + "if (i > -MOST - 1) a[i] = 1;",
    "bound": "for (int i = 0; i < MOST && i < 64; i++) a[i] = 1;",
    "sum in a condition": EACH + "if (i + 1 < MOST) a[i] = 1;",
    "product in a condition": EACH + "if (2 * i < MOST - 1) a[i] = 1;",
    "shifted": EACH + "if (i < (1L << 62)) a[i] = 2;",
    "chosen": EACH + "a[i] = i < MOST ? 2 : 3;",
    "quotient": EACH + "a[i / 4611686018427387904] = 2;",
    "remainder": EACH + "a[i % MOST] = 2;",
    "terms that cancel": "for (long i = 0; i < 8; i++) a[i + MOST - MOST] = 1;",
    "product of nothing": "for (long i = 0; i < 1; i++) a[i * 4611686018427387904] = 2;",
    "real": EACH + "a[i] = a[i] + 18446744073709551616.0 + MOST;",
    "signed": "for (int i = 0; i < 8; i++) l[i] = l[i] + MOST;",
    "least signed": "for (int i = 0; i < 8; i++) l[i] = -MOST - 1;",
    "unsigned": "for (int i = 0; i < 8; i++) u[i] = u[i] + 18446744073709551615ull;",
}


def captured(body: str, folder: Path) -> Problem:
    return read_untimed(write_c(PROGRAM.replace("BODY", body), folder), Compilation(), None, None, {}, 0)


@pytest.mark.parametrize("name", few(BODIES, 2))
def test_results_are_those_of_c(name: str, tmp_path: Path) -> None:
    check_default_plan(captured(BODIES[name], tmp_path))


def test_a_subscript_far_outside_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"input\.c:10: subscript 1 of `a` .* from 9223372036854775807 to"):
        captured("for (int i = 0; i < 8; i++) if (l[i] > 1) a[i + MOST] = 1;", tmp_path)
