"""What stages are made of, counted by hand."""

from __future__ import annotations

from antune import halide as hl
from generator.dataflow import Dataflow
from generator.frontend_py.problem import program_of
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.histogram import ROWS, TYPES


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
