"""Which static arrays and which memory from malloc are dead after the SCoP."""

from __future__ import annotations

import pytest

from tests.support.programs import program_of

LOOP = "for (int i = 0; i < 4; i++) t[i] = x[i]; for (int i = 0; i < 4; i++) y[i] = t[i] + t[3 - i];"
SQUARE = LOOP.replace("t[i]", "t[i / 2][i % 2]").replace("t[3 - i]", "t[1][i % 2]")


def role_of(name: str, file: str, declarations: str = "", before: str = "", after: str = "", body: str = LOOP) -> str:
    """The role of an array of `f`, in a file with other text before it."""
    text = (f"#include <stdlib.h>\nstatic double x[4];\ndouble y[4];\n{file}\ndouble *f(int n) {{\n{declarations}\n"
            f"{before}\n#pragma scop\n{body}\n#pragma endscop\n{after}\nreturn y;\n}}\n")
    found = program_of(text, {"n": 2})
    return {array.name: array.role for array in found.arrays}[name]


# Text of the file before the function, text after the SCoP, and the role of the array t.
STATICS = {
    "only the SCoP": ("static double t[4];", "", "temp"),
    "with values": ("static double t[4] = {1, 2};", "", "temp"),
    "read after": ("static double t[4];", "y[0] = t[1];", "out"),
    "read in another function": ("static double t[4]; double g(void) { return t[2]; }", "", "out"),
    "behind a pointer": ("static double t[4]; double *keep = t;", "", "out"),
    "its size": ("static double t[4];", "n = sizeof t;", "out"),
    "global": ("double t[4];", "", "out"),
    "extern": ("extern double t[4];", "", "out"),
    "volatile": ("static volatile double t[4];", "", "out"),
    "in a pragma": ("static double t[4];", "\n#pragma omp flush(t)\n", "out"),
    "assembly": ("static double t[4];", '__asm__ volatile ("" : : : "memory");', "out"),
    "assembly elsewhere": ("static double t[4]; void g(void) { __asm__ volatile (\"\" : : : \"memory\"); }", "", "out"),
    "shadowed elsewhere": ("static double t[4]; double g(void) { double t = 2; return t; }", "", "out"),
}


@pytest.mark.parametrize("name", STATICS)
def test_statics(name: str) -> None:
    file, after, role = STATICS[name]
    assert role_of("t", file, after=after) == role


# Declarations, text before and after the SCoP, and the role of the array behind t.
NEW = "double *t = malloc(4 * sizeof *t);"
ALLOCATIONS = {
    "freed": (NEW, "", "free(t);", "temp"),
    "never freed": (NEW, "", "", "temp"),
    "calloc": ("double *t = (double *)calloc(4, sizeof(double));", "", "free(t);", "temp"),
    "set later": ("double *t = NULL;", "t = aligned_alloc(64, 64);", "free(t);", "temp"),
    "tested": (NEW, "if (!t) return 0; if (t == NULL || 0 != t) n = 3;", "if (t) free(t);", "temp"),
    "tested at once": ("double *t;", "if ((t = malloc(32)) == NULL) return 0;", "free(t);", "temp"),
    "in a loop": ("double *t;", "while (n--) { t = malloc(32);", "free(t); }", "temp"),
    "read after": (NEW, "", "y[0] = t[0]; free(t);", "out"),
    "printed before": (NEW, "y[0] = t[0];", "free(t);", "out"),
    "copied": (NEW, "double *kept = t; y[0] = kept[0];", "", "out"),
    "copied on the way": ("double *t, *kept;", "kept = t = malloc(32);", "y[0] = kept[0];", "out"),
    "returned": (NEW, "", "return t;", "out"),
    "handed out": (NEW, "y[0] = (double)(long)realloc(t, 64);", "", "out"),
    "its place": (NEW, "double **place = &t;", "y[0] = **place;", "out"),
    "moved": (NEW, "t++;", "", "out"),
    "other memory": ("double *t = x;", "", "", "out"),
    "perhaps other memory": (NEW, "if (n) t = x;", "", "out"),
    "what n says": ("double *t = n ? malloc(32) : x;", "", "", "out"),
    "static": ("static double *t; if (!t) t = malloc(32);", "", "", "out"),
    "volatile": ("volatile double *t = malloc(32);", "", "free(t);", "out"),
}


@pytest.mark.parametrize("name", ALLOCATIONS)
def test_allocations(name: str) -> None:
    declarations, before, after, role = ALLOCATIONS[name]
    assert role_of("t", "", declarations, before, after) == role


def test_rows_behind_a_pointer() -> None:
    assert role_of("t", "", "double (*t)[2] = malloc(sizeof(double[2][2]));", after="free(t);", body=SQUARE) == "temp"


def test_a_function_that_only_looks_like_malloc() -> None:
    own = "static double pool[9]; void *malloc(unsigned long n) { return pool; }"
    assert role_of("t", own, NEW, after="free(t);") == "out"


def test_swapped_pointers_lead_to_each_others_memory() -> None:
    body = ("for (int k = 0; k < 2; k++) { for (int i = 0; i < 4; i++) u[i] = t[3 - i] + 1;"
            " double *kept = t; t = u; u = kept; }")
    declarations = "double *t = malloc(32), *u = malloc(32);"
    assert role_of("u", "", declarations, body=body, after="y[0] = t[0];") == "out"


def test_what_is_read_before_it_is_written_is_live() -> None:
    body = "for (int i = 0; i < 4; i++) { y[i] = t[i]; t[i] = x[i]; }"
    assert role_of("t", "static double t[4];", body=body) == "inout"
    assert role_of("t", "", "double *t = calloc(4, 8);", body=body) == "inout"
