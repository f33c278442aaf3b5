"""Calls of the file's own functions in a SCoP: they are inlined, and mean what they mean to a C compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generator.errors import InputError
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from tests.support.devices import check_default_plan
from tests.support.printed import as_read, printed
from tests.support.programs import write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn

N = 16
HEAD = f"""#include <stdio.h>
#include <math.h>
#include <stdbool.h>
#define N {N}
static float a[N][N], b[N][N], x[N], y[N], gain = 1.5f;
static double d[N], e[N];
static int k[N], m[N];
static unsigned char byte[N];
"""
MAIN = """
int main(void) {
  for (int i = 0; i < N; i++) {
    x[i] = (i * 37 % 23) / 7.0f - 1; d[i] = (i * 29 % 31) * 1.37 - 17; k[i] = i * 13 % 11 - 4; byte[i] = i * 41;
    for (int j = 0; j < N; j++) a[i][j] = (i * 17 + j * 29) % 13 / 3.0f - 2;
  }
#pragma scop
  BODY
#pragma endscop
  double sum = 0;
  for (int i = 0; i < N; i++) {
    sum += y[i] * (i + 1) + e[i] + m[i] * 3 + byte[i];
    printf("%.17g %.17g %d %d\\n", y[i], e[i], m[i], byte[i]);
    for (int j = 0; j < N; j++) sum += b[i][j] * (i * j + 1);
  }
  printf("%.17g\\n", sum);
  return 0;
}
"""
EACH = "for (int i = 0; i < N; i++) "
ALL = EACH + "for (int j = 0; j < N; j++) "
CLAMP = (
    "static inline float clamp(float v, float lo, float hi) { if (v < lo) return lo; if (v > hi) return hi; return v; "
    "}\n"
)

# Functions and the SCoP that calls them.
PROGRAMS = {
    "early returns": (CLAMP, EACH + "y[i] = clamp(3 * x[i] * x[i] - 1, 0, 2.5);"),
    "nested calls": (
        CLAMP + "float twice(float v) { return clamp(2 * v, -1, 1) + clamp(v * v * v, -1, 1); }",
        EACH + "y[i] = twice(clamp(x[i] + sqrtf(fabsf(x[i])), twice(0.25f), 2)) + twice(x[i]);",
    ),
    "local variables": (
        (
            "static double f(double v) { double p = v * v, q; q = p + 1; if (v > 0) { q += p; p = -p; } "
            "else q--; { double p = 3; q *= p; } return p / q; }"
        ),
        EACH + "e[i] = f(d[i] + 0.5);",
    ),
    "array and position": (
        (
            "static float at(const float p[N][N], int i, int j) { if (i < 0) i = 0; "
            "if (j >= N) j = N - 1; return p[i][j]; }"
        ),
        ALL + "b[i][j] = at(a, i - 1, j) - at(a, i, j + 1);",
    ),
    "rows and pointers": (
        (
            "static float at(const float *p, int n, int i) { return i < n ? p[i] : 0; }\n"
            "static float first(const float *p) { return *p + p[0] + *(p + 1); }"
        ),
        EACH + "y[i] = at(a[i], N, i + 1) + at(x, N, i + 3) + (i < N - 3 ? at(&x[2], N, i) : 1) + "
        "first(a[i]) + first(x + 3);",
    ),
    "conversions": (
        (
            "static int whole(double v) { return v; }\nstatic unsigned char low(int v) { return v; }\n"
            "static bool any(double v) { return v; }\nstatic float narrow(float v) { return v; }\n"
            "static unsigned wrap(unsigned v) { return v - 7; }"
        ),
        EACH + "{ m[i] = whole(d[i]) * 3 + low(k[i]) + any(d[i] / 100) + any(0); "
        "e[i] = narrow(d[i] / 3) + wrap(k[i]) + low(300 + i); byte[i] = low(byte[i] + 100); }",
    ),
    "only where it is reached": (
        (
            "static int share(int n, int by) { if (by == 0) return -1; int q = n / by; return q * q - q; }"
            "\nstatic float ago(const float *p, int i) { float v = p[i] * p[i] + 1; return v * v; }"
        ),
        EACH + "{ m[i] = share(100, k[i]) + (k[i] ? share(7, k[i]) : 2); y[i] = i >= 2 ? ago(x, i - 2) : 0; }",
    ),
    "globals": (
        "static float scaled(float v) { return v * gain + x[0]; }",
        EACH + "y[i] = scaled(x[i] + 1) * scaled(2);",
    ),
    "conditions": (
        "static int big(float v) { float w = v * v; return w > 1 && w * v < 4; }",
        EACH + "if (big(x[i])) y[i] = 1; else if (big(x[i] + 1) || i < 3) y[i] = big(x[i]) ? 2 : 3;",
    ),
    "loop bounds": (
        "static int half(int n) { return n / 2; }",
        "for (int i = half(4); i < half(2 * N); i++) y[i] += x[half(i)];",
    ),
}


def program(functions: str, body: str) -> str:
    return HEAD + functions + MAIN.replace("BODY", body)


@in_turn
@pytest.mark.parametrize("name", PROGRAMS)
def test_inlined_calls_compute_the_same(name: str, tmp_path: Path) -> None:
    text = program(*PROGRAMS[name])
    assert printed(as_read(text, tmp_path), tmp_path) == printed(text, tmp_path)


@in_turn
@pytest.mark.parametrize(
    "name",
    few(
        [
            "early returns",
            "array and position",
            "conversions",
            "local variables",
            "only where it is reached",
            "conditions",
        ],
        1,
    ),
)
def test_on_pocl(name: str, tmp_path: Path) -> None:
    found = read_untimed(write_c(program(*PROGRAMS[name]), tmp_path), Compilation(), None, None, {}, 0)
    check_default_plan(found)


def test_what_is_used_several_times_is_computed_once(tmp_path: Path) -> None:
    text = program(
        "static float square(float v) { return v * v; }", EACH + "y[i] = square(square(square(x[i] * x[i] + 3)));"
    )
    source = read_scop(write_c(text, tmp_path), Compilation())
    assert [v.name for v in source.locals] == ["square_v_1", "square_v_2"]


def test_subscripts_stay_affine(tmp_path: Path) -> None:
    text = program(*PROGRAMS["array and position"])
    assert read_scop(write_c(text, tmp_path), Compilation()).locals == ()


def test_names_of_values_are_new(tmp_path: Path) -> None:
    body = EACH + "{ float f_v_1 = x[i]; y[i] = f(x[i] * x[i] + 1) + f_v_1; }"
    text = program("static float f(float v) { return v * v; }", body)
    assert printed(as_read(text, tmp_path), tmp_path) == printed(text, tmp_path)


def random_function(rng: np.random.Generator, name: str, earlier: tuple[str, ...]) -> str:
    """A function of numbers of random types, with locals, branches and early returns."""
    def kind() -> str:
        return str(rng.choice(["int", "unsigned", "short", "unsigned char", "long", "float", "double", "_Bool"]))

    def value(depth: int, *more: str) -> str:
        if depth == 0 or rng.random() < 0.2:
            return str(rng.choice(["p", "q", "3", "1.5f", "0.3", "7u", *more]))
        left, right = value(depth - 1, *more), value(depth - 1, *more)
        if earlier and rng.random() < 0.3:
            return f"{rng.choice(earlier)}(BOUND({left}), BOUND({right}))"
        form = rng.choice(["({} + {})", "({} - {})", "({} * {})", "({} < {})", "({} > 1 ? {} : p)", "({} && {})"])
        return str(form).format(left, right)

    result = rng.choice(["int", "short", "unsigned char", "float", "double", "_Bool"])
    return (
        f"static {result} {name}({kind()} p, {kind()} q) {{ {kind()} t = BOUND({value(2)}), u = 2; "
        f"if ({value(2, 't', 'u')}) u += BOUND({value(2, 't', 'u')}); if ({value(1, 't', 'u')}) return "
        f"BOUND({value(2, 't', 'u')}); "
        f"if ({value(1, 't', 'u')}) {{ t = BOUND({value(2, 't', 'u')}); u = 1; if ({value(1, 't', 'u')}) return 5; }} "
        f"else u++; "
        f"return BOUND({value(2, 't', 'u')}); }}\n"
    )


@pytest.mark.parametrize("seed", few(range(12), 1))
def test_random_functions(seed: int, tmp_path: Path) -> None:
    """Conversions never leave the range of the target, where C leaves the result open (`BOUND`)."""
    rng = np.random.default_rng(seed)
    names: tuple[str, ...] = ()
    functions = "static double bound(double v) { return v > 50 ? 50.7 : v < 0 ? 0.4 : v; }\n#define BOUND(v) bound(v)\n"
    for number in range(3):
        functions += random_function(rng, f"f{number}", names)
        names = (*names, f"f{number}")
    body = EACH + "{ e[i] = " + " + ".join(f"{name}(i, d[i] > 0 ? d[i] : 1)" for name in names) + "; }"
    text = program(functions, body)
    assert printed(as_read(text, tmp_path), tmp_path) == printed(text, tmp_path)


# Functions (their first line is line 9), the SCoP's statement (line 19 where there is one more line), the essence.
REFUSED = {
    "recursion": ("static float f(float v) {\n  return v > 1 ? f(v - 1) : v; }", 10, "it calls itself"),
    "changes a global": (
        "static float f(float v) {\n  gain = v;\n  return v; }",
        10,
        "`gain = v` changes something else",
    ),
    "changes an element": (
        "static float f(float *v) {\n  v[0] = 1;\n  return 0; }",
        10,
        "`v[0] = 1` changes something",
    ),
    "calls rand": ("int rand(void);\nstatic float f(float v) {\n  return rand() + v; }", 11, "it calls `rand`"),
    "has a loop": ("static float f(float v) {\n  while (v > 1) v /= 2;\n  return v; }", 10, "it has a loop"),
    "keeps a value": ("static float f(float v) {\n  static int n = 0;\n  return n + v; }", 10, "`static int n = 0`"),
    "has an array": (
        "static float f(float v) {\n  float w[2];\n  return v; }",
        10,
        "its local variables must be numbers",
    ),
    "may return nothing": ("static float f(float v) {\n  if (v > 1) return v; }", 9, "it can end without a `return`"),
    "returns nothing": ("static void f(float v) { }", 9, "it does not return a number"),
    "jumps": ("static float f(float v) {\n  goto out;\n  out: return v; }", 10, "`goto out;"),
    "assigns in a value": ("static float f(float v) {\n  return (v = 3); }", 10, "`v = 3` cannot be part"),
    "prints": ('static float f(float v) {\n  printf("%f", v);\n  return v; }', 10, "is more than declarations"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    functions, line, essence = REFUSED[name]
    argument = "x" if "*v" in functions else "x[i]"
    text = program(functions, EACH + f"y[i] = f({argument});")
    with pytest.raises(InputError) as caught:
        read_scop(write_c(text, tmp_path), Compilation())
    assert f"input.c:{line}: `f`, which the SCoP calls, cannot be inlined: " in str(caught.value)
    assert essence in str(caught.value)


@pytest.mark.parametrize(
    ("functions", "body", "essence"),
    [
        ("static float at(const float *p, int i) { return p[i]; }", "y[i] = at(a, i);", "`a` has not the type"),
        ("static float at(const double *p, int i) { return p[i]; }", "y[i] = at(x, i);", "`x` has not the type"),
        ("static float at(const float p[4][4], int i) { return p[i][0]; }", "y[i] = at(a, i);", "`a` has not the type"),
        (
            "static float g(float v) { return v * gain; }",
            "{ float gain = 2; y[i] = g(x[i]) + gain; }",
            "`gain` is not visible",
        ),
        (
            "static float g(float v) { return 1; }",
            "y[i] = g(k[0]++);",
            "`k[0]++`, given to a function that is inlined, has or may",
        ),
        ("int rand(void); static float g(float v) { return 1; }", "y[i] = g(rand());", "`rand()`, given to a function"),
        ("static void g(float *p) { *p = 1; }", "g(x);", "call of `g` as a statement"),
        (
            "",
            'printf("%f", x[i]);',
            "`printf` inside the SCoP: tuned code runs on a device and prints nothing; move the",
        ),
        ("", 'fprintf(stderr, "here");', "`fprintf` inside the SCoP"),
        ("", 'puts("here");', "`puts` inside the SCoP"),
    ],
)
def test_refused_in_the_scop(functions: str, body: str, essence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_scop(write_c(program(functions, EACH + body), tmp_path), Compilation())
    assert essence in str(caught.value)
    assert "input.c:" in str(caught.value)
