"""What an iterator holds after its loop, with and without `break`, and `while` loops that count: results are those of
C.
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
from tests.support.slow import few, in_turn

PROGRAM = """#include <stdio.h>
#define N 24
static int d[N][N], y[N], z[N], w[N], n = N, none, last;
static double r[N];
int main(void) {
  int i, after = 3;
  for (i = 0; i < N; i++) for (int j = 0; j < N; j++) d[i][j] = (i * 7 + j * 5) % 31;
#pragma scop
BODY
#pragma endscop
  for (i = 0; i < N; i++) y[0] += y[i] + z[i] + w[i] + (int)r[i];
  printf("%d %d %d\\n", y[0], after, last);
  return 0;
}
"""
EACH = "for (i = 0; i < N; i++) "
BODIES = {
    "search": EACH + "{ int k; for (k = 0; k < n; k++) if (d[i][k] == 9) break; y[i] += k; }",
    "two ways out": EACH
    + "{ int k; for (k = 2; k < N; k += 3) { if (d[i][k] > 27) { z[i] += 1; break; } if (d[i][k] < 2) break; "
    "z[i] += d[i][k]; } z[i] += 100 * k; }",
    "no iterations": EACH + "{ int k; for (k = 5; k < none; k++) if (d[i][k] == 9) break; w[i] += k; "
    "for (k = i; k < 4; k++) w[i] += 1; w[i] += k; }",
    "without break": EACH
    + "{ int k; for (k = i; k < N; k++) y[i] += d[i][k]; y[i] += k * 3; for (k = N - 1; k >= i; k--) y[i] ^= k; y[i] "
        "+= k; "
    "for (k = 0; k <= i; k++) y[i] += 2; y[i] -= k; for (k = 1; k < i; k += 4) y[i] += 1; y[i] += k; }",
    "with continue": EACH
    + "{ int k; for (k = 0; k < N; k++) { if (d[i][k] % 3) continue; z[i] += k; if (d[i][k] > 20) break; } z[i] += k; "
        "}",
    "inner loops": EACH
    + "{ int k, m; for (k = 0; k < N; k++) { for (m = 0; m < 4; m++) if (d[k][m] == i) break; if (m < 4) break; } "
    "w[i] += 10 * k + m; }",
    "bounds that are data": EACH + "{ int k; for (k = 0; k < d[i][0] && r[i] < 40; k++) r[i] += d[i][2]; y[i] += k; }",
    "while": EACH
    + "{ double x = 1; int k = 0; while (x < 50 && k < 12) { x = x * 1.4 + i * 0.1; k++; } z[i] += k; r[i] += x; }",
    "while with a break": EACH
    + "{ int k = 3; double x = 0; while (k < N) { x += d[i][k]; if (x > 60) break; k += 2; } w[i] += k; }",
    "while down": EACH + "{ int k; k = i; while (k > 0 && d[i][k] > 4) k -= 1; y[i] += k; }",
    "narrow": EACH + "{ unsigned char k; for (k = 250; k < 254; k++) if (d[i][k - 250] < i) break; z[i] += k - 255; }",
    "set by other statements": EACH
    + "{ int k = 7; if (d[i][1] > 9) for (k = 0; k < 5; k++) w[i] += k; w[i] += k; k = i; w[i] += k; "
    "for (k = k + 2; k < N; k++) w[i] += 1; w[i] -= k; }",
    "across iterations": "last = 0; "
    + EACH
    + "{ y[i] += last; for (last = i; last < N; last++) if (d[i][last] == 11) break; }",
    "read after the SCoP": "after += i; for (after = 0; after < N; after++) { if (d[after][3] == 30) break; z[after] "
        "+= 1; } w[2] += after;",
}


def captured(body: str, folder: Path) -> Problem:
    return read_untimed(write_c(PROGRAM.replace("BODY", body), folder), Compilation(), None, None, {}, 0)


@in_turn
@pytest.mark.parametrize("name", few(BODIES, ("search", "inner loops")))
def test_results_are_those_of_c(name: str, tmp_path: Path) -> None:
    found = captured(BODIES[name], tmp_path)
    check_default_plan(found)


def test_what_the_iterator_leaves_is_a_result(tmp_path: Path) -> None:
    found = captured(BODIES["read after the SCoP"], tmp_path)
    assert {"after", "w", "z"} <= found.reference.outputs.keys()
    assert found.reference.outputs["after"].shape == ()


def test_a_loop_that_runs_to_its_end_stays_parallel() -> None:
    program = program_of(scop("int k; for (k = 0; k < 40; k++) x[k] = 2 * y[k]; s = k;"))
    assert [s.text for s in program.statements] == ["x[k_2] = 2 * y[k_2];", "k = (0 < 40) ? (40) : (0);", "s = k;"]


@pytest.mark.parametrize("body", [
    "int k = 0; while (x[k] > 0) { if (y[k] > 1) { k++; continue; } k++; }",  # `continue` would skip the step
    "int k = 0; while (k < 9) { k++; x[k] = 1; }",
    "int k = 0; k = k + idx[0]; while (k < 9) { x[k] = 1; k++; }",
    "double k = 0; while (k < 9) k++;",
])
def test_other_while_loops_are_refused(body: str) -> None:
    with pytest.raises(InputError, match="is not static control"):
        program_of(scop(body))
