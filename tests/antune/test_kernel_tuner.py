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
from antune.kernel_tuner.call import _used, make_call
from antune.kernel_tuner.making import CallMaker, shape_of
from antune.kernel_tuner.objective import make_objective
from generator.errors import InputError
from generator.templates.template import template_plan
from graph.template import TemplateSpace
from runners.cuda.compiler import Nvrtc, cuda_compiler
from runners.gpu.units import unpacked
from runners.replay.reading import read_recording
from tests.support.cuda_compiler import ELF, translator
from tests.support.kernel_tuner import CODE, QUIET, A, small
from tests.support.paths import ROOT
from tests.support.targets import HOPPER

PAGE = ROOT / "docs" / "kernel_tuner"


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


@pytest.mark.slow
def test_an_error_of_the_users_check_is_the_configurations_own() -> None:
    def verify(_answer: Any, got: Any) -> bool:
        return bool(got[3] is not None)

    found, _ = tune_kernel(**small(answer=None, verify=verify, tune_params={"block_size_x": [32], "WRONG": [1]}))
    assert found[0]["message"] == "the function `verify` fails: IndexError: list index out of range"


@pytest.mark.slow
def test_observers_of_outputs_add_to_the_results() -> None:
    class Off:
        def process_output(self, answer: Any, got: Any) -> None:
            self.off = float(np.abs(answer[0] - got[0]).max())

        def get_results(self) -> dict[str, float]:
            return {"off": self.off}

    found, environment = tune_kernel(**small(
        tune_params={"block_size_x": [32], "WRONG": [1, 1.5]}, atol=1.0, observers=[Off()],
        metrics={"loss": "1 + off"}, objective="loss"))
    assert [(entry["off"], entry["loss"]) for entry in found] == [(0.0, 1.0), (0.5, 1.5)]
    assert environment["best_config"]["WRONG"] == 1


@pytest.mark.parametrize(("changes", "essence"), [
    ({"strategy": "magic"}, "unknown strategy 'magic'"),
    ({"strategy_options": {"max_fevals": 0}}, "max_fevals = 0"),
    ({"strategy_options": {"max_fevals": 0.5}}, "has max_fevals = 0.5; use a number from 1$"),
    ({"strategy_options": {"popsize": 0.5}}, "has popsize = 0.5; use a number from 1 to 1000000"),
    ({"strategy_options": {"popsize": float("inf")}}, "has popsize = inf; use a number from 1 to 1000000"),
    ({"strategy_options": {"time_limit": float("nan")}}, "has time_limit = nan; use a number above 0"),
    ({"problem_size": 10**400}, "problem_size is 10000.*; give one to three numbers"),
    ({"problem_size": 10**5000}, "problem_size is a value of type int that is too long to be written out; give one"),
    ({"problem_size": np.array(1000)}, "problem_size is array.1000.; give one to three numbers"),
    ({"atol": 10**400}, "atol is 1000.*; give a number from 0"),
    ({"atol": np.complex64(1)}, "atol is .*; give a number from 0"),
    ({"tune_params": {"block_size_x": np.array(32)}}, "tune_params has array.32. for `block_size_x`; give a list"),
    ({"answer": [[[1], [1, 2]], None, None]}, "the answer for `c` is not an array: .*; give numbers in rows of one"),
    ({"answer": [["a"] * 1000, None, None]}, "the answer for `c` has elements of <U1, or a mask; give plain numbers"),
    ({"answer": [[10**400] * 1000, None, None]}, "the answer for `c` has elements of object"),
    ({"answer": [np.ma.masked_array(A, A > 3), None, None]}, "the answer for `c` has elements of float32, or a mask"),
    ({"arguments": [[[1], [1, 2]], A, np.int32(1)]}, "argument 0 is not an array"),
    ({"cmem_args": {"q": [[1], [1, 2]]}}, "cmem_args: q is not an array"),
    ({"lang": "Fortran"}, "lang is 'Fortran'"),
    ({"observers": [1]}, "observers is .1.; give a list of those that look at outputs"),
    ({"compiler": "nvcc"}, "compiler is not supported"),
    ({"objective": "beauty"}, "the objective `beauty` uses `beauty`, which no result has; there are block_size_x"),
    ({"objective": "GFLOP/s"}, "the objective `GFLOP/s` uses `GFLOP`"),
    ({"objective": "GFLOP per s"}, "the objective `GFLOP per s` is neither one of block_size_x, WRONG, time"),
    ({"objective": "1 / time"}, "whether more or less of `1 / time` is better"),
    ({"metrics": {"a": "b", "b": "time"}}, "the metric a `b` uses `b`, which no result has"),
    ({"metrics": ["time"]}, "metrics is a list"),
    ({"metrics": {"x": 5}}, "the metric x is 5; give an expression"),
    ({"kernel_name": None}, "kernel_name is None"),
    ({"tune_params": [1]}, "tune_params is \\[1\\]; give a dictionary"),
    ({"tune_params": {"block_size_x": "32"}}, "tune_params has '32' for `block_size_x`; give a list"),
    ({"tune_params": {"block size": [1]}}, "tune_params has the name 'block size'"),
    ({"tune_params": {"block_size_x": [float("nan")]}}, "has the value nan; use finite numbers"),
    ({"problem_size": None}, "problem_size is None"),
    ({"problem_size": "n"}, "problem_size has `n`, which uses `n`: that is not a parameter"),
    ({"grid_div_x": ["blok"]}, "grid_div_x has `blok`"),
    ({"arguments": A[0]}, "arguments is np.float32"),
    ({"arguments": [np.ma.masked_array(A, A > 3), A, np.int32(1)]}, "argument 0 has a mask"),
    ({"atol": "small"}, "atol is 'small'"),
    ({"iterations": 0}, "iterations is 0"),
    ({"seed": -1}, "seed is -1"),
    ({"verify": 3}, "verify is 3; give a function"),
    ({"cache": 3}, "cache is 3"),
    ({"smem_args": {}}, "smem_args is {}; give a dictionary with `size`"),
    ({"restrictions": [lambda p: p["blok"] > 1]}, "fails for .*KeyError: 'blok'"),
    ({"kernel_source": lambda p: CODE[p["none"]]}, "kernel_source fails for block_size_x = 16, .*KeyError: 'none'"),
    ({"simulation_mode": True}, "simulation_mode answers from a cache; give one with cache="),
    ({"arguments": [A, 5, np.int32(1)]}, "argument 1 is 5"),
    ({"arguments": [A, np.int32(1)], "answer": None}, "`add` takes 3 arguments, and 2 are given"),
    ({"answer": [A]}, "answer has 1 entries, arguments has 3"),
    ({"answer": [A[:3], None, None]}, "the answer for `c` has 3 elements"),
    ({"block_size_names": ["bx"]}, "`bx`, which is not a parameter"),
    ({"restrictions": ["block_size_x > 100"]}, "no configuration fulfils `block_size_x > 100`"),
    ({"restrictions": ["blok > 1"]}, "names `blok`, which is not a parameter"),
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
    sought = make_objective("1 / time", True, {}, ("x",))
    failed: dict[str, Any] = {"x": 3, "time": "InvalidConfig", "__error__": "InvalidConfig"}
    entries: list[dict[str, Any]] = [{"x": 1, "time": 2.0}, {"x": 2, "time": 1.0}, failed]
    assert sought.best(entries) == entries[1]
    with pytest.raises(InputError, match="needs numbers above 0"):
        make_objective("time - 5", False, {}, ()).value(entries[0])
