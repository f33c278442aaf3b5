"""`tune_kernel`: the examples of the page on PoCL and through NVIDIA's compiler; arguments, cache, refusals."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antune.kernel_tuner import tune_kernel
from antune.kernel_tuner.caching import open_cache
from antune.kernel_tuner.call import _used, make_call
from antune.kernel_tuner.making import CallMaker, shape_of
from antune.kernel_tuner.results import make_objective
from generator.errors import InputError
from generator.templates.template import template_plan
from graph.template import TemplateSpace
from runners.cuda.compiler import Nvrtc, cuda_compiler
from runners.gpu.units import unpacked
from runners.replay.reading import read_recording
from tests.support.cuda_compiler import ELF, translator
from tests.support.paths import ROOT
from tests.support.targets import HOPPER

PAGE = ROOT / "docs" / "kernel_tuner"
CODE = """
__kernel void add(__global float *c, __global const float *a, int n)
{
    int i = get_group_id(0) * block_size_x + get_local_id(0);
    if (i < n)
        c[i] = a[i] + WRONG;
}
"""
A = np.arange(1000, dtype=np.float32)
QUIET: dict[str, Any] = {"device": "pocl", "quiet": True}


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", PAGE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call_of(kernel_source: Any, **given: Any) -> Any:
    usual = {"grid_div": tuple(given.pop(f"grid_div_{axis}", None) for axis in "xyz"), "restrictions": None,
             "answer": None, "atol": 1e-6, "verify": None, "lang": None, "smem_args": None, "cmem_args": None,
             "block_size_names": None, "defines": None}
    named = [given.pop(name) for name in ("kernel_name", "problem_size", "arguments", "tune_params")]
    for name in ("metrics", "objective"):
        given.pop(name, None)
    return make_call(named[0], kernel_source, *named[1:], **{**usual, **given})


def small(**changes: Any) -> dict[str, Any]:
    return {"kernel_name": "add", "kernel_source": CODE, "problem_size": 1000,
            "arguments": [np.zeros_like(A), A, np.int32(1000)],
            "tune_params": {"block_size_x": [16, 32, 64], "WRONG": [1]}, "answer": [A + 1, None, None],
            **QUIET, **changes}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vector_add", "matmul", "convolution", "stencil", "reduction", "pnpoly"])
def test_examples_run(name: str) -> None:
    module = example(name)
    found, environment = tune_kernel(kernel_source=getattr(module, "OPENCL", None) or module.opencl,
                                     strategy="random_sample", strategy_options={"max_fevals": 6}, **QUIET,
                                     **module.arguments())
    assert 2 < len(found) <= 6
    failures = [entry["message"] for entry in found if "__error__" in entry]
    assert [message for message in failures if "took longer than" not in message] == []  # a busy machine is no fault
    assert environment["best_config"] in found


@pytest.mark.slow
def test_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "kernel_tuner.md").read_text(), re.DOTALL))
    (tmp_path / "page.py").write_text(code)
    made = runpy.run_path(str(tmp_path / "page.py"))
    assert made["env"]["best_config"]["GB/s"] == max(entry["GB/s"] for entry in made["results"])
    assert (tmp_path / "vector_add.json").is_file()


@pytest.mark.parametrize("name", ["vector_add", "matmul", "convolution", "stencil", "reduction", "pnpoly"])
def test_examples_compile_in_cuda(name: str) -> None:
    translator(Nvrtc)
    module = example(name)
    given = module.arguments(**{"convolution": {"cuda": True}, "pnpoly": {"in_cuda": True}}.get(name, {}))
    call = call_of(getattr(module, "CUDA", None) or module.cuda, **given)
    plan = template_plan((one.name, one.values[-1]) for one in call.template.parameters)
    codes = cuda_compiler(HOPPER).compile(CallMaker(call, "cuda")(plan)).codes
    assert unpacked(codes[0]).code.startswith(ELF)


@pytest.mark.slow
def test_results_and_cache_have_kernel_tuners_form(tmp_path: Path) -> None:
    cache = tmp_path / "add"
    found, environment = tune_kernel(**small(cache=cache, tune_params={"block_size_x": [16, 32], "WRONG": [1, 2]},
                                             metrics={"GB/s": "8e-6 / time"}, objective="GB/s"))
    right = [entry for entry in found if "__error__" not in entry]
    wrong = [entry for entry in found if "__error__" in entry]
    assert {entry["WRONG"] for entry in right} == {1} and {entry["WRONG"] for entry in wrong} == {2}
    assert all("c[0] is 2.0, expected 1.0" in entry["message"] for entry in wrong)
    assert environment["best_config"] == max(right, key=lambda entry: entry["GB/s"])
    assert len(right[0]["times"]) == 7 and right[0]["time"] == pytest.approx(np.mean(right[0]["times"]))
    data = json.loads((tmp_path / "add.json").read_text())
    assert data["tune_params_keys"] == ["block_size_x", "WRONG"]
    assert list(data["cache"]) == ["16,1", "16,2", "32,1", "32,2"]
    assert sum(row.outcome.__class__.__name__ == "Timed" for row in read_recording(tmp_path / "add.json").rows) == 2

    again, _ = tune_kernel(**small(cache=cache, tune_params={"block_size_x": [16, 32], "WRONG": [1, 2]},
                                   metrics={"GB/s": "8e-6 / time"}, objective="GB/s", simulation_mode=True))
    assert [entry["time"] for entry in again] == [entry["time"] for entry in found]
    with pytest.raises(InputError, match="its kernel_name is 'add', not 'sub'"):
        tune_kernel(**small(kernel_name="sub", kernel_source=CODE.replace("add", "sub"), cache=cache,
                            tune_params={"block_size_x": [16, 32], "WRONG": [1, 2]}))


def test_a_cache_that_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    header = {"device_name": "d", "kernel_name": "k", "problem_size": 8, "tune_params_keys": ["x"],
              "tune_params": {"x": [1, 2, 3]}}
    first = open_cache(tmp_path / "c", header, False)
    first.add("1", {"x": 1, "time": 2.0})  # and killed
    second = open_cache(tmp_path / "c", header, False)
    assert list(second.entries) == ["1"]
    second.add("2", {"x": 2, "time": 3.0})
    second.close()
    third = open_cache(tmp_path / "c.json", {**header, "problem_size": [8, 1]}, False)
    third.add("3", {"x": 3, "time": 4.0})
    third.close()
    assert list(json.loads((tmp_path / "c.json").read_text())["cache"]) == ["1", "2", "3"]
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        open_cache(tmp_path / "c", header, True)


@pytest.mark.parametrize(("changes", "essence"), [
    ({"strategy": "magic"}, "unknown strategy 'magic'"),
    ({"strategy_options": {"max_fevals": 0}}, "max_fevals = 0"),
    ({"lang": "Fortran"}, "lang is 'Fortran'"),
    ({"observers": [1]}, "observers is not supported"),
    ({"objective": "beauty"}, "whether more or less of `beauty` is better"),
    ({"arguments": [A, 5, np.int32(1)]}, "argument 1 is 5"),
    ({"arguments": [A, np.int32(1)], "answer": None}, "`add` takes 3 arguments, and 2 are given"),
    ({"answer": [A]}, "answer has 1 entries, arguments has 3"),
    ({"answer": [A[:3], None, None]}, "the answer for `c` has 3 elements"),
    ({"block_size_names": ["bx"]}, "`bx`, which is no parameter"),
    ({"restrictions": ["block_size_x > 100"]}, "no configuration fulfils `block_size_x > 100`"),
    ({"restrictions": ["blok > 1"]}, "names `blok`, which is no parameter"),
    ({"restrictions": ["__import__('os')"]}, "calls `__import__`"),
    ({"metrics": {"x": "open('y')"}}, "the metric x"),
    ({"kernel_source": "none.cl"}, "kernel_source none.cl cannot be read"),
])
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], essence: str) -> None:
    with pytest.raises(InputError, match=essence):
        tune_kernel(**small(**changes))


def test_launches_follow_kernel_tuners_rules() -> None:
    given = {**small(), "problem_size": (1000, "WRONG * 10"), "grid_div_x": ["block_size_x * 2"],
             "grid_div_y": lambda p: p["WRONG"] + 1}
    call = call_of(given.pop("kernel_source"), **{k: v for k, v in given.items() if k not in QUIET})
    shape = shape_of(call, {"block_size_x": 32, "WRONG": 1})
    assert (shape.grid, shape.block) == ((16, 5, 1), (32, 1, 1))
    source = CallMaker(call, "opencl")(template_plan([("block_size_x", 32), ("WRONG", 1)])).source
    assert "#define grid_size_x 16\n" in source and "#define block_size_x 32\n" in source
    assert "#define kernel_tuner 1\n" in source


def test_functions_as_restrictions_say_which_parameters_they_read() -> None:
    names = ("a", "b", "c")
    assert _used(lambda p: p["a"] * p["c"] > 3, names) == ("a", "c")
    assert _used(lambda p: sum(p.values()) > 3, names) == names
    call = call_of(**{k: v for k, v in small(restrictions=[lambda p: p["block_size_x"] / (p["WRONG"] - 1) > 1,
                                                           "block_size_x % 32 == 0"]).items() if k not in QUIET})
    space = TemplateSpace(call.template.parameters, call.restrictions)  # a division by zero counts as fulfilled
    assert space is not None


def test_objectives_that_grow_are_told_as_reciprocals() -> None:
    sought = make_objective("1 / time", True, {})
    failed: dict[str, Any] = {"x": 3, "time": "InvalidConfig", "__error__": "InvalidConfig"}
    entries: list[dict[str, Any]] = [{"x": 1, "time": 2.0}, {"x": 2, "time": 1.0}, failed]
    assert sought.best(entries) == entries[1]
    with pytest.raises(InputError, match="needs numbers above 0"):
        make_objective("time - 5", False, {}).value(entries[0])
