"""`@antune.jit`: what runs when, what is remembered, and which calls are refused."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import antune
from antune import halide as hl
from antune.jitted import Jitted
from experiments.wisdom.database import Wisdom
from tests.support.paths import ROOT
from tests.support.runners import needed_device
from tests.support.runs import Log

IMAGE = np.arange(24 * 40, dtype=np.float32).reshape(24, 40)
SIZE = (39, 24)


def mixed(image: Any, weight: int = 2) -> hl.Func:
    x, y, out = hl.Var("x"), hl.Var("y"), hl.Func("out")
    out[x, y] = weight * image[x, y] + image[x + 1, y]
    return out


def expected(image: Any, weight: int = 2) -> Any:
    return weight * image[:, :-1] + image[:, 1:]


@pytest.fixture
def wisdom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wisdom:
    needed_device("PoCL")
    monkeypatch.setenv("ANTUNE_WISDOM", str(tmp_path / "wisdom.sqlite"))
    return Wisdom(tmp_path / "wisdom.sqlite")


def jitted(**words: Any) -> Jitted:
    made: Jitted = antune.jit(device="pocl", **words)(mixed)
    return made


def test_the_example_of_the_page_runs(wisdom: Wisdom, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "python.md").read_text().partition("## Tuned at the first call")[2]
    (tmp_path / "page.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    names = runpy.run_path(str(tmp_path / "page.py"))
    picture, kept = names["picture"], names["edges"].specialized
    slope = picture[:, 1:] - picture[:, :-1]
    assert names["found"] == pytest.approx(2 * slope, abs=1e-5) and names["again"] == pytest.approx(4 * slope, abs=1e-5)
    assert names["small"] == pytest.approx(2 * slope[:50], abs=1e-5)
    assert "the best of 2 plans" in repr(kept(picture, size=(319, 200))) and len(wisdom.entries()) == 1
    assert "the default plan" in repr(kept(picture[:50], size=(319, 50)))


@pytest.mark.slow
def test_the_first_call_tunes_and_the_next_program_knows(wisdom: Wisdom, tmp_path: Path) -> None:
    log = Log()
    function = jitted(evaluations=1, reporter=log, runs=tmp_path / "runs")
    assert function(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE))
    assert len(log.results) == 2 and "the best of 1 plans" in repr(function.specialized(IMAGE, size=SIZE))
    (entry,) = wisdom.entries()
    assert entry.subject.sizes == (("width", 39), ("height", 24))
    assert antune.resume(tmp_path / "runs" / "mixed-1", evaluations=1, reporter="silent").summary.evaluations == 1
    later = jitted(evaluations=1, reporter=log)
    out = np.zeros((24, 39), np.float32)
    assert later(image=IMAGE + 1, size=SIZE, out=out) is out and out == pytest.approx(expected(IMAGE + 1))
    assert "known from" in repr(later.specialized(IMAGE, size=SIZE)) and len(log.results) == 2


def test_other_sizes_types_and_numbers_are_other_code(wisdom: Wisdom) -> None:
    function = jitted(size_hints=[(9, 9)], size=lambda image, weight: (image.shape[1] - 1, image.shape[0]))
    half = IMAGE[:, :20].astype(np.int32)
    assert function(IMAGE) == pytest.approx(expected(IMAGE)) and (function(half, 3) == expected(half, 3)).all()
    assert "the default plan" in repr(function.specialized(IMAGE)) and wisdom.entries() == ()
    assert function.specialized(IMAGE) is function.specialized(IMAGE * 2)
    assert function.specialized(IMAGE) is not function.specialized(IMAGE, 3)


def test_wisdom_that_is_damaged_or_illegal_is_no_obstacle(wisdom: Wisdom) -> None:
    function = jitted(evaluations=0)
    wisdom.path.write_bytes(b"?" * 5000)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert function(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE))


def test_a_search_that_fails_leaves_the_default_plan(wisdom: Wisdom, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise antune.InputError("the disk is full")

    monkeypatch.setattr("antune.jitted.tune_run", refused)
    function = jitted(evaluations=1)
    with pytest.warns(RuntimeWarning, match="mixed could not be tuned, so the default plan runs: the disk is full"):
        assert function(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE))
    assert function(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE)), "and is not tried again"


def test_a_pipeline_may_hold_data_and_have_several_results(wisdom: Wisdom) -> None:
    @antune.jit(evaluations=0, device="pocl")  # type: ignore[untyped-decorator]  # it makes anything of anything
    def both(image: Any) -> list[hl.Func]:
        x, table = hl.Var("x"), hl.Buffer(np.arange(8, dtype=np.int32))
        one, two = hl.Func("one"), hl.Func("two")
        one[x], two[x] = image[x] + table[x], image[x] * 2
        return [one, two]

    one, two = both(np.full(8, 5, np.int32))
    assert one.tolist() == list(range(5, 13)) and two.tolist() == [10] * 8


@pytest.mark.parametrize(("call", "message"), [
    (lambda f: f(), "missing a required argument: 'image'"), (lambda f: f(IMAGE, nonsense=1), "nonsense"),
    (lambda f: f(IMAGE, [1]), "`weight` is list, and a pipeline takes arrays and numbers"),
    (lambda f: f(IMAGE.astype(complex), size=SIZE), "arrays of complex128 cannot be used"),
    (lambda f: f(IMAGE), "reads `image` at coordinate 40 in dimension 0, which exists from 0 to 39"),
    (lambda f: f(3, size=SIZE), "the pipeline's own code fails: TypeError"),
    (lambda f: f(3), "the pipeline's own code fails"),
    (lambda f: f(np.zeros((0, 4), np.float32)), "so it has no elements"),
    (lambda f: f(IMAGE, size=SIZE, out=[IMAGE, IMAGE]), "out has 2 arrays, but .* has 1 result: out"),
    (lambda f: f(IMAGE, size=SIZE, out=IMAGE), "out")])
def test_a_call_that_makes_no_sense_is_one_sentence(call: Any, message: str, wisdom: Wisdom) -> None:
    with pytest.raises(antune.InputError, match=message):
        call(jitted(evaluations=0))


def test_a_budget_that_makes_no_sense_is_refused_at_once() -> None:
    with pytest.raises(antune.InputError, match="evaluations is -1"):
        antune.jit(evaluations=-1)
    with pytest.raises(antune.InputError, match="seconds is 0"):
        antune.jit(seconds=0)
    with pytest.raises(antune.InputError, match="a name for each argument"):
        antune.jit(lambda *images: images)
    with pytest.raises(antune.InputError, match="there is no reporter 'loud'"):
        antune.jit(reporter="loud")  # type: ignore[arg-type]  # as users without types call it
