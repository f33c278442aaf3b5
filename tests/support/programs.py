"""Programs from C text, and isl relations as plain Python sets, for tests."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import islpy as isl

from generator.frontend_c.extract import extract
from generator.frontend_c.parse import read_scop
from generator.frontend_c.probing import needed_extents
from generator.frontend_c.source import Compilation, ScopSource
from generator.program import Program

Instance: TypeAlias = tuple[str, tuple[int, ...]]
Pair: TypeAlias = tuple[Instance, Instance]

SUMS_OF_ROWS = """
static float a[N][N], b[N][N];
int main(void) {
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) a[i][j] = (i * j) % 7;
#pragma scop
  for (int i = 1; i < N - 1; i++)
    for (int j = 1; j < N - 1; j++)
      b[i][j] = a[i - 1][j] + a[i + 1][j];
#pragma endscop
  return (int)b[3][3];
}
"""
"""A program whose arrays are N x N; N is defined on compilation."""


def write_c(text: str, folder: Path | None = None, name: str = "input.c") -> Path:
    """Write a C file with `text`, in `folder` or in a new temporary directory."""
    path = (folder or Path(tempfile.mkdtemp(prefix="antune-test-"))) / name
    path.write_text(text)
    return path


def program_of(text: str, parameters: Mapping[str, int] | None = None, *, function: str | None = None,
               scop: int | None = None, compilation: Compilation | None = None) -> Program:
    """Return the Program of C `text`; array extents must be integer expressions over `parameters`.

    Cases of one test ask for the same program, and reading it takes more time than they do: the last ones are kept.

    Raises:
        InputError: the front end refuses it.
    """
    return _program(text, tuple((parameters or {}).items()), function, scop, compilation or Compilation())


@lru_cache(maxsize=16)
def _program(text: str, parameters: tuple[tuple[str, int], ...], function: str | None, scop: int | None,
             compilation: Compilation) -> Program:
    with tempfile.TemporaryDirectory(prefix="antune-test-") as folder:
        source = read_scop(write_c(text, Path(folder)), compilation, function, scop)
    given = dict(parameters)
    values = {name: given.get(name, 0) for name in source.parameters}
    return extract(source, values, extents_of(source, given | values))


def extents_of(source: ScopSource, values: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return extents as a capture would report them; those behind a pointer are the needed ones."""
    unknown = {}
    if any(None in v.extents for v in source.variables):
        unknown = needed_extents(source, {name: values[name] for name in source.parameters}, {})
    return {v.name: tuple(_number(text, values) if text is not None else unknown[v.name][d]
                          for d, text in enumerate(v.extents)) for v in source.variables}


def scop(body: str, declarations: str = "double A[16][16], B[16][16], x[64], y[64], s;\nint idx[64];") -> str:
    """Return a C file whose function `f(int n)` contains the SCoP `body`, from line 5 of the file on."""
    declarations = declarations.replace("\n", " ")
    return f"{declarations}\nvoid f(int n) {{\n  int i, j, k;\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def instances(union: Any) -> set[Instance]:
    """Return the points of an isl UnionSet."""
    found: set[Instance] = set()
    union.foreach_point(lambda point: found.add(_instance(point)))
    return found


def isl_set(text: str) -> Any:
    """Return the isl UnionSet that `text` describes."""
    return isl.UnionSet(text)


def isl_schedule(text: str) -> Any:
    """Return the isl Schedule that `text` describes."""
    return isl.Schedule(text)


def pairs(union: Any) -> set[Pair]:
    """Return the pairs of an isl UnionMap."""
    found: set[Pair] = set()
    listed = union.get_map_list()
    for index in range(listed.n_map()):
        one = listed.get_at(index)
        left, right = one.get_tuple_name(isl.dim_type.in_), one.get_tuple_name(isl.dim_type.out)
        size, both = one.dim(isl.dim_type.in_), one.dim(isl.dim_type.in_) + one.dim(isl.dim_type.out)
        points: list[tuple[int, ...]] = []
        one.wrap().flatten().foreach_point(lambda point, both=both, points=points: points.append(_values(point, both)))
        found |= {((left or "", values[:size]), (right or "", values[size:])) for values in points}
    return found


def access_pairs(program: Program, kind: str) -> set[Pair]:
    """Return (instance, element) of all accesses of one kind."""
    return {pair for s in program.statements for a in s.accesses if a.kind == kind
            for pair in pairs(isl.UnionMap(a.relation))}


def original_order(program: Program) -> list[Instance]:
    """Return all instances, in the order of the original schedule."""
    return list(_ordered(program.schedule))


@lru_cache(maxsize=16)
def _ordered(schedule: str) -> tuple[Instance, ...]:
    times = {source: time for source, (_, time) in pairs(flat_schedule(isl.Schedule(schedule)))}
    assert len(set(times.values())) == len(times), "the original schedule leaves instances unordered"
    return tuple(sorted(times, key=times.__getitem__))


def flat_schedule(schedule: Any) -> Any:
    """Return the isl UnionMap from instances to time vectors of one common length."""
    return schedule.get_map().intersect_domain(schedule.get_domain())


def _instance(point: Any) -> Instance:
    space = point.get_space()
    name = space.get_tuple_name(isl.dim_type.set) if space.has_tuple_name(isl.dim_type.set) else ""
    return name or "", _values(point, space.dim(isl.dim_type.set))


def _values(point: Any, size: int) -> tuple[int, ...]:
    return tuple([point.get_coordinate_val(isl.dim_type.set, d).get_num_si() for d in range(size)])


def _number(text: str, values: Mapping[str, int]) -> int:
    """Return the value of a simple C integer expression, whose syntax is also that of Python."""
    tree: Any = ast.parse(text.replace("/", "//"), mode="eval")
    return int(eval(compile(tree, "extent", "eval"), {"__builtins__": {}}, dict(values)))
