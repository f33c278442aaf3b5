"""Hand-made SCoPs with updates: former bugs, and likely ones.

Declarations and body. Many arrays have exactly or nearly the size of their touched part.
"""

from __future__ import annotations

DATA = ("double A[12][12], B[12][12], x[12], y[12], s; float r[12]; int m[12], c; unsigned int u[12]; "
        "long l[12]; unsigned long w[12], v; char d[12]; short h[12];")
SUM = "for (i = 0; i < 10; i++) for (j = 0; j < 11; j++) "
CASES: dict[str, tuple[str, str]] = {
    "product": (
        "double A[9][7], B[7][5], C[9][5];",
        (
            "for (i = 0; i < 9; i++) for (j = 0; j < 5; j++) { C[i][j] *= 3; "
            "for (k = 0; k < 7; k++) C[i][j] += A[i][k] * B[k][j]; }"
        ),
    ),
    "long rows": ("double A[3][40], x[3];", "for (i = 0; i < 3; i++) for (j = 0; j < 40; j++) x[i] += A[i][j];"),
    "two rows of sums": (
        "double A[3][40], x[3], y[40];",
        ("for (i = 0; i < 3; i++) for (j = 0; j < 40; j++) { x[i] += A[i][j]; y[j] = fmin(y[j], A[i][j]); }"),
    ),
    "backwards": (
        "double A[10][7], x[7], y[10];",
        ("for (i = 9; i >= 0; i--) for (j = 0; j < 7; j++) y[9 - i] += A[9 - i][6 - j] * x[6 - j];"),
    ),
    "offsets": (
        "double A[7][9], x[9], y[7];",
        ("for (i = 3; i < 10; i++) for (j = 2; j < 11; j++) y[i - 3] -= A[9 - i][j - 2] * x[10 - j];"),
    ),
    "strides": (
        "double A[10][9], x[13];",
        ("for (i = 0; i < 10; i += 3) for (j = 8; j >= 0; j -= 2) x[i + 3] += A[9 - i][8 - j];"),
    ),
    "triangle": (
        DATA,
        (
            "for (i = 0; i < 10; i++) for (j = 0; j <= i; j++) { A[i][j] = 0; for (k = j; k <= i; k++) "
            "A[i][j] += B[i][k] * B[k][j]; }"
        ),
    ),
    "triangle of sums": (DATA, "for (i = 0; i < 10; i++) for (j = i; j < 11; j++) y[j - i] += A[i][j];"),
    "columns": (DATA, "for (i = 0; i < 10; i++) for (j = 0; j < 11; j++) { x[i] += A[i][j]; y[j] += A[i][j]; }"),
    "dot product": (DATA, "s = 0; for (i = 0; i < 12; i++) s += x[i] * y[i]; x[0] = s;"),
    "one element": (DATA, SUM + "x[5] += A[i][j];"),
    "partial results": (DATA, "for (i = 0; i < 6; i++) { for (j = 0; j < 11; j++) s += A[i][j]; x[i] = s; }"),
    "reset": (DATA, "for (i = 0; i < 6; i++) { s = x[i]; for (j = 0; j < 11; j++) s += A[i][j]; y[i] = s; }"),
    "two on one": (DATA, SUM + "{ x[i] += A[i][j]; x[i] *= B[j][i]; }"),
    "two sums on one": (
        DATA,
        SUM + "x[i] += A[i][j]; for (i = 0; i < 7; i++) for (j = 0; j < 5; j++) x[j] -= B[i][j];",
    ),
    "two minima of one type": (DATA, SUM + "{ x[i] = fmin(x[i], A[i][j]); y[j] = y[j] > A[i][j] ? y[j] : A[i][j]; }"),
    "read beside it": (DATA, SUM + "{ x[i] += A[i][j]; B[i][j] = A[i][j] * y[j]; }"),
    "read at another place": (DATA, SUM + "x[i] += A[i][j]; for (i = 0; i < 9; i++) y[i] = x[i + 1];"),
    "read at another place in the same loop": (
        DATA,
        ("for (i = 1; i < 10; i++) for (j = 0; j < 11; j++) { y[i] += A[i][j]; x[j] += y[i - 1]; }"),
    ),
    "read under a condition": (
        DATA,
        SUM + "{ y[i] += (i > 0 ? x[i - 1] : 0) * A[i][j]; if (i > 0) x[i - 1] = A[i][j]; }",
    ),
    "the last read under a condition": (
        "double A[9][3], x[10], y[10];",
        ("for (i = 0; i < 10; i++) for (j = 0; j < 3; j++) y[i] += (i >= 9 ? x[i] : A[i][j]);"),
    ),
    "a quotient as subscript": ("double A[10][11], x[1], y[10];", SUM + "y[i] += x[i / 10] * A[i][j];"),
    "guarded": (DATA, SUM + "if (u[i] % 3) x[i] = y[i] * j;"),
    "guarded update": (DATA, SUM + "if (u[j] % 3) x[i] += y[j];"),
    "divided": (DATA, "for (i = 0; i < 10; i++) for (j = 0; j < 3; j++) { m[i] /= 11 - i; m[i] += 77; }"),
    "divided by data": (DATA, "for (i = 0; i < 10; i++) for (j = 0; j < 3; j++) m[i] += 5 / (int)(r[j] * (11 - i));"),
    "shared and divided": (
        DATA,
        "for (i = 0; i < 10; i++) for (j = 0; j < 11; j++) m[i] += 5 % (1 + 2 * m[j - j + 11]);",
    ),
    "time": (
        DATA,
        (
            "for (k = 0; k < 3; k++) { for (i = 1; i < 11; i++) y[i] = x[i - 1] + x[i + 1]; "
            "for (i = 1; i < 11; i++) x[i] = y[i]; s += x[k]; }"
        ),
    ),
    "sums in time": (
        DATA,
        (
            "for (k = 0; k < 3; k++) { for (i = 0; i < 10; i++) for (j = 0; j < 9; j++) y[i] += A[i][j + k]; "
            "for (i = 0; i < 10; i++) x[i + k % 2] = y[i]; }"
        ),
    ),
    "host loop of a taken name": (
        DATA,
        (
            "for (int y_0 = 0; y_0 < 3; y_0++) { for (i = 0; i < 10; i++) "
            "{ y[i] = 0; for (j = 0; j < 9; j++) y[i] += A[i][j + y_0]; } "
            "for (i = 0; i < 10; i++) A[i][3] = y[9 - i]; }"
        ),
    ),
    "int": (DATA, SUM + "{ m[i] += m[11] * j; l[j] -= u[i]; }"),
    "int product": (DATA, SUM + "{ c *= 2 * m[j] + 3; u[i] *= h[j]; }"),
    "least of large numbers": (
        DATA,
        (
            "v = 0ul - 1ul; for (i = 0; i < 12; i++) w[i] = 0ul - 5ul * i - 5ul; "
            + SUM
            + "{ v = v < w[j] ? v : w[j]; w[11] = w[11] < v ? w[11] : v; }"
        ),
    ),
    "greatest of zeros": (DATA, "for (i = 0; i < 12; i++) u[i] = 0; " + SUM + "u[i] = u[i] > 0u * j ? u[i] : 0u * j;"),
    "greatest of negative numbers": (
        DATA,
        (
            "c = -9000000; for (i = 0; i < 12; i++) { l[i] = -80000000l; m[i] = -5000000 - i; "
            "r[i] = -3; } " + SUM + "{ c = c > m[i] ? c : m[i]; l[j] = l[j] > m[i] * 2l ? l[j] : "
            "m[i] * 2l; r[11] = fmaxf(r[11], r[j] - 7); }"
        ),
    ),
    "small types": (DATA, SUM + "{ d[i] += h[j]; h[i / 2 + 6] = h[i / 2 + 6] < d[11] ? h[i / 2 + 6] : d[11]; }"),
    "three parallel loops": (
        "double A[5][6][7], B[6][7];",
        (
            "for (i = 0; i < 5; i++) for (j = 0; j < 6; j++) "
            "for (k = 0; k < 7; k++) { A[i][j][k] *= 2; B[j][k] += A[i][j][k]; }"
        ),
    ),
    "a sum over two of three": (
        "double A[5][6][7], x[6];",
        ("for (i = 0; i < 5; i++) for (j = 0; j < 6; j++) for (k = 0; k < 7; k++) x[j] += A[i][j][k];"),
    ),
}
