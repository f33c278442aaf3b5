"""A schedule given by its loops: the rows of a schedule matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from generator.emit.cstyle import c_text
from generator.expr import Expr, Name
from generator.forms import NAMES, Form, check_fields, list_of, sizes, sorted_names
from generator.linear import combination
from generator.program import Program

MOST = 1_000_000
"""The largest number in a schedule matrix."""

Vector: TypeAlias = tuple[int, ...]
"""The time of a statement's instances in one loop: coefficients of its iterators, then a constant."""

Row: TypeAlias = tuple[Vector, ...]
"""A loop that statements share: a Vector per statement."""

Step: TypeAlias = tuple[tuple[str, ...], Row]
"""Statements that share a loop, and that loop."""

NestPath: TypeAlias = tuple[Step, ...]
"""The position of a nest: the loops around it, outermost first."""


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Statements that share loops, and these loops (one row of a schedule matrix each, outermost first).

    `rows[k][s]` belongs to `statements[s]` (sorted names): `[2, 1, 0]` runs iteration (t, i) at 2t + i. `parts`: the
    nests inside these loops, in order; if there are none, the rest runs statement by statement in source order.

    `wavefront`: tile the first rows with these sizes (empty: untiled). Tiles with the same sum of their numbers run in
    parallel, one sum after the other; inside a tile, the rows run in order.
    """

    statements: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    parts: tuple[LoopNest, ...] = ()
    wavefront: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hyperplanes:
    """A complete schedule, in order of execution (the O3 decisions of Coding Ants).

    `reductions`, `serial`: as in ScheduleChoice.
    """

    nests: tuple[LoopNest, ...]
    reductions: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()


def hyperplanes_from_json(data: Any, where: str) -> Hyperplanes:
    """Read a schedule from JSON. Raises InputError if a field is unknown, missing or has a bad value."""
    check_fields(data, Hyperplanes, where)
    NAMES.require(data, where, "reductions", "serial")
    return Hyperplanes(_nests(data, "nests", where), sorted_names(data, "reductions"), sorted_names(data, "serial"))


def _nests(data: dict[str, Any], name: str, where: str) -> tuple[LoopNest, ...]:
    list_of("loop nests").require(data, where, name)
    nests = []
    for number, nest in enumerate(data.get(name, ())):
        place = f"{where}.{name}[{number}]"
        check_fields(nest, LoopNest, place)
        NAMES.require(nest, place, "statements")
        sizes("tiled row").require(nest, place, "wavefront")
        statements = nest["statements"]
        Form(
            partial(_is_matrix, len(statements)),
            "a list of rows; a row is a list with one list of integers per statement: the "
            "coefficients of its iterators, then a constant",
        ).require(nest, place, "rows")
        order = sorted(range(len(statements)), key=statements.__getitem__)
        rows = tuple(tuple(tuple(row[k]) for k in order) for row in nest.get("rows", ()))
        nests.append(LoopNest(tuple(statements[k] for k in order), rows, _nests(nest, "parts", place),
                              tuple(nest.get("wavefront", ()))))
    return tuple(nests)


def _is_matrix(statements: int, value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == statements and all(_is_vector(v) for v in row) for row in value)


def _is_vector(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(v, int) and not isinstance(v, bool) and abs(v) <= MOST for v in value)


def hyperplanes_words(schedule: Hyperplanes) -> str:
    """`S0 S1 by (1,0,0 1,0,1) | S2`."""
    return " | ".join(_short(nest) for nest in schedule.nests)


def _short(nest: LoopNest) -> str:
    """`S0 S1 by (1,0,0 1,0,1)`: per row the coefficients and the constant of each statement; then tiles, then parts."""
    rows = ", ".join(" ".join(",".join(map(str, vector)) for vector in row) for row in nest.rows)
    tiles = f" in tiles of {'x'.join(map(str, nest.wavefront))} along wavefronts" if nest.wavefront else ""
    parts = f" ({' | '.join(_short(part) for part in nest.parts)})" if nest.parts else ""
    return " ".join(nest.statements) + (f" by ({rows})" if rows else "") + tiles + parts


def hyperplanes_lines(schedule: Hyperplanes, program: Program) -> Iterator[str]:
    """Yield the rows for `antune explain`, as sums of the statements' iterators."""
    yield "schedule matrix, outermost row first:"
    for nest in schedule.nests:
        yield from _long(program, nest, "    ")


def _long(program: Program, nest: LoopNest, pad: str) -> Iterator[str]:
    """Yield the rows of a nest, then its parts."""
    yield f"{pad}{{{', '.join(nest.statements)}}}"
    for row in nest.rows:
        runs = [f"{name} at {_sum(program.statement(name).iterators, vector)}"
                for name, vector in zip(nest.statements, row, strict=True)]
        yield f"{pad}    loop: {'; '.join(runs)}"
    if nest.wavefront:
        yield f"{pad}    the first {len(nest.wavefront)} loops in tiles of {nest.wavefront}, which run along wavefronts"
    for part in nest.parts:
        yield from _long(program, part, pad + "    ")


def _sum(iterators: tuple[str, ...], vector: Vector) -> str:
    """`2 * t + i + 1`."""
    terms: dict[Expr, int] = {Name(name): factor for name, factor in zip(iterators, vector, strict=False)}
    return c_text(combination(terms, vector[-1]))
