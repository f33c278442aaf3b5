"""`@antune.jit`: what runs when, what is remembered, and which calls are refused."""

from __future__ import annotations

import functools
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import antune
from antune import halide as hl
from antune.jit_arguments import image_of
from antune.jitted import Jitted
from antune.recent import Recent
from experiments.wisdom.database import Wisdom
from experiments.wisdom.entry import Entry, known_by
from generator.frontend_py.problem import program_of
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.schedules.stages import Stages
from tests.support.paths import ROOT
from tests.support.runners import needed_device
from tests.support.runs import Log
from tests.support.slow import in_turn

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


@in_turn
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


def test_a_plan_of_wisdom_that_is_illegal_is_forgotten(wisdom: Wisdom) -> None:
    program, device = program_of([mixed(image_of("image", IMAGE))], SIZE), needed_device("PoCL")
    plan = Plan(Stages((("nobody", "block"),)), ())
    for known in (known_by(program), replace(known_by(program), identity="0" * 16)):
        wisdom.keep([Entry(known, device.name, device.platform, "opencl", True, device.driver, plan, 1.0, 2.0, "2026")])
    with pytest.warns(RuntimeWarning, match="the plan that wisdom had of mixed is not allowed here, so it"):
        assert jitted(evaluations=0)(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE))
    assert [entry.subject.identity for entry in wisdom.entries()] == ["0" * 16]


def test_a_plan_with_products_of_a_lower_precision_is_not_taken(wisdom: Wisdom) -> None:
    program, device = program_of([mixed(image_of("image", IMAGE))], SIZE), needed_device("PoCL")
    usual = default_plan(program, device.target)
    plan = replace(usual, kernels=tuple(replace(kernel, products="fp16") for kernel in usual.kernels))
    wisdom.keep([Entry(known_by(program), device.name, device.platform, "opencl", True, device.driver, plan, 1.0, 2.0,
                       "2026")])
    function = jitted(evaluations=0)
    assert function(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE))
    assert "the default plan" in repr(function.specialized(IMAGE, size=SIZE)) and len(wisdom.entries()) == 1


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


def powered(image: Any, weight: float = 2.0) -> hl.Func:
    x, out = hl.Var("x"), hl.Func("out")
    out[x] = image[x] * 0 + 1 / hl.f32(weight)
    return out


def test_numbers_are_told_apart_by_their_bits(wisdom: Wisdom) -> None:
    function, row = antune.jit(powered, evaluations=0, device="pocl"), np.ones(4, np.float32)
    assert function(row, 0.0).tolist() == [np.inf] * 4 and function(row, -0.0).tolist() == [-np.inf] * 4
    assert function.specialized(row, float("nan")) is function.specialized(row, float("nan"))


def test_what_is_used_last_stays() -> None:
    recent = Recent[int](2)
    for key in "abacb":
        if recent.get(key) is None:
            recent.put(key, ord(key))
    assert [recent.get(key) for key in "abc"] == [None, ord("b"), ord("c")]


def weighed(scale: int) -> Any:
    def built(image: Any) -> hl.Func:
        x, out = hl.Var("x"), hl.Func("out")
        out[x] = image[x] * scale + OFFSET
        return out

    def change(value: int) -> None:
        nonlocal scale
        scale = value

    return antune.jit(built, evaluations=0, device="pocl"), change


OFFSET = 1


def test_numbers_around_the_function_are_those_of_each_call(wisdom: Wisdom, monkeypatch: pytest.MonkeyPatch) -> None:
    (function, change), row = weighed(3), np.arange(4, dtype=np.int32)
    assert function(row).tolist() == [1, 4, 7, 10]
    monkeypatch.setitem(globals(), "OFFSET", 5)
    assert function(row).tolist() == [5, 8, 11, 14]
    change(2)
    assert function(row).tolist() == [5, 7, 9, 11]


class Far:
    """An array in the memory of a GPU, as far as it says."""

    def __init__(self, array: Any) -> None:
        self.dtype, self.shape = array.dtype, array.shape
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (4096, False)}


@in_turn
def test_arrays_on_the_device_beside_data_of_the_function(wisdom: Wisdom) -> None:
    import pyopencl as cl
    import pyopencl.array as on_device

    data = np.arange(8, dtype=np.int32)

    @antune.jit(evaluations=0, device="pocl")  # type: ignore[untyped-decorator]  # it makes anything of anything
    def summed(image: Any) -> hl.Func:
        x, out, table = hl.Var("x"), hl.Func("out"), hl.Buffer(data, "table")
        out[x] = image[x] + table[x]
        return out

    pocl = next(one for one in cl.get_platforms() if "Portable" in one.name)
    fives = np.full(8, 5, np.int32)
    for _ in range(2):
        context = cl.Context(pocl.get_devices()[:1])
        queues = [cl.CommandQueue(context) for _ in range(2)]
        for queue in (*queues, None):
            given = on_device.to_device(queue or queues[0], fives)
            assert summed(given, queue=queue).get().tolist() == list(range(5, 13))
        assert summed(fives).tolist() == list(range(5, 13))
    data[:] = 0
    assert summed(fives).tolist() == list(range(5, 13)), "as it was when the code was made"
    with pytest.raises(antune.InputError, match="`table`, which the function holds as data, lies in the host's memory"):
        summed(Far(fives))


@in_turn
@pytest.mark.parametrize(("call", "message"), [
    (lambda f: f(IMAGE.astype(">f4"), size=SIZE), "image must be an array of float32 .*, not one of >f4"),
    (lambda f: f(np.ma.masked_array(IMAGE), size=SIZE), "not one with a mask"),
    (lambda f: f(Far(IMAGE), size=SIZE), "image must be an array of float32 .*, not a Far"),
    (lambda f: f(Far(IMAGE), size=SIZE, out=np.zeros((24, 39), np.float32)), "give all arrays in the same place"),
    (lambda f: f(IMAGE, size=SIZE, out=np.zeros((3, 3), np.float32)), "out must be an array of float32 with shape"),
    (lambda f: f(IMAGE, size=SIZE, out=[]), "out has 0 arrays"),
    (lambda f: f(IMAGE, size=SIZE, queue=3), "queue must be a pyopencl.CommandQueue, not a int")])
def test_arguments_are_checked_before_a_search(call: Any, message: str, wisdom: Wisdom) -> None:
    log = Log()
    with pytest.raises(antune.InputError, match=message):
        call(jitted(evaluations=5, reporter=log))
    assert not log.notes and not log.results


@pytest.mark.parametrize(("function", "message"), [
    (functools.partial(mixed, weight=3), "takes a function .*, not a partial; write a def"),
    (print, "takes a function"), (Log, "not the class Log"),
    (lambda image, size: image, "`size` is an argument that every call has"),
    (lambda image, /: image, "`image` has none"), (lambda *images: images, "a name for each argument")])
def test_functions_that_cannot_be_called_are_refused_at_once(function: Any, message: str) -> None:
    with pytest.raises(antune.InputError, match=message):
        antune.jit(function)


def test_methods_are_refused_and_static_ones_are_not(wisdom: Wisdom) -> None:
    class Filters:
        plain = antune.jit(mixed, evaluations=0, device="pocl")
        static = staticmethod(plain)

    assert Filters().static(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE))
    assert Filters.plain(IMAGE, size=SIZE) == pytest.approx(expected(IMAGE))
    with pytest.raises(antune.InputError, match=r"mixed is a method, and antune\.jit takes none"):
        Filters().plain(IMAGE)


def named(image: Any, *, weight: int, bias: int = 0) -> hl.Func:
    return mixed(image, weight + bias)


def test_arguments_by_name_only(wisdom: Wisdom) -> None:
    function = antune.jit(named, evaluations=0, device="pocl")
    assert function(IMAGE, weight=3, size=SIZE) == pytest.approx(expected(IMAGE, 3))
    with pytest.raises(antune.InputError, match="too many positional arguments"):
        function(IMAGE, 3, 0, size=SIZE)


@pytest.mark.parametrize(("call", "message"), [
    (lambda f: f(IMAGE, size=3), "size is 3; use whole numbers above 0"),
    (lambda f: f(IMAGE, size=("a", "b")), "use whole numbers"), (lambda f: f(IMAGE, size=(2.7, 2)), "size is .2.7, 2"),
    (lambda f: f(IMAGE, size=(0, 2)), "use whole numbers above 0"),
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


def test_what_says_the_size_may_fail(wisdom: Wisdom) -> None:
    with pytest.raises(antune.InputError, match="size='s own code fails: ZeroDivisionError"):
        jitted(evaluations=0, size=lambda image, weight: (1 // 0, 1))(IMAGE)
    with pytest.raises(antune.InputError, match="what size= of mixed returns is 5; use whole numbers"):
        jitted(evaluations=0, size=lambda image, weight: 5)(IMAGE)


@pytest.mark.parametrize(("words", "message"), [
    ({"evaluations": "3"}, "evaluations is '3'"), ({"evaluations": 1.5}, "evaluations is 1.5"),
    ({"seconds": "3"}, "seconds is '3'"), ({"size_hints": [319]}, "a size in size_hints is 319; use whole numbers"),
    ({"size": (3, 4)}, "give a function of the arguments here"), ({"reporter": 3}, "which has no method note"),
    ({"reporter": Log}, "a class; use one of"), ({"device": ["pocl"]}, r"device is \['pocl'\]; give a text"),
    ({"explorer": ["local"]}, "give its name as text, a class, or a function"), ({"seed": "3"}, "give a whole number")])
def test_words_of_the_decorator_are_checked(words: dict[str, Any], message: str) -> None:
    with pytest.raises(antune.InputError, match=message):
        antune.jit(**words)


def test_a_budget_that_makes_no_sense_is_refused_at_once() -> None:
    with pytest.raises(antune.InputError, match="evaluations is -1"):
        antune.jit(evaluations=-1)
    with pytest.raises(antune.InputError, match="seconds is 0"):
        antune.jit(seconds=0)
    with pytest.raises(antune.InputError, match="there is no reporter 'loud'"):
        antune.jit(reporter="loud")  # type: ignore[arg-type]  # as users without types call it
