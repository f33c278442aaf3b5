"""Every refused program is an InputError that names the place, the text and the reason; nothing else ever escapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from tests.support.programs import program_of, scop, write_c
from tests.support.slow import in_turn

FOR = "for (i = 0; i < n; i++) "
LOOP = FOR + "\n  "  # what follows stands on line 6

# SCoP text (from line 5 of the file), the line that is blamed, and the essence of the message.
REFUSED = {
    "any element of a pointer": (
        LOOP + "free[idx[i]] = 0;",
        6,
        "the size of `free` is unknown: declare it as `double free[SIZE]`",
    ),
    "any row of a pointer": (LOOP + "y[i] = rows[idx[i]][0];", 6, "declare it as `double rows[SIZE][16]`"),
    "product in a pointer": (
        FOR + "free[i * i] = 0;",
        5,
        "is not affine: it multiplies two iterators; so it may be any element, but the size",
    ),
    "pointer in a condition": (FOR + "\nif (free[idx[i]] > 0) x[i] = 0;", 6, "the size of `free` is unknown"),
    "division by zero": (FOR + "x[i / 0] = 0;", 5, "it divides by 0"),
    "remainder by zero": (FOR + "x[i % (n - n)] = 0;", 5, "it divides by 0"),
    "data in bound": (
        FOR + "for (j = 0; j < s; j++)\n  x[j] = 0;",
        5,
        "`for (j = 0; j < s; j++)` has bounds that are data and writes elements of `x` that depend on its iterations",
    ),
    "data in both bounds": (
        FOR + "for (j = idx[i]; j < idx[i + 1]; j++)\n  x[j] = 0;",
        5,
        "has bounds that are data and writes elements of `x`",
    ),
    "bound changes": (
        "n = idx[3];\nfor (i = 0; i < n; i++) x[i] = 0;",
        6,
        "has bounds that are data and writes elements of `x`",
    ),
    "division by zero in condition": (
        LOOP + "if (i / 0) y[i] = 0;",
        6,
        "the condition `i / 0` has no value: it divides",
    ),
    "and data": (LOOP + "if (x[i] > 0 && i / 0) y[i] = 0;", 6, "has no value: it divides by 0"),
    "side effect in condition": (LOOP + "if (s++ > 0) y[i] = 0;", 6, "`s++` cannot stand in a SCoP's expression"),
    "assignment in condition": (LOOP + "if (s = x[i]) y[i] = 0;", 6, "`s = x[i]` cannot stand in a SCoP's expression"),
    "call in condition": (LOOP + "if (foo(i)) y[i] = 0;", 6, "call of `foo` in a SCoP: its effects are unknown"),
    "iterator changed on data": (FOR + "{\nif (x[i] > 0)\n i++; x[i] = 0; }", 7, "the iterator `i` is changed inside"),
    "outside under data": (
        LOOP + "if (x[i] > 0) y[i + 62] = 0;",
        6,
        "subscript 1 of `y` in `if (x[i] > 0) y[i + 62] = 0;`",
    ),
    "unknown call": (LOOP + "x[i] = foo(i);", 6, "call of `foo` in a SCoP: its effects are unknown"),
    "call as statement": (LOOP + "foo(x, i);", 6, "call of `foo` as a statement: its effects are unknown"),
    "function pointer": ("x[0] = (*callback)(1);", 5, "call of `*callback` in a SCoP"),
    "address of function": ("x[0] = callback == 0;", 1, "`double (*callback)(int)` is not supported in a SCoP"),
    "continue": (
        FOR + "{\nif (i > 3) { if (x[i] > 0)\n continue;\n x[i] = 0; } }",
        7,
        "`continue;` is not static control",
    ),
    "while": (
        "s = 1;\nwhile (s > 0) s = s - 1;",
        6,
        (
            "`while (s > 0) s = s - 1;` is not static control: a SCoP holds `for` loops, "
            "`if`/`else` and assignments; a `while` loop is understood where it counts"
        ),
    ),
    "do": (
        "do { s = s - 1; } while (s > 0);",
        5,
        (
            "`do` is not static control: a SCoP holds `for` loops, `if`/`else` and assignments; "
            "write a `for` loop, or leave it out"
        ),
    ),
    "switch": (
        "switch (n) { case 1: s = 0; }",
        5,
        (
            "`switch (n)` is not static control: a SCoP holds `for` loops, `if`/`else` and assignments; "
            "write it as `if`/`else if`"
        ),
    ),
    "goto": ("s = 1;\ngoto end;\nend: s = 0;", 6, "`goto end;` is not static control"),
    "return": ("s = 1; return;", 5, "`return;` is not static control"),
    "iterator changed": (FOR + "{\n x[i] = 0;\n i = i + 1; }", 7, "the iterator `i` is changed inside its loop"),
    "iterator incremented": (FOR + "{\n x[i] = 0;\n i++; }", 7, "the iterator `i` is changed inside its loop"),
    "iterator before loop": ("s = i;\n" + FOR + "{ x[i] = 0; i++; }", 5, "the iterator `i` is used outside its loop"),
    "iterator reused inside": (FOR + "\nfor (i = 0; i < 3; i++) x[i] = 0;", 6, "`i` is already used by an outer loop"),
    "real iterator": ("for (double d = 0; d < 3; d++) x[0] = d;", 5, "use an integer variable"),
    "no start": ("for (; i < n; i++) x[i] = 0;", 5, "the loop must start with `i = value`"),
    "two starts": ("for (i = 0, j = 0; i < n; i++) x[i] = 0;", 5, "the loop must start with `i = value`"),
    "no condition": ("for (i = 0; ; i++) x[i] = 0;", 5, "this loop has no condition"),
    "no step": ("for (i = 0; i < n; ) x[i] = 0;", 5, "the loop must advance `i` by a constant"),
    "step 0": ("for (i = 0; i < n; i += 0) x[i] = 0;", 5, "not by `i += 0`"),
    "step doubles": ("for (i = 1; i < n; i *= 2) x[i] = 0;", 5, "not by `i *= 2`"),
    "step from data": ("for (i = 1; i < n; i += s) x[i] = 0;", 5, "not by `i += s`"),
    "other step": ("for (i = 0; i < n; j++) x[i] = 0;", 5, "the loop must advance `i` by a constant"),
    "endless up": ("for (i = 0; i >= 0; i++) x[i] = 0;", 5, "the loop has no end"),
    "step in the condition": (
        "for (unsigned q = 10; q-- > 0;) x[q] = 0;",
        5,
        "in the last part of its header, which is empty",
    ),
    "wraps": (
        "for (unsigned char q = 252; q != 4; q++) x[q % 64] = 0;",
        5,
        "reaches it only as its iterator wraps around",
    ),
    "endless equal": ("for (i = 0; i != 10; i += 3) x[i] = 0;", 5, "the loop has no end"),
    "endless unsigned": ("for (unsigned u = 9; u >= 0; u--) x[u] = 0;", 5, "unsigned or narrow integers wrap"),
    "mixed comparison": ("for (i = -2; i < 4u; i++) x[i + 2] = 0;", 5, "wrap around"),
    "pointer arithmetic": (LOOP + "*(x * i) = 0;", 6, "`*(x * i)` is not an element of an array or a scalar variable"),
    "address": ("s = &s == 0;", 5, "`&s` cannot stand in a SCoP's expression"),
    "pointer into array": (
        "double *q = x; q = x + 1; q[0] = 0;",
        5,
        "`q` is assigned to in the SCoP, so the pointer may point elsewhere later",
    ),
    "dangling pointer": ("double *q; q[0] = 0;", 4, "the size `?` of `q`, which is declared inside the SCoP"),
    "rows somewhere": (
        "pp[0][0] = 0;",
        1,
        "; allocate its rows as one block (`double (*pp)[m] = malloc(n * sizeof *pp);`)",
    ),
    "pointer to pointer": ("pp[0][0] = 0;", 1, "`double **pp` is not supported in a SCoP: use scalars and arrays"),
    "array of pointers": ("ap[0][0] = 0;", 1, "is not supported in a SCoP: use scalars and arrays"),
    "member": (LOOP + "p.c = i;", 6, "`p.c`: there is no member of that name"),
    "structure": (
        "x[0] = p;",
        1,
        "`struct point` is used as a whole, and its members have different types (`a` is int, `b` is float)",
    ),
    "too few subscripts": (LOOP + "A[i] = 0;", 6, "`A[i]` has 1 subscripts but `A` has 2 dimensions"),
    "too many subscripts": (LOOP + "x[i][i] = 0;", 6, "`x[i][i]` has 2 subscripts but `x` has 1 dimensions"),
    "subscripted scalar": ("s[0] = 0;", 5, "`s[0]` has 1 subscripts but `s` has 0 dimensions"),
    "array as value": ("s = x;", 5, "`x` has 0 subscripts but `x` has 1 dimensions"),
    "below the array": (LOOP + "x[i - 1] = 0;", 6, "subscript 1 of `x` in `x[i - 1] = 0;` goes from -1 to 3 but"),
    "above the array": (LOOP + "y[i] = A[i][i + 12];", 6, "subscript 2 of `A` in `y[i] = A[i][i + 12];` goes from 12"),
    "huge subscript": (FOR + "x[99999999999999999999999 * i] = 0;", 5, "the array has 64 elements"),
    "empty": ("", 4, "the SCoP holds no statement that is ever executed"),
    "never executed": ("for (i = 3; i < 2; i++)\n x[i] = 0;", 4, "the SCoP holds no statement that is ever executed"),
    "undeclared scalar": (LOOP + "x[i] = zz;", 6, "`zz` is not declared"),
    "undeclared array": (LOOP + "q[i] = 0;", 6, "`q` is not declared"),
    "undeclared iterator": ("for (zz = 0; zz < 3; zz++) x[zz] = 0;", 5, "`zz` is not declared"),
    "function as variable": ("s = f;", 5, "`f` is not declared (or it is a function or type)"),
    "string": ('s = "abc";', 5, 'the constant "abc" (string) is not supported'),
    "string element": ('s = *"abc";', 5, "is not an element of an array"),
    "wide character": ("s = L'a';", 5, "the constant L'a'"),
    "two characters": ("s = 'ab';", 5, "the constant 'ab'"),
    "long double": ("s = 1.0L;", 5, "the constant 1.0L (long double) is not supported"),
    "long double variable": ("ld = 1;", 1, "`long double ld` is not supported"),
    "assignment in a value": ("s = 1 + (x[0] = 3);", 5, "`x[0] = 3` cannot stand in a SCoP's expression"),
    "side effect in subscript": (
        "x[s++] = 0;",
        5,
        "`s++` cannot stand in a SCoP's expression: it changes a variable; make it a statement of its own",
    ),
    "side effect in value": ("x[0] = s++;", 5, "`s++` cannot stand in a SCoP's expression"),
    "comma": ("s = (x[0], 3);", 5, "cannot stand in a SCoP's expression"),
    "comma statement": ("s = 0, s = 1;", 5, "is not static control"),
    "expression statement": ("s;", 5, "`s` is not static control"),
    "sizeof": ("s = sizeof(double);", 5, "`sizeof(double)` cannot stand in a SCoP's expression"),
    "pointer cast": ("s = (long *)x == 0;", 5, "only casts to arithmetic types are supported"),
    "initialiser list": ("double t[3] = {1, 2, 3}; s = t[0];", 5, "`1, 2, 3` cannot stand in a SCoP's expression"),
    "static inside": ("static double t = 0; t += 1; s = t;", 5, "`static double t = 0`: declare it before the SCoP"),
    "extern inside": ("extern double e; s = e;", 5, "`extern double e`: declare it before the SCoP"),
    "size from data": ("int m = idx[4]; double t[m]; t[0] = 1; s = t[0];", 4, "the size `m` of `t`"),
    "typedef inside": ("typedef int q; s = 1;", 5, "`typedef int q` is not static control"),
    "assembly": ('__asm__ volatile ("nop" ::: "memory");', 5, "call of `asm` as a statement"),
    "statement expression": ("s = ({ double t = 1; t; });", 5, "cannot stand in a SCoP's expression"),
    "scop in scop": ("s = 1;\n#pragma scop\ns = 2;", 6, "`#pragma scop` inside a SCoP"),
    "endscop in a block": (FOR + "{\n x[i] = 0;\n#pragma endscop\n}", 7, "both pragmas must stand in the same block"),
}

DECLARATIONS = """double A[16][16], x[64], y[64], s, *free, (*rows)[16], **pp, *ap[4], (*callback)(int); int idx[64];
long double ld;
struct point { int a; float b; } p, *ps;"""


@in_turn
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    body, line, essence = REFUSED[name]
    with pytest.raises(InputError) as caught:
        program_of(scop(body, DECLARATIONS), {"n": 5})
    message = str(caught.value)
    assert essence in message
    assert f"input.c:{line}: " in message


def refusal(path: Path, function: str | None = None, number: int | None = None,
            compilation: Compilation | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_scop(path, compilation or Compilation(), function, number)
    return str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    assert "no such file: " in refusal(tmp_path / "absent.c")
    assert "no such file: " in refusal(tmp_path)


def test_no_scop(tmp_path: Path) -> None:
    message = refusal(write_c("int main(void) { return 0; }\n", tmp_path))
    assert "input.c: no SCoP found; put `#pragma scop` and `#pragma endscop` around the loops" in message


def test_half_a_scop(tmp_path: Path) -> None:
    text = "double s;\nvoid f(void) {\n#pragma scop\n s = 1;\n}\n"
    assert "input.c:3: `#pragma scop` without a `#pragma endscop`" in refusal(write_c(text, tmp_path))
    text = "double s;\nvoid f(void) {\n s = 1;\n#pragma endscop\n}\n#pragma scop\n"
    assert "no SCoP found" in refusal(write_c(text, tmp_path))
    text = "double s;\nvoid f(void) {\n#pragma scop\n s = 1;\n#pragma endscop\n#pragma endscop\n}\n"
    assert "input.c:6: `#pragma endscop` without a `#pragma scop`" in refusal(write_c(text, tmp_path))


TWO = """double s;
void f(void) {
#pragma scop
  s = 1;
#pragma endscop
}
void g(void) {
#pragma scop
  s = 2;
#pragma endscop
  if (s > 1) {
#pragma scop
    s = 3;
#pragma endscop
  }
}
"""


def test_several_scops(tmp_path: Path) -> None:
    path = write_c(TWO, tmp_path)
    assert "3 SCoPs (1: f, line 3; 2: g, line 8; 3: g, line 12); choose one with --scop N" in refusal(path)
    assert "2 SCoPs (1: g, line 8; 2: g, line 12)" in refusal(path, "g")
    assert "there is no SCoP 4; there are 3" in refusal(path, None, 4)
    assert "there is no SCoP 0" in refusal(path, None, 0)
    assert "no SCoP in a function called 'h'; there are SCoPs in: f, g" in refusal(path, "h")
    assert program_of(TWO, scop=2).statements[0].text == "s = 2;"
    assert program_of(TWO, function="g", scop=2).statements[0].text == "s = 3;"
    assert program_of(TWO, function="f").statements[0].line == 4


def test_missing_include(tmp_path: Path) -> None:
    path = write_c('\n#include "absent.h"\n' + scop("s = 1;"), tmp_path)
    message = refusal(path)
    assert f"{path}:2: the preprocessor says: absent.h: No such file" in message
    assert "add its directory with -I" in message


def test_error_directive(tmp_path: Path) -> None:
    path = write_c("#ifndef SIZE\n#error say -DSIZE=...\n#endif\n" + scop("s = 1;"), tmp_path)
    assert f"{path}:2: the preprocessor says: #error say -DSIZE=" in refusal(path)
    assert read_scop(path, Compilation(defines=("SIZE=3",))).function == "f"


@pytest.mark.parametrize("before", ["", "#include <stdio.h>\n#include <math.h>\n", '#include "own.h"\n\n\n'])
def test_syntax_error_line(tmp_path: Path, before: str) -> None:
    write_c("typedef double real;\n\nreal global;\n", tmp_path, "own.h")
    path = write_c(before + scop("s = 1;\ns = (2;"), tmp_path)
    line = before.count("\n") + 6
    assert f"{path}:{line}: syntax error, the C compiler says: " in refusal(path)


@pytest.mark.parametrize("name", ["linux", "unix"])
def test_a_name_that_is_a_macro(name: str, tmp_path: Path) -> None:
    """GCC and clang define these names where GNU's C is allowed."""
    path = write_c(f"#define N 8\nstatic double a[N],\n\t{name}[N];\n" + scop("s = 1;"), tmp_path)
    assert f"{path}:3: syntax error" in (said := refusal(path))
    remedy = f"a variable needs another name, or undefine it with --cflags -U{name}"
    assert f"`{name}` is a macro of the compiler, `1`: {remedy}" in said
    assert read_scop(path, Compilation(cflags=(f"-U{name}",))).function == "f"
    own = write_c("#define N 8\n" + scop("s = 1;") + "double N;\n", tmp_path)
    assert refusal(own).endswith("; `N` is a macro, `8`: a variable needs another name")
    wrong = write_c("#define REAL doubl\n" + scop("s = 1;") + "REAL x;\n", tmp_path)
    assert "doubl" in (said := refusal(wrong)) and "; `REAL` is a macro, `doubl`: " in said


def test_a_name_with_letters_that_are_not_ascii(tmp_path: Path) -> None:
    path = write_c("/* größer */ double a, größe;\n" + scop("s = 1; // größer"), tmp_path)
    assert refusal(path).startswith(f"{path}:1: the name `größe` has letters that are not ASCII")


def test_syntax_error_in_an_include(tmp_path: Path) -> None:
    own = write_c("typedef double real;\nreal real real;\n", tmp_path, "own.h")
    path = write_c('#include "own.h"\n' + scop("s = 1;"), tmp_path)
    assert f"{own}:2: syntax error, the C compiler says: " in refusal(path)


@pytest.mark.parametrize("text", [
    "", "\0\0", "int main( {", "}", "void f(void) { /* ", "#pragma scop\n#pragma endscop\n"])
def test_no_c_at_all(tmp_path: Path, text: str) -> None:
    assert refusal(write_c(text, tmp_path))


@in_turn
def test_long_expressions() -> None:
    def total(terms: int) -> str:
        return scop("s = " + " + ".join(f"x[{k % 64}]" for k in range(terms)) + ";")

    assert len(program_of(total(140)).statements[0].accesses) == 141
    with pytest.raises(InputError, match=r"input.c:5: this is nested too deeply \(more than 150"):
        program_of(total(200))
    with pytest.raises(InputError, match="nested too deeply; split it"):
        program_of(total(20000))
