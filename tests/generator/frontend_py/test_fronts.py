"""Scans that numpy computes along wavefronts have the values of the order of their points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antune import halide as hl
from generator.frontend_py import interpret
from generator.frontend_py.fronts import fronts
from generator.frontend_py.nodes import Call, parts

OFFSETS = st.integers(-2, 2)


@st.composite
def scans(draw: st.DrawFn) -> tuple[hl.Func, tuple[int, ...]]:
    """A scan over two or three coordinates, from either end of each, of up to four elements of itself."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    width, height, channels = draw(st.integers(4, 9)), draw(st.integers(4, 9)), draw(st.integers(1, 3))
    deep = draw(st.booleans())
    f = hl.Func("f")
    f[x, y, c] = x * 7 + y * 3 + c + 1
    r = hl.RDom([(2, width), (2, height), *([(0, channels)] if deep else [])], "r")
    if draw(st.integers(0, 3)) == 0:
        r.where(r.x + r.y != draw(st.integers(0, 12)))
    px = r.x if draw(st.booleans()) else width + 3 - r.x
    py = r.y if draw(st.booleans()) else height + 3 - r.y
    at = (px, py) if draw(st.booleans()) else (px + draw(st.integers(0, 1)), py)
    last = (r[2] if deep else c,)
    value = f[(*at, *last)] * 2
    for _ in range(draw(st.integers(1, 4))):
        moved = (at[0] + draw(OFFSETS), at[1] + draw(OFFSETS))
        value = draw(st.sampled_from((value + f[(*moved, *last)] * 3, hl.min(value, f[(*moved, *last)] + 5))))
    f[(*at, *last)] = value % 1009 if draw(st.booleans()) else value
    return f, (width + 6, height + 6, channels)


@given(scans())
@settings(max_examples=60, deadline=None)
def test_they_have_the_values_of_the_order(found: tuple[hl.Func, tuple[int, ...]]) -> None:
    func, sizes = found
    fast = np.array(func.realize(list(sizes)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpret, "fronts", lambda *_: None)
        assert np.array_equal(fast, np.array(func.realize(list(sizes))))


def scan(width: int, height: int, offsets: list[tuple[int, int]]) -> hl.Func:
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    f[x, y] = x + y
    r = hl.RDom([(2, width), (2, height)], "r")
    value: hl.Expr = f[r.x, r.y] + 0
    for dx, dy in offsets:
        value = hl.min(value, f[r.x + dx, r.y + dy] + 1)
    f[r.x, r.y] = value
    return f


@pytest.mark.parametrize(("offsets", "count"), [
    ([(-1, 0), (0, -1), (1, -1)], 20 + 2 * 9), ([(-1, 0), (0, -1)], 20 + 9), ([(0, -1)], 10), ([(0, 1)], 10),
    ([(-1, 0)], 20), ([(-2, 0)], 20), ([(2, -1), (-1, 0)], 20 + 3 * 9)])
def test_there_are_as_few_as_the_dependences_allow(offsets: list[tuple[int, int]], count: int) -> None:
    """20 columns, 10 rows."""
    update = scan(20, 10, offsets).definitions[1]
    assert update.domain is not None
    own = [node for node in parts(*update.exprs) if isinstance(node, Call)]
    keys = [(id(update.domain), 1), (id(update.domain), 0)]
    found = fronts(update, own, keys, {keys[0]: (2, 11), keys[1]: (2, 21)})
    assert found is not None
    groups = list(found)
    assert len(groups) == count and sum(group[keys[0]].size for group in groups) == 200


def test_what_data_choose_runs_in_order() -> None:
    x, f, r = hl.Var("x"), hl.Func("f"), hl.RDom([(0, 8), (0, 8)], "r")
    f[x] = x
    f[f[r.x] % 8] = f[r.y] + 1
    update = f.definitions[1]
    own = [node for node in parts(*update.exprs) if isinstance(node, Call)]
    keys = [(id(r), 1), (id(r), 0)]
    assert fronts(update, own, keys, dict.fromkeys(keys, (0, 7))) is None
