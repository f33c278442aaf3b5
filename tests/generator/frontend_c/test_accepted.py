"""Odd but fine C is accepted, and means what it means to a C compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.expr import Cast, Int, Load, Name
from generator.frontend_c.preprocess import blank_other_bodies, without_assembly
from generator.frontend_c.source import Compilation
from generator.polyhedral.dependences.expansion import expand
from tests.support.programs import instances, isl_set, program_of, scop, write_c
from tests.support.reading import read_untimed

ODD = r"""
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <assert.h>
#include <time.h>
#include <sys/time.h>
#include <pthread.h>
#include <stdint.h>
#include <stdbool.h>
#include <limits.h>
#include <errno.h>
#define N 8
#define IDX(i, j) ((i) * N + (j))
#define LOOP(i, n) for (int i = 0; i < (n); i++)
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef double real;
typedef real row[N];
typedef row matrix[N];
typedef enum { LOW = 1, HIGH = 6 } limits_t;
enum { HALF = N / 2 };
struct point { int x, y; };
static const struct point origin = (struct point){ .x = 1, .y = 2 };
int table[] = { [0] = 1, [3] = 4 };
const char *text = "a { brace \" and ' quote";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
extern double undefined_anywhere(double) __attribute__((pure, nothrow));
typedef int (*callback)(const void *, const void *);
inline static __attribute__((always_inline)) int weird(int x) {
  int y;
  __asm__ volatile ("mov %1, %0" : "=r"(y) : "r"(x) : "memory");
  int z = ({ int t = y; t + 1; });
  char c = '{', d = '\'', e = '"';
  switch (z) { case 1 ... 5: return c; default: return d + e; }
}
static void *worker(void *arg) {
  struct timeval tv; gettimeofday(&tv, NULL);
  pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); return arg;
}
double a[4], b[N], *heap, out[N][N];
matrix M;
static double sum;
void kernel(const int n, const matrix in, volatile double *restrict v, size_t count, real scale,
            double (*P)[N], unsigned un)
{
  assert(n <= N);
  struct timeval start;
  gettimeofday(&start, NULL);
  struct point p = { 1, 2 };
  FILE *f = stderr;
  bool verbose = false;
  __asm__ __volatile__ ("" : : "r"(v)
      : "memory");
  if (verbose) fprintf(f, "%d\n", p.x);
  typedef float local_real;
  enum { LOCAL = 3 };
  register int i, j; long long wide;
  /* before */
  #pragma   scop  // the start
  /* a comment { */ for (i = 0; i < (int)count; i++) { b[i] = 0; a[i / 2] += 1.0f; } // trailing }
  LOOP(q, N) LOOP(r, N) M[q][r] = in[q][r] * (real)2 + (local_real)q;
  for (size_t k = 0; k < count; ++k) v[k] = v[k] * scale;
  for (wide = N - 1; wide >= 0; wide -= 1L) b[wide] += (double)wide / 2;
  for (i = N - 1; i > -1; i = i - 2) { double tmp = b[i], two = 2;
    { double tmp = 1.0; b[i] = tmp; } b[i] += tmp * two; }
  #pragma omp parallel for
  for (i = LOW; HIGH >= i; i = 1 + i) for (j = i; j != LOCAL + HALF; j++) P[i][j] = MAX(i, j) + sqrt(fabs(P[i][j]));
  for (unsigned int u = 0; u < un; u++) { if (u >= 1u && u - 1u < 3) out[u - 1][0] = 1;
    else out[u][0x1] = 010; }
  sum++; --sum; sum *= 2;
  for (i = 0; i < n; i++) out[i][2] = i > 0 ? out[i-1][2] : 'c';
  { { sum -= 1; } }
  ;
#pragma endscop
  printf("%f }", sum);
}
static matrix input, P_data; static double v_data[N];
int main(void) { kernel(8, input, v_data, 8, 1.0, P_data, 5); return 0; }
"""

VALUES = {"n": 8, "count": 8, "un": 5, "LOW": 1, "HIGH": 6, "LOCAL": 3, "HALF": 4}


def test_a_file_full_of_oddities() -> None:
    program = program_of(ODD, VALUES)
    roles = {array.name: (array.type, array.extents, array.role) for array in program.arrays}
    assert roles == {
        "M": ("double", (8, 8), "out"), "P": ("double", (7, 8), "inout"), "a": ("double", (4,), "inout"),
        "b": ("double", (8,), "out"), "in": ("double", (8, 8), "in"), "out": ("double", (8, 8), "out"),
        "scale": ("double", (), "in"), "sum": ("double", (), "inout"), "tmp": ("double", (), "temp"),
        "tmp_2": ("double", (), "temp"), "two": ("double", (), "temp"), "v": ("double", (8,), "inout")}
    texts = [statement.text for statement in program.statements]
    assert texts[5:10] == ["double tmp = b[i];", "double two = 2;", "double tmp_2 = 1.0;", "b[i] = tmp_2;",
                           "b[i] += tmp * two;"]
    assert ODD.splitlines()[program.statements[-1].line - 1].strip() == "{ { sum -= 1; } }"


def test_the_same_file_is_run_for_its_data(tmp_path: Path) -> None:
    problem = read_untimed(write_c(ODD, tmp_path), Compilation(), None, None, {}, 0)
    assert problem.reference.origin == "capture"
    assert problem.program.statements == expand(program_of(ODD, VALUES)).statements


# SCoP text and the instances of its statements S0, S1, ...
ACCEPTED: dict[str, tuple[str, list[list[tuple[int, ...]]]]] = {
    "negative step": ("for (i = 5; i > -1; i = i - 2) x[i] = 0;", [[(5,), (3,), (1,)]]),
    "step on the left": ("for (i = 0; 5 > i; i = 3 + i) x[i] = 0;", [[(0,), (3,)]]),
    "octal step": ("for (i = 0; i < 20; i += 010) x[i] = 0;", [[(0,), (8,), (16,)]]),
    "step from a parameter": ("for (i = 0; i < 11; i += n) x[i] = 0;", [[(0,), (5,), (10,)]]),
    "step from constants": ("for (i = 0; i < 9; i += (2 * 2)) x[i] = 0;", [[(0,), (4,), (8,)]]),
    "negative step added": ("for (i = 2; i >= 1; i += -1) x[i] = 0;", [[(2,), (1,)]]),
    "until equal": ("for (i = 0; i != 9; i += 3) x[i] = 0;", [[(0,), (3,), (6,)]]),
    "first failure ends": ("for (i = 0; i < 2 || i == 3; i++) x[i] = 0;", [[(0,), (1,)]]),
    "until the remainder": ("for (i = 1; i % 4; i++) x[i] = 0;", [[(1,), (2,), (3,)]]),
    "both orders": ("for (int i = 0; i < 2; i++) { x[i] = 0; } for (i = 3; i < 5; i++) x[i] = 0;",
                    [[(0,), (1,)], [(3,), (4,)]]),
    "inner iterator of the same name": ("for (i = 0; i < 2; i++) for (int i = 7; i < 9; i++) x[i] = 0;",
                                        [[(0, 7), (0, 8), (1, 7), (1, 8)]]),
    "unsigned iterator": ("for (unsigned u = 3; u > 0; u--) x[u - 1] = 0;", [[(3,), (2,), (1,)]]),
    "unsigned there and back": ("for (unsigned u = 0; u < 2; u++) x[u - 1 + 1] = 0;", [[(0,), (1,)]]),
    "unsigned guarded": ("for (unsigned u = 0; u < 3; u++) if (u >= 1 && u - 1 < 1) x[u] = 0;", [[(1,)]]),
    "long iterator": ("for (long long l = 1; l <= 2LL; l++) x[l] = 0;", [[(1,), (2,)]]),
    "char iterator": ("for (char c = 'a'; c < 'c'; c++) x[c - 'a'] = 0;", [[(97,), (98,)]]),
    "short iterator": ("for (short int h = 0x10; h < 0x12; h++) x[h] = 0;", [[(16,), (17,)]]),
    "chosen bound": ("for (i = 0; i < (n < 3 ? n : 3); i++) x[i] = 0;", [[(0,), (1,), (2,)]]),
    "chosen condition": ("for (i = 0; i < 4; i++) if (i < 2 ? i == 1 : i > 2) x[i] = 0;", [[(1,), (3,)]]),
    "not": ("for (i = 0; i < 4; i++) if (!(i == 1 || i > 2)) x[i] = 0;", [[(0,), (2,)]]),
    "truth of a number": ("for (i = 0; i < 4; i++) if (i % 2) x[i] = 0;", [[(1,), (3,)]]),
    "else if": ("for (i = 0; i < 3; i++) if (i > 1) x[i] = 0; else if (i > 0) x[i] = 1; else x[i] = 2;",
                [[(2,)], [(1,)], [(0,)]]),
    "division truncates": ("for (i = -3; i / 2 < 0; i++) x[i + 3] = 0;", [[(-3,), (-2,)]]),
    "negative divisor": ("for (i = -3; i / -2 > 0; i++) x[i + 3] = 0;", [[(-3,), (-2,)]]),
    "negative remainder": ("for (i = -3; i % -2 != 0; i++) x[i + 3] = 0;", [[(-3,)]]),
    "guarded subscript": ("for (i = 0; i < 2; i++) x[i] = i > 0 ? x[i - 1] : 0;", [[(0,), (1,)]]),
    "guard by &&": ("for (i = 0; i < 2; i++) x[i] = i > 0 && x[i - 1] > 0;", [[(0,), (1,)]]),
    "guard by ||": ("for (i = 0; i < 2; i++) x[i] = i == 0 || x[i - 1] > 0;", [[(0,), (1,)]]),
    "chained assignments": ("x[0] = x[1] = s += 3;", [[()], [()], [()]]),
    "first element": ("*x = 0;", [[()]]),
    "nested blocks": ("{ { s = 0; } ; { } }", [[()]]),
    "several on a line": ("s = 0; s += 1; s *= 2;", [[()], [()], [()]]),
    "counting": ("s++; ++s; s--; --x[0];", [[()], [()], [()], [()]]),
    "iterator is an argument": ("for (n = 0; n < 2; n++) x[n] = 0;", [[(0,), (1,)]]),
    "local array": ("double t[2 * 2]; for (i = 0; i < 4; i++) { t[i] = i; x[i] = t[i]; }",
                    [[(0,), (1,), (2,), (3,)]] * 2),
    "other pragmas": ("#pragma omp parallel for\nfor (i = 0; i < 2; i++)\n#pragma unroll\nx[i] = 0;", [[(0,), (1,)]]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    body, expected = ACCEPTED[name]
    program = program_of(scop(body), {"n": 5})
    found = [{values for _, values in instances(isl_set(s.domain))} for s in program.statements]
    assert found == [set(points) for points in expected]


def test_loop_around_the_scop() -> None:
    text = """double x[8];
void f(int steps) {
  for (int t = 0; t < steps; t++) {
    enum { FIRST = 1 };
#pragma scop
    for (int i = FIRST; i < 4; i++) x[i] = t;
#pragma endscop
  }
}
"""
    program = program_of(text, {"t": 2, "FIRST": 1})
    assert program.parameters == (("FIRST", 1), ("t", 2))


def test_shadowing_names_are_told_apart() -> None:
    body = "double t = 1; { float t = 2; s = t; } s += t; { double s = 3; x[0] = s; } x[1] = s;"
    program = program_of(scop(body))
    assert [s.text for s in program.statements] == [
        "double t = 1;", "float t_2 = 2;", "s = t_2;", "s += t;", "double s_2 = 3;", "x[0] = s_2;", "x[1] = s;"]
    assert {a.name: a.type for a in program.arrays if a.role == "temp"} == {"t": "double", "t_2": "float",
                                                                           "s_2": "double"}


def test_types_that_decide_how_arithmetic_wraps_are_kept() -> None:
    text = """double s; int x[8];
void f(unsigned int u, long l, short h) {
#pragma scop
  for (long i = 0; i < 2; i++) x[i] = i * u + l + h;
  s = 5u + 6L + 7 + 0xFFFFFFFF + 5000000000;
#pragma endscop
}
"""
    first, second = program_of(text, {"u": 3, "l": 4, "h": 5}).statements
    assert first.body.target == Load("x", (Name("i"),), 0)
    leaves = str(first.body.value) + str(second.body.value)
    for part in (Cast("long", Name("i")), Cast("unsigned int", Int(3)), Cast("long", Int(4)),
                 Cast("unsigned int", Int(5)), Cast("long", Int(6)), Cast("unsigned int", Int(0xFFFFFFFF)),
                 Cast("long", Int(5000000000))):
        assert str(part) in leaves
    assert "Cast" not in str(second.body.value.left.left.right)  # type: ignore[union-attr]  # the plain 7


@pytest.mark.parametrize(("declared", "element"), [
    ("long long unsigned int", "unsigned long"), ("unsigned long long", "unsigned long"), ("long int", "long"),
    ("signed char", "char"), ("unsigned", "unsigned int"), ("short unsigned", "unsigned short"), ("signed", "int"),
    ("const float", "float"), ("volatile double", "double"), ("int long", "long"), ("char unsigned", "unsigned char")])
def test_spellings_of_types(declared: str, element: str) -> None:
    program = program_of(f"{declared} z[4];\nvoid f(void) {{\n#pragma scop\nz[1] = 0;\n#pragma endscop\n}}\n")
    assert program.array("z").type == element


def test_blanking_keeps_lines_and_initialisers() -> None:
    text = 'int f(int a) {\n  "}"; \'}\';\n}\nstruct p q = (struct p){1};\nint g(void) {\n#pragma scop\n;\n}\n'
    blank = blank_other_bodies(text)
    assert blank.count("\n") == text.count("\n")
    assert '"}"' not in blank
    assert "(struct p){1}" in blank
    assert "#pragma scop\n;\n}" in blank
    assert without_assembly('a;\n__asm__ volatile ("x (" :\n "=r"(y));\nb;') == "a;\nasm(\n);\nb;"


def test_types_of_pointers_to_functions_come_from_system_headers(tmp_path: Path) -> None:
    text = scop("for (int i = 0; i < 8; i++) A[i] = i;", "static int A[8];").replace(
        "#pragma scop", "signal(SIGHUP, SIG_IGN);\n#pragma scop"
    )
    file = write_c("#include <signal.h>\n" + text, tmp_path)
    problem = read_untimed(file, Compilation(), None, None, {}, 0)
    assert problem.program.statements[0].text == "A[i] = i;"
