"""`tune_kernel`: the examples of the page on PoCL and through NVIDIA's compiler; arguments, cache, refusals."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antune.kernel_tuner import tune_kernel
from antune.kernel_tuner.caching import open_cache
from antune.kernel_tuner.call import _used, make_call
from antune.kernel_tuner.making import CallMaker, shape_of
from antune.kernel_tuner.objective import make_objective
from antune.kernel_tuner.searching import Search
from antune.kernel_tuner.strategies import find_strategy
from explorer.registry import make_explorer
from generator.errors import InputError
from generator.templates.template import Parameter, template_plan
from graph.template import TemplateSpace
from metrics.outcome import CompileFailed, Durations, LaunchFailed, Timed
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


HEADER: dict[str, Any] = {"device_name": "d", "kernel_name": "k", "problem_size": 8, "tune_params_keys": ["x"],
                          "tune_params": {"x": [1, 2, 3]}}


def test_a_cache_that_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    first = open_cache(tmp_path / "c", HEADER, False)
    first.add("1", {"x": 1, "time": 2.0})  # and killed
    second = open_cache(tmp_path / "c", HEADER, False)
    assert list(second.entries) == ["1"]
    second.add("2", {"x": 2, "time": 3.0})
    second.close()
    third = open_cache(tmp_path / "c.json", {**HEADER, "problem_size": [8, 1]}, False)
    third.add("3", {"x": 3, "time": 4.0})
    third.close()
    assert list(json.loads((tmp_path / "c.json").read_text())["cache"]) == ["1", "2", "3"]
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        open_cache(tmp_path / "c", HEADER, True)
    assert [path.name for path in tmp_path.iterdir()] == ["c.json"]


@pytest.mark.parametrize("torn", [1, 10, 20])
def test_an_entry_that_was_cut_off_costs_that_entry(tmp_path: Path, torn: int) -> None:
    first = open_cache(tmp_path / "c", HEADER, False)
    for x in (1, 2, 3):
        first.add(str(x), {"x": x, "time": float(x)})
    file = tmp_path / "c.json"
    file.write_text(file.read_text()[:-1 - torn])
    second = open_cache(tmp_path / "c", HEADER, False)
    assert list(second.entries) == ["1", "2"]
    second.add("3", {"x": 3, "time": 4.0})
    assert list(open_cache(tmp_path / "c", HEADER, True).entries) == ["1", "2", "3"]


def test_caches_of_others_are_gone_on_with(tmp_path: Path) -> None:
    """Keys in another order; failures in place of the objective, as before version 1.4; values that are new."""
    file = tmp_path / "c.json"
    entries = {"1": {"x": 1, "GFLOP/s": 5.0, "time": 2.0}, "2": {"x": 2, "GFLOP/s": "RuntimeFailedConfig"}}
    file.write_text(json.dumps({**HEADER, "objective": "GFLOP/s", "cache": entries}, sort_keys=True))
    found = open_cache(file, {**HEADER, "tune_params": {"x": [2, 4]}}, False)
    assert [entry.get("__error__") for entry in found.entries.values()] == [None, "RuntimeFailedConfig"]
    found.add("4", {"x": 4, "time": 1.0})
    found.close()
    data = json.loads(file.read_text())
    assert list(data["cache"]) == ["1", "2", "4"] and data["tune_params"] == {"x": [1, 2, 3, 4]}
    rows = read_recording(file).rows
    assert [type(row.outcome) for row in rows] == [Timed, LaunchFailed, Timed]
    util = pytest.importorskip("kernel_tuner.util")
    theirs = util.read_cache(str(file), open_cache=False)["cache"]
    assert isinstance(theirs["2"]["__error__"], util.RuntimeFailedConfig) and "__error__" not in theirs["4"]


def test_a_cache_that_kernel_tuner_opened_and_went_on_with(tmp_path: Path) -> None:
    util = pytest.importorskip("kernel_tuner.util")
    ours = open_cache(tmp_path / "c", HEADER, False)
    ours.add("1", {"x": 1, "time": 2.0})
    ours.close()
    file = str(tmp_path / "c.json")
    known = util.read_cache(file)["cache"]
    util.store_cache("2", {"x": 2, "time": np.float32(3)}, file, known)
    assert list(open_cache(file, HEADER, False).entries) == ["1", "2"]
    util.close_cache(file) if Path(file).read_text().endswith(",") else None
    assert list(open_cache(file, HEADER, True).entries) == ["1", "2"]


def search_of(tmp_path: Path, outcomes: Any, **changes: Any) -> Search:
    """A search of three configurations with a cache in `tmp_path`; `outcomes` answers for the device."""
    sought = make_objective(changes.get("objective"), None, changes.get("metrics"), ("x",))
    space = TemplateSpace((Parameter("x", (1, 2, 3)),))
    search = Search(("x",), sought, find_strategy(None, None), make_explorer("exhaustive", space, 0),
                    open_cache(tmp_path / "c", HEADER, False), True, time.perf_counter())
    search.run(outcomes)
    return search


def test_every_result_is_in_the_file_as_soon_as_it_is_known(tmp_path: Path) -> None:
    class Device:
        def measure(self, plans: Any) -> Any:
            for number, plan in enumerate(plans):
                if number == 2:
                    raise KeyboardInterrupt
                yield number, CompileFailed("no", Durations()) if number else nothing(plan), {"error": 0.25}

    def nothing(_plan: Any) -> Any:
        return Timed(2.0, 2.0, 2.0, (2.0,), 2.0, (), "hash", False, Durations())

    with pytest.raises(KeyboardInterrupt):
        search_of(tmp_path, Device(), metrics={"GB/s": "1 / time"}, objective="GB/s")
    found = open_cache(tmp_path / "c", HEADER, True).entries
    assert found["1"]["GB/s"] == 0.5 and found["1"]["error"] == 0.25
    assert found["2"]["GB/s"] == found["2"]["__error__"] == "CompilationFailedConfig"  # for Kernel Tuner before 1.4


def test_a_simulation_needs_no_device(tmp_path: Path) -> None:
    cache = open_cache(tmp_path / "c", {**HEADER, "device_name": "a GPU", "kernel_name": "add", "problem_size": 1000,
                                        "tune_params_keys": ["block_size_x", "WRONG"]} | {
                                            "tune_params": {"block_size_x": [16, 32], "WRONG": [1]}}, False)
    for size in (16, 32):
        cache.add(f"{size},1", {"block_size_x": size, "WRONG": 1, "time": float(size)})
    cache.close()
    given = small(cache=tmp_path / "c", simulation_mode=True, device="no such device",
                  tune_params={"block_size_x": [16, 32], "WRONG": [1]})
    found, environment = tune_kernel(**given)
    assert [entry["time"] for entry in found] == [16.0, 32.0] and environment["device_name"] == "a GPU"
    with pytest.raises(InputError, match="no entry for WRONG = 1, block_size_x = 64; simulation_mode needs"):
        tune_kernel(**{**given, "tune_params": {"block_size_x": [16, 64], "WRONG": [1]}})


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
    ({"problem_size": "n"}, "problem_size has `n`, which uses `n`: that is no parameter"),
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
    sought = make_objective("1 / time", True, {}, ("x",))
    failed: dict[str, Any] = {"x": 3, "time": "InvalidConfig", "__error__": "InvalidConfig"}
    entries: list[dict[str, Any]] = [{"x": 1, "time": 2.0}, {"x": 2, "time": 1.0}, failed]
    assert sought.best(entries) == entries[1]
    with pytest.raises(InputError, match="needs numbers above 0"):
        make_objective("time - 5", False, {}, ()).value(entries[0])
