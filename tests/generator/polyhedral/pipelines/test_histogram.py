"""What stages are made of, counted by hand."""

from __future__ import annotations

import pytest

from antune import halide as hl
from generator.dataflow import Dataflow
from generator.frontend_py.problem import program_of
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.histogram import ROWS, TYPES
from tests.support.programs import program_of as program_of_c
from tests.support.programs import scop

ARRAYS = ("double a[16][16], o[16][16], u[16][16], x[16], s; int m[16][16], w[16][16], p[17]; long l[16][16]; "
          "short h[16][16]; unsigned char c[16][16]; float f[16][16], g[16][16];")
EACH = "for (i = 0; i < 16; i++) for (j = 0; j < 16; j++) "
Counts = dict[str, dict[str, float]]


def of_same(*types: str) -> Counts:
    """The loads of images of these types at the element's own place."""
    number = {one: float(types.count(one)) for one in types}
    return {"image": number, **accesses("image", dict.fromkeys(types, 1.0))}


def accesses(what: str, number: dict[str, float], *without: str) -> Counts:
    """By kind of access, the same for all kinds but those of `without`: the identity belongs to all four."""
    kinds = ("pointwise", "transpose", "broadcast", "slice")
    return {f"{kind} {what}": number for kind in kinds if kind not in without}


def store(kind: str, often: float = 1.0) -> Counts:
    return accesses("store", {kind: often})


COUNTED: dict[str, tuple[str, str, Counts]] = {
    "rest and quotient": ("w[i][j] = m[i][j] % 7 / 5;", "w", {
        "constant": {"32 bits": 2}, "modulo": {"32 bits": 1}, "divide": {"32 bits": 1}, **of_same("32 bits"),
        **store("32 bits")}),
    "equal and not equal": ("w[i][j] = (m[i][j] == 7) + 2 * (m[i][j] != 5) + 3 * (m[i][j] != 4);", "w", {
        "constant": {"32 bits": 5}, "add": {"32 bits": 2}, "multiply": {"32 bits": 2}, "equal": {"bool": 1},
        "not equal": {"bool": 2}, **of_same(*["32 bits"] * 3), **store("32 bits")}),
    "greater counts as less": (
        "w[i][j] = 1 * (m[i][j] <= 7) + (m[i][j] >= 5) + (m[i][j] > 1) + (m[i][j] < 2) + (m[i][j] < 0);", "w", {
            "constant": {"32 bits": 6}, "add": {"32 bits": 4}, "multiply": {"32 bits": 1}, "less": {"bool": 3},
            "less or equal": {"bool": 2}, **of_same(*["32 bits"] * 5), **store("32 bits")}),
    "logic": ("w[i][j] = m[i][j] && l[i][j] || !m[i][j] || !m[i][j];", "w", {
        "and": {"bool": 1}, "or": {"bool": 2}, "not": {"bool": 2},
        "image": {"32 bits": 3, "64 bits": 1}, **accesses("image", {"32 bits": 1, "64 bits": 1}), **store("32 bits")}),
    "bits": ("w[i][j] = (m[i][j] & 3) | (~m[i][j] ^ 5);", "w", {
        "constant": {"32 bits": 2}, "and": {"32 bits": 1}, "or": {"32 bits": 2}, "not": {"32 bits": 1},
        **of_same("32 bits", "32 bits"), **store("32 bits")}),
    "shifts are products and quotients": ("w[i][j] = (m[i][j] << 3 << 1) >> 2;", "w", {
        "constant": {"32 bits": 3}, "multiply": {"32 bits": 2}, "divide": {"32 bits": 1}, **of_same("32 bits"),
        **store("32 bits")}),
    "functions, also those for extrema of floats": ("o[i][j] = fmax(sqrt(a[i][j]), 2.0);", "o", {
        "constant": {"double": 1}, "call": {"double": 2}, **of_same("double"), **store("double")}),
    "conversions and signs": ("o[i][j] = (float)m[i][j] + -(double)h[i][j];", "o", {
        "cast": {"float": 1, "double": 1}, "add": {"double": 1}, "subtract": {"double": 1},
        **of_same("32 bits", "16 bits"), **store("double")}),
    "coordinates": ("l[i][j] = i + (long)j;", "l", {
        "cast": {"64 bits": 1}, "variable": {"32 bits": 2}, "add": {"64 bits": 1}, **store("64 bits")}),
    "parameters": ("o[i][j] = a[i][j] * s;", "o", {
        "parameter": {"double": 1}, "multiply": {"double": 1}, **of_same("double"), **store("double")}),
    "the widest type": ("w[i][j] = h[i][j] * c[i][j];", "w", {
        "multiply": {"16 bits": 1}, **of_same("16 bits", "8 bits"), **store("32 bits")}),
    "two floating-point types": ("g[i][j] = f[i][j] * 0.5f + 0.25;", "g", {
        "constant": {"float": 1, "double": 1}, "add": {"double": 1}, "multiply": {"float": 1}, **of_same("float"),
        **store("float")}),
    "one row of an image": ("o[i][j] = a[3][j];", "o", {"image": {"double": 1}, **store("double")}),
    "a row for all rows": ("o[i][j] = x[j];", "o", {
        "image": {"double": 1}, "broadcast image": {"double": 1}, **store("double")}),
    "turned": ("o[j][i] = a[i][j];", "o", {
        "image": {"double": 1}, **accesses("image", {"double": 1}, "pointwise"),
        **accesses("store", {"double": 1}, "pointwise")}),
    "a choice": ("w[i][j] = m[i][j] < 3 ? m[i][j] : 3;", "w", {
        "constant": {"32 bits": 2}, "less": {"bool": 1}, "select": {"32 bits": 1}, **of_same("32 bits", "32 bits"),
        **store("32 bits")}),
}
"""By what it is: the assignment to each element, the array, and what is counted."""


def counts(flow: Dataflow, array: str) -> dict[str, dict[str, float]]:
    """By row and type, what is not 0."""
    node = flow.node(array)
    assert node is not None
    assert len(node.histogram) == len(ROWS) * len(TYPES) == 40 * 7
    found: dict[str, dict[str, float]] = {}
    for k, number in enumerate(node.histogram):
        if number:
            found.setdefault(ROWS[k // len(TYPES)], {})[TYPES[k % len(TYPES)]] = number
    return found


@pytest.mark.parametrize("case", COUNTED)
def test_all_that_is_counted_of_an_assignment(case: str) -> None:
    text, array, wanted = COUNTED[case]
    assert counts(dataflow(program_of_c(scop(EACH + text, ARRAYS))), array) == wanted


@pytest.mark.parametrize("kind", ["32 bits", "64 bits", "double"])
def test_extrema_of_integers_are_their_own_rows(kind: str) -> None:
    x, of = hl.Var("x"), {"32 bits": hl.Int(32), "64 bits": hl.Int(64), "double": hl.Float(64)}[kind]
    image, out = hl.ImageParam(of, 1, "image"), hl.Func("out")
    out[x] = hl.max(hl.min(image[x], image[x + 1]), image[x + 2]) + hl.min(image[x + 3], image[x + 4])
    found = counts(dataflow(program_of([out], (16,), "extrema")), "out")
    if kind == "double":
        assert found["call"] == {"double": 3} and not {"min", "max"} & found.keys(), "functions of C"
    else:
        assert (found["min"], found["max"]) == ({kind: 2}, {kind: 1})


def test_a_loop_whose_bounds_are_data_is_a_let() -> None:
    text = "for (i = 0; i < 16; i++) x[i] = 0;\n" \
           "for (i = 0; i < 16; i++) for (int q = p[i]; q < p[i + 1]; q++) x[i] += a[i][q];"
    assert counts(dataflow(program_of_c(scop(text, ARRAYS))), "x") == {
        "constant": {"32 bits": 1}, "variable": {"32 bits": 1, "double": 1}, "add": {"double": 1}, "let": {"double": 1},
        "less": {"bool": 1}, "image": {"32 bits": 2, "double": 1}, "self": {"double": 1},
        **accesses("self", {"double": 1}), **accesses("image", {"32 bits": 2}), **store("double", 2)}


def test_operators_and_accesses_are_counted_by_type() -> None:
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    bright, turned, row = hl.Func("bright"), hl.Func("turned"), hl.Func("row")
    bright[x, y] = hl.select(image[x, y] > 0.5, image[x, y] * 2.0, image[x, y] + 1.0)
    row[x] = bright[x, 3] / 2.0
    turned[x, y] = bright[y, x] + row[x] - bright[2 * x, y]
    flow = dataflow(program_of([turned], (16, 12), "counted"))
    found = counts(flow, "bright")
    assert found["select"] == found["multiply"] == found["add"] == {"float": 1}
    assert found["less"] == {"bool": 1}
    assert found["constant"] == {"float": 3}
    assert found["image"] == {"float": 3}
    assert found["pointwise image"] == found["transpose image"] == {"float": 1}, "the same element, three times"
    found = counts(flow, "turned")
    assert found["stage"] == {"float": 3}
    assert found["transpose stage"] == {"float": 1}
    assert "pointwise stage" not in found
    assert found["broadcast stage"] == {"float": 2}, "the transposed one, and the row"
    assert found["slice stage"] == {"float": 1}
    assert found["subtract"] == {"float": 1}
    found = counts(flow, "row")
    assert found["divide"] == {"float": 1}
    assert found["slice stage"] == {"float": 1}, "one index is constant"
    assert "broadcast stage" not in found


def test_sums_count_their_updates_once() -> None:
    x, r, image = hl.Var("x"), hl.RDom([(0, 9)]), hl.ImageParam(hl.UInt(8), 1, "image")
    total = hl.Func("total")
    total[x] = hl.u32(0)
    total[x] += hl.u32(image[x + r.x])
    found = counts(dataflow(program_of([total], (16,), "sums")), "total")
    assert found["add"] == {"32 bits": 1}
    assert found["self"] == {"32 bits": 1}
    assert found["image"] == {"8 bits": 1}
    assert found["broadcast store"] == {"32 bits": 2}
    assert found["pointwise store"] == found["slice store"] == {"32 bits": 1}, "no index follows the loop of the sum"
    assert found["broadcast self"] == {"32 bits": 1}
    assert "pointwise self" not in found and "slice self" not in found


def test_an_update_without_a_sum_reads_and_stores_the_same_element() -> None:
    x, y, image, out = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("out")
    out[x, y] = image[x, y]
    out[x, y] = hl.select(out[x, y] > 0.5, out[x, y] * 2.0, image[y, x])
    found = counts(dataflow(program_of([out], (16, 16), "updated")), "out")
    assert found["self"] == {"float": 2}
    assert found["pointwise self"] == found["transpose self"] == {"float": 1}
    assert found["broadcast self"] == found["slice self"] == {"float": 1}
    assert found["pointwise store"] == {"float": 2}


def test_a_sum_that_is_stored_turned() -> None:
    text = EACH + "o[j][i] = 0;\n" + EACH + "for (k = 0; k < 9; k++) o[j][i] += a[j][k];"
    found = counts(dataflow(program_of_c(scop(text, ARRAYS))), "o")
    assert found == {
        "constant": {"32 bits": 1}, "add": {"double": 1}, "image": {"double": 1}, "self": {"double": 1},
        "broadcast self": {"double": 1}, "transpose store": {"double": 1}, "broadcast store": {"double": 2},
        "slice store": {"double": 1}}


def test_stages_are_counted_apart_from_images() -> None:
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(64), 2, "image")
    bright, out = hl.Func("bright"), hl.Func("out")
    bright[x, y] = image[x, y] * 2.0
    out[x, y] = bright[x, y] + bright[x + 1, y] + image[x, y]
    found = counts(dataflow(program_of([out], (16, 12), "stages")), "out")
    assert found == {
        "add": {"double": 2}, "stage": {"double": 2}, "image": {"double": 1}, **accesses("stage", {"double": 2}),
        **accesses("image", {"double": 1}), **store("double")}
