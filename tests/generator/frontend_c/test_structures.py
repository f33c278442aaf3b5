"""Structures in a SCoP: their numbers are found where the program keeps them, and results go back there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from experiments.exports.write import export
from experiments.store import read_store
from generator.errors import InputError
from generator.frontend_c.source import Compilation, Invocation
from generator.problem import Problem
from tests.support.devices import check_default_plan
from tests.support.exports import stored_run
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn

PROGRAM = """#include <stdio.h>
#define N 24
typedef struct { float x, y, z; } vec;
struct body { vec pos; float v[3], mass; };
struct grid { double w[2][3]; };
struct cell { int low, high; } __attribute__((aligned(32)));
struct mixed { int id; float v; };
struct rich { char tag; vec pos; double m[2][3]; struct mixed in; struct rich *link; unsigned bits : 3; };
struct three { unsigned char c[3]; } __attribute__((aligned(4)));
static struct body p[N], old[N], *one = &p[3], first;
static vec acc[N][2], mean;
static struct grid g[N];
static struct cell cells[N];
static struct mixed mixed[N], pair[N][2];
static struct rich rich[N], kept[N], single;
static struct three three[N];
static int next[N];
static float square(float v) { return v * v; }
static void run(struct body *q, int n, struct mixed *other) {
#pragma scop
BODY
#pragma endscop
}
int main(void) {
  for (int i = 0; i < N; i++) {
    p[i].pos.x = i % 7; p[i].pos.y = i % 5 - 2; p[i].pos.z = i % 3; p[i].mass = 1 + i % 4; p[i].v[1] = i;
    next[i] = (i * 5 + 3) % N;
    mixed[i].id = i % 4 - 1; mixed[i].v = i; pair[i][1].id = i;
    rich[i].tag = i % 3; rich[i].pos.y = i; rich[i].in.id = i % 2; rich[i].in.v = 3 - i; rich[i].link = rich;
    for (int k = 0; k < 6; k++) rich[i].m[k / 3][k % 3] = k - i;
    for (int k = 0; k < 6; k++) g[i].w[k / 3][k % 3] = i * k % 11;
  }
  first.mass = 2;
  run(p, N, mixed + 3);
  printf("%f\\n", acc[1][0].x + old[1].mass + mean.x);
  return 0;
}
"""
EACH = "for (int i = 0; i < n; i++) "

# What is in the SCoP, and the arrays that it becomes with their extents.
ACCEPTED: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "members": (EACH + "{ float dx = q[i].pos.x - q[0].pos.y; acc[i][1].z += dx * q[i].mass; }", {"acc": (24, 2, 3)}),
    "members that are arrays": (
        EACH + "for (int k = 0; k < 3; k++) q[i].v[k] = 2 * q[i].v[2 - k] + k;",
        {"q": (24, 7)},
    ),
    "matrices": (
        EACH + "for (int r = 0; r < 2; r++) for (int c = 0; c < 3; c++) g[i].w[r][c] += g[i].w[1 - r][c] * i;",
        {"g": (24, 6)},
    ),
    "whole structures": (
        EACH + "{ old[i] = q[i]; acc[i][0] = q[n - 1 - i].pos; old[i].pos = acc[i][1]; }",
        {"old": (24, 7), "acc": (24, 2, 3)},
    ),
    "local structure": (
        EACH + "{ struct body b = q[i]; vec f; f.x = f.y = b.mass; f.z = b.v[1]; b.v[2] = 3; acc[i][0] = f; "
        "old[i] = b; }",
        {"acc": (24, 2, 3)},
    ),
    "a name like a member's": (
        EACH + "{ float f_x = 2, f_y; vec f; f.x = q[i].mass; f_y = f_x * f.x; acc[i][0].x = f_y; }",
        {"acc": (24, 2, 3)},
    ),
    "single structures": (
        EACH + "{ mean.x += q[i].pos.x * first.mass; mean.y = first.v[0]; }",
        {"mean": (3,), "first": (7,)},
    ),
    "through a pointer": (EACH + "old[i].mass = one->mass + q->pos.x;", {"one": (1, 7), "q": (1, 7)}),
    "matrices in one dimension": (
        EACH + "for (int j = 0; j < 4; j++) if (i < 6) old[i * 4 + j].mass = q[j * 6 + i].mass;",
        {"old": (24, 7)},
    ),
    "subscripts from data": (
        EACH + "acc[next[i]][0].x = square(p[next[i]].pos.y + 1) + old[i].v[next[i] % 3];",
        {"acc": (24, 2, 3)},
    ),
    "different types": (EACH + "mixed[i].v += mixed[i].id; ", {"mixed_v": (24,), "mixed_id": (24,)}),
    "different types in two dimensions": (
        EACH + "for (int j = 0; j < 2; j++) pair[i][j].v = 2 * pair[i][1 - j].id + mixed[i].id;",
        {"pair_v": (24, 2), "pair_id": (24, 2)},
    ),
    "members of all kinds": (
        EACH
        + "{ rich[i].pos.x += rich[i].tag; rich[i].m[1][i % 3] = rich[i].in.v; if (rich[i].in.id) rich[i].tag = 7; }",
        {"rich_tag": (24,), "rich_pos_x": (24,), "rich_m": (24, 2, 3), "rich_in_v": (24,), "rich_in_id": (24,)},
    ),
    "copies of different types": (
        EACH + "{ mixed[i] = pair[i][1]; kept[i].in = rich[n - 1 - i].in; struct mixed t = mixed[i]; t.v += t.id; "
        "pair[i][0] = t; }",
        {"kept_in_v": (24,), "pair_id": (24, 2)},
    ),
    "one structure of different types": (
        EACH + "{ single.in.v += rich[i].pos.y; single.m[1][2] = single.tag + i; }",
        {"single_in_v": (), "single_m": (2, 3)},
    ),
    "different types through a pointer": (
        EACH + "if (i < 9) other[i].v = other->id + (*other).v + other[i + 1].id;",
        {"other_v": (9,), "other_id": (10,)},
    ),
    "different types chosen by data": (
        EACH + "kept[next[i]].pos.z = rich[next[i]].in.id;",
        {"kept_pos_z": (24,), "rich_in_id": (24,)},
    ),
    "condition": (EACH + "if (q[i].pos.y > 0) { q[i].pos.y = -q[i].pos.y; q[i].v[0] = 1; }", {"q": (24, 7)}),
}
REFUSED = {
    "a pointer as a member": ("\n" + EACH + "rich[i].link = 0;", 8, "= s.link;`) and use these"),
    "bits": (EACH + "rich[i].bits = 0;", 8, "numbers, arrays of numbers, and structures of these"),
    "no such member of different types": (
        "\n" + EACH + "mixed[i].w = 1;",
        22,
        "`mixed[i].w`: there is no member of that name",
    ),
    "the whole as a value": ("\n" + EACH + "acc[i][0].x = square(rich[i].in);", 22, "is not a number"),
    "copied from another kind": (
        "\n" + EACH + "mixed[i] = kept[i];",
        22,
        "can only be copied from a variable or an element",
    ),
    "no such member": ("\n" + EACH + "q[i].speed = 1;", 22, "`q[i].speed`: there is no member of that name"),
    "a structure as a value": ("\n" + EACH + "q[i].mass = square(acc[i]);", 22, "is not a number"),
    "another structure": ("\n" + EACH + "q[i] = g[i];", 22, "can only be copied from a variable or an element"),
    "padding": (EACH + "cells[i].low = 1;", 20, "a structure of `cells` has 32 bytes"),
    "padding that division hides": (EACH + "three[i].c[1] = 1;", 20, "a structure of `three` has 4 bytes"),
}


def captured(body: str, folder: Path) -> Problem:
    return read_untimed(write_c(PROGRAM.replace("BODY", body), folder), Compilation(), None, None, {}, 0)


@in_turn
@pytest.mark.parametrize("name", few(ACCEPTED, 1))
def test_on_pocl(name: str, tmp_path: Path) -> None:
    body, extents = ACCEPTED[name]
    found = captured(body, tmp_path)
    assert {array: found.program.array(array).extents for array in extents} == extents
    check_default_plan(found)


def test_local_structures_are_numbers_of_their_own(tmp_path: Path) -> None:
    program = captured(ACCEPTED["local structure"][0], tmp_path).program
    assert {"f_x", "f_y", "b_pos_x", "b_v_2", "b_mass"} <= {
        array.name for array in program.arrays if array.role == "temp"
    }


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    body, line, essence = REFUSED[name]
    with pytest.raises(InputError) as caught:
        captured(body, tmp_path)
    assert essence in str(caught.value)
    assert f"input.c:{line}: " in str(caught.value)


@in_turn
def test_exports_take_structures(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", write_c(PROGRAM.replace("BODY", ACCEPTED["whole structures"][0]), tmp_path))
    with read_store(run) as store:
        for kind in (Kind.opencl, Kind.python):
            export(store, kind, None, tmp_path / kind)
    header = (tmp_path / Kind.opencl / "run.h").read_text()
    assert "void run(float q[24][7], int n, void *other, float old[24][7], float acc[24][2][3]);" in header
    assert (
        "`q`: structures or complex numbers of 7 x float in the original; pass their address as (float (*)[7])."
        in header.replace("\n * ", " ")
    )
    done = subprocess.run(
        [sys.executable, "-m", "run"], cwd=tmp_path / Kind.python, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@in_turn
def test_exports_take_members_of_different_types_as_arrays(tmp_path: Path) -> None:
    body = ACCEPTED["different types through a pointer"][0] + ACCEPTED["members of all kinds"][0]
    run = stored_run(tmp_path / "run", write_c(PROGRAM.replace("BODY", body), tmp_path))
    with read_store(run) as store:
        for kind in (Kind.opencl, Kind.python):
            export(store, kind, None, tmp_path / kind)
    header = (tmp_path / Kind.opencl / "run.h").read_text()
    assert "void run(void *q, int n, int other_id[10], float other_v[9], int rich_in_id[24], " in header
    assert "`other_v`: other[...].v of the original's structures, in an array of its own" in header.replace(
        "\n * ", " "
    )
    done = subprocess.run(
        [sys.executable, "-m", "run"], cwd=tmp_path / Kind.python, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_members_of_different_types_need_a_program_that_fills_them(tmp_path: Path) -> None:
    text = PROGRAM.replace("BODY", ACCEPTED["different types"][0]).partition("int main")[0]
    with pytest.raises(
        InputError, match=r"the loops use members of structures \(`mixed`\): give the file a `main` that fills them"
    ):
        read_untimed(write_c(text, tmp_path), Compilation(), None, None, {}, 0)


POINTERS = """#include <stdio.h>
#include <stdlib.h>
typedef struct { int rows, cols; double *data; } matrix;
struct sim { struct { int nx, ny; } size; matrix *field; float *u, *v, dt; };
typedef struct { int nx, ny; } dims;
static void mul(const matrix *a, const matrix *b, matrix c) {
#pragma scop
  for (int i = 0; i < a->rows; i++)
    for (int j = 0; j < (*b).cols; j++) {
      double *at = c.data + i * c.cols;
      at[j] = 0;
      for (int k = 0; k < a->cols; k++) at[j] += a->data[i * a->cols + k] * b->data[k * b->cols + j];
    }
#pragma endscop
}
static void step(struct sim *s, dims *d) {
#pragma scop
  for (int y = 1; y < s->size.ny - 1; y++)
    for (int x = 1; x < d->nx - 1; x++)
      s->v[y * s->size.nx + x] = s->u[y * d->nx + x] + s->dt * (s->u[y * s->size.nx + x - 1]
        + s->field->data[y * s->field->cols + x]);
#pragma endscop
}
static matrix *make(int rows, int cols) {
  matrix *m = malloc(sizeof *m);
  *m = (matrix){rows, cols, malloc(rows * cols * sizeof(double))};
  for (int i = 0; i < rows * cols; i++) m->data[i] = i % 7;
  return m;
}
int main(void) {
  matrix *a = make(30, 20), *b = make(20, 24), *c = make(30, 24);
  struct sim s = {{24, 30}, c, calloc(720, 4), calloc(720, 4), 0.25f};
  dims d = {24, 30};
  double sum = 0;
  for (int i = 0; i < 720; i++) s.u[i] = i % 5;
  mul(a, b, *c);
  step(&s, &d);
  for (int i = 0; i < 720; i++) sum += c->data[i] + s.v[i];
  printf("%g\\n", sum);
}
"""


@in_turn
@pytest.mark.parametrize(
    ("function", "arrays", "sizes"),
    [
        (
            "mul",
            {"a_data": (30, 20), "b_data": (20, 24), "c_data": (30, 24)},
            {"a_rows": 30, "a_cols": 20, "b_cols": 24, "c_cols": 24},
        ),
        (
            "step",
            {"s_u": (29, 24), "s_v": (29, 24), "s_field_data": (29, 24), "s_dt": ()},
            {"d_nx": 24, "s_field_cols": 24, "s_size_nx": 24, "s_size_ny": 30},
        ),
    ],
)
def test_structures_may_point_to_arrays(
    function: str, arrays: dict[str, tuple[int, ...]], sizes: dict[str, int], tmp_path: Path
) -> None:
    problem = read_untimed(write_c(POINTERS, tmp_path), Compilation(), function, None, {}, 0)
    assert {a.name: a.extents for a in problem.program.arrays if a.role != "temp"} == arrays
    assert dict(problem.program.parameters) == sizes
    check_default_plan(problem)


@pytest.mark.slow
def test_exports_take_what_structures_point_to(tmp_path: Path) -> None:
    text = POINTERS.replace("#pragma scop", "", 1).replace("#pragma endscop", "", 1)
    run = stored_run(tmp_path / "run", write_c(text, tmp_path))
    with read_store(run) as store:
        for kind in (Kind.opencl, Kind.python):
            export(store, kind, None, tmp_path / kind)
    header = (tmp_path / Kind.opencl / "step.h").read_text()
    assert (
        "void step(float s_dt, int s_field_cols, double s_field_data[695], int s_size_nx, int s_size_ny, float "
        "s_u[695], "
        in header
    )
    assert "`s_field_data`: s->field->data of the original." in header
    done = subprocess.run(
        [sys.executable, "-m", "step"], cwd=tmp_path / Kind.python, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            POINTERS.replace("mul(a, b, *c)", "a->rows = 20; mul(a, b, (matrix){20, 24, a->data})"),
            "`a_data` and `c_data` overlap in memory",
        ),
        (
            POINTERS.replace("at[j] = 0;", "at[j] = 0; ((matrix *)b)->cols = 3;"),
            "is not a member of a structure|members of structures",
        ),
    ],
)
def test_pointers_in_structures_are_checked(program: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_untimed(write_c(program, tmp_path), Compilation(), "mul", None, {}, 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "for (i = 0; i < 9; i++) q[i].data[i] = 1;",
            r"copy the pointer, and sizes beside it, into variables before the loops \(`double \*data = s.data;`\)",
        ),
        ("for (i = 0; i < 9; i++) { m->data[i] = 1; m->rows = i; }", "copy the pointer, and sizes beside it"),
        ("for (i = 0; i < 9; i++) { m->data[i] = 1; q[i] = *m; }", "copy the pointer, and sizes beside it"),
        (
            ("for (i = 0; i < 9; i++) { m->cur[i] = m->data[i]; { double *t = m->cur; m->cur = m->data; m->data = t; } "
            "}"),
            "copy the pointer, and sizes beside it",
        ),
        ("for (i = 0; i < 9; i++) { one.data[i] = 1; one.rows += i; }", "copy the pointer, and sizes beside it"),
    ],
)
def test_other_pointers_in_structures_get_advice(body: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program_of(scop(body, "struct matrix { int rows; double *data, *cur; } *m, q[9], one; int i;"))


CELLS = """
struct cell {{ float v[2]; int kind; }};
struct grid {{ struct cell *c; struct cell held[64]; }};
struct cell cells[64]; struct grid one, grids[2]; float out[64];
int main(void) {{
  struct grid *g = &one; int i;
  for (i = 0; i < 64; i++) {{ cells[i].kind = i % 3; cells[i].v[0] = i; one.held[i] = cells[i]; }}
  g->c = grids[1].c = cells;
  {before}
#pragma scop
  for (i = 0; i < 64; i++) if ({cell}.kind) out[i] = {cell}.v[0];
#pragma endscop
  return (int)out[3];
}}
"""


@pytest.mark.parametrize(("cell", "advice", "instead"), [
    ("g->c[i]", "struct cell *c = g->c;", "c[i]"), ("one.c[i]", "struct cell *c = one.c;", "c[i]"),
    ("grids[1].c[i]", "struct cell *c = grids[1].c;", "c[i]"),
    ("g->held[i]", "struct cell *held = g->held;", "held[i]")])
def test_structures_in_structures_get_advice_that_works(cell: str, advice: str, instead: str, tmp_path: Path) -> None:
    refused = write_c(CELLS.format(before="", cell=cell), tmp_path)
    with pytest.raises(InputError, match=re.escape(f"before the loops (`{advice}`), and use `{instead[:-3]}` in them")):
        read_untimed(refused, Compilation(), None, None, {}, 0)
    taken = write_c(CELLS.format(before=advice, cell=instead), tmp_path)
    assert read_untimed(taken, Compilation(), None, None, {}, 0).subject.name == "main"


def test_other_members_get_other_advice() -> None:
    declared = "struct cell { float x, y; } *c; struct grid { struct cell *c; int n; } grids[9]; int i;"
    with pytest.raises(InputError, match="copy the members that the loops use into arrays before them"):
        program_of(scop("for (i = 0; i < 9; i++) grids[i].c[i].x = 1;", declared))
    with pytest.raises(InputError, match=r"with subscripts \(`p\[i\].x`\)"):
        program_of(scop("for (i = 0; i < 9; i++) ((struct cell *)c)[i].x = 1;", declared))


def test_padding_is_refused_before_the_loops_run(tmp_path: Path) -> None:
    """Restoring too many bytes before each repeat also reset the count of repeats, so that they never ended."""
    file = write_c(PROGRAM.replace("BODY", EACH + "cells[i].low = 1;"), tmp_path)
    with pytest.raises(InputError, match="a structure of `cells` has 32 bytes"):
        read_untimed(file, Compilation(invocation=Invocation(limit_s=5)), None, None, {}, 0)
