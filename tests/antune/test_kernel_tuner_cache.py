"""Cache files of `tune_kernel`: kept at once, gone on with, by one writer at a time; simulations."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antune.kernel_tuner import tune_kernel
from antune.kernel_tuner.caching import open_cache
from antune.kernel_tuner.objective import make_objective
from antune.kernel_tuner.searching import Search
from antune.kernel_tuner.strategies import find_strategy
from explorer.registry import make_explorer
from generator.errors import InputError
from generator.templates.template import Parameter
from graph.template import TemplateSpace
from metrics.outcome import CompileFailed, Durations, LaunchFailed, Timed
from runners.replay.reading import read_recording
from tests.support.kernel_tuner import small

HEADER: dict[str, Any] = {"device_name": "d", "kernel_name": "k", "problem_size": 8, "tune_params_keys": ["x"],
                          "tune_params": {"x": [1, 2, 3]}}


def test_a_cache_that_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    first = open_cache(tmp_path / "c", HEADER, False)
    first.add("1", {"x": 1, "time": 2.0})
    first.release()  # as the operating system does when the process is killed
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
    first.release()
    file = tmp_path / "c.json"
    file.write_text(file.read_text()[:-1 - torn])
    second = open_cache(tmp_path / "c", HEADER, False)
    assert list(second.entries) == ["1", "2"]
    second.add("3", {"x": 3, "time": 4.0})
    assert list(open_cache(tmp_path / "c", HEADER, True).entries) == ["1", "2", "3"]


def test_a_cache_has_one_writer(tmp_path: Path) -> None:
    """Of two calls at once on one file the second is refused, and readers see what the first one wrote so far."""
    first = open_cache(tmp_path / "c", HEADER, False)
    first.add("1", {"x": 1, "time": 2.0})
    other = [sys.executable, "-c", f"""if True:
        import sys
        from antune.kernel_tuner.caching import open_cache
        open_cache(sys.argv[1], {HEADER!r}, False)
    """, str(tmp_path / "c")]
    refused = subprocess.run(other, capture_output=True, text=True, check=False)
    assert re.search(rf"c.json is in use by another search \(process {os.getpid()}\): wait until", refused.stderr)
    with pytest.raises(InputError, match="is in use by another search"):  # nor in the same process
        open_cache(tmp_path / "c.json", HEADER, False)
    first.add("2", {"x": 2, "time": 3.0})
    assert list(open_cache(tmp_path / "c", HEADER, True).entries) == ["1", "2"]
    first.close()
    second = open_cache(tmp_path / "c", HEADER, False)
    second.add("3", {"x": 3, "time": 4.0})
    second.close()
    assert list(json.loads((tmp_path / "c.json").read_text())["cache"]) == ["1", "2", "3"]
    with pytest.raises(InputError, match="its kernel_name is 'k', not 'other'"):
        open_cache(tmp_path / "c", {**HEADER, "kernel_name": "other"}, False)
    assert [path.name for path in tmp_path.iterdir()] == ["c.json"]


def test_a_lock_that_a_killed_process_left_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / ".c.json.lock").write_text("1\n")
    open_cache(tmp_path / "c", HEADER, False).close()
    assert [path.name for path in tmp_path.iterdir()] == ["c.json"]
    with pytest.raises(InputError, match=r"none/c\.json cannot be written: No such file"):
        open_cache(tmp_path / "none" / "c", HEADER, False)
    (tmp_path / ".d.json.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"d\.json cannot be written"):
        open_cache(tmp_path / "d", HEADER, False)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.slow
def test_locks_are_held_by_one_of_many(tmp_path: Path) -> None:
    """Holders take their side file away and others make it anew: never two at a time."""
    code = """if True:
        import os, sys, time
        from pathlib import Path
        from antune.kernel_tuner.locking import lock_cache
        from generator.errors import InputError
        folder, end, got = Path(sys.argv[1]), time.monotonic() + 3, 0
        while time.monotonic() < end:
            try:
                lock = lock_cache(folder / "c.json")
            except InputError:
                continue
            os.close(os.open(folder / "held", os.O_CREAT | os.O_EXCL))
            (folder / "held").unlink()
            lock.release()
            got += 1
        print(got)
    """
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
               for _ in range(3)]
    counts = [one.communicate()[0] for one in running]
    assert [one.returncode for one in running] == [0, 0, 0]
    assert all(int(count) > 0 for count in counts)


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
    found = open_cache(file, HEADER, False)
    assert list(found.entries) == ["1", "2"]
    found.release()
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


@pytest.mark.parametrize(("header", "entries", "found"), [
    ({"max_threads": 32}, (16, 32), [16, 32]),  # 64 and 2048 were never tried there
    ({"max_threads": 2048}, (16, 32, 64, 2048), [16, 32, 64, 2048]),
    ({}, (16, 32, 64), [16, 32, 64]),  # as Kernel Tuner: 1024
    ({}, (16, 32, 64, 2048), [16, 32, 64, 2048]),  # a device that takes more, as an entry shows
])
def test_a_simulation_tries_what_the_recorded_device_takes(
    tmp_path: Path, header: dict[str, Any], entries: tuple[int, ...], found: list[int]
) -> None:
    data = {"device_name": "a GPU", "kernel_name": "add", "problem_size": 1000, **header, "cache": {
        f"{size},1": {"block_size_x": size, "WRONG": 1, "time": float(size)} for size in entries}}
    (tmp_path / "c.json").write_text(json.dumps(data))
    results, _ = tune_kernel(**small(cache=tmp_path / "c", simulation_mode=True, answer=None,
                                     tune_params={"block_size_x": [16, 32, 64, 2048], "WRONG": [1]}))
    assert [entry["block_size_x"] for entry in results] == found


@pytest.mark.parametrize("said", [0, "many", True, 1.5])
def test_a_limit_that_is_no_number_is_refused(tmp_path: Path, said: Any) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"max_threads": said, "cache": {}}))
    with pytest.raises(InputError, match=r"c\.json is damaged: its max_threads is .*; write the device's most"):
        tune_kernel(**small(cache=tmp_path / "c", simulation_mode=True))


def test_a_metric_that_fails_loses_no_result(tmp_path: Path) -> None:
    class Device:
        def measure(self, plans: Any) -> Any:
            for number, _ in enumerate(plans):
                yield number, Timed(2.0, 2.0, 2.0, (2.0,), 2.0, (), "hash", False, Durations()), {"error": 0.25}

    def speed(entry: dict[str, Any]) -> float:
        return float(entry["operations"]) / float(entry["time"])

    with pytest.raises(InputError, match="the metric GFLOP/s cannot be computed: KeyError: 'operations'"):
        search_of(tmp_path, Device(), metrics={"GFLOP/s": speed}, objective="GFLOP/s")
    (found,) = open_cache(tmp_path / "c", HEADER, True).entries.values()
    assert (found["x"], found["time"], found["times"], found["error"]) == (1, 2.0, [2.0], 0.25)


@pytest.mark.parametrize(("entry", "essence"), [
    ({"__error__": "Odd"}, "`__error__` is 'Odd', not one of CompilationFailedConfig, "),
    ({"time": "Odd"}, "`time` is 'Odd', neither a number nor one of CompilationFailedConfig, "),
    ({"time": 2.0, "compile_time": None}, "`compile_time` is None, not a finite number; "),
    ({"time": 2.0, "framework_time": "1"}, "`framework_time` is '1', not a finite number; "),
    ({"time": 0}, "`time` is 0, not above 0; "),
    (5, "it is not an object; remove the entry"),
])
def test_an_entry_that_makes_no_sense_is_refused_with_its_place(tmp_path: Path, entry: Any, essence: str) -> None:
    known = {"block_size_x": 16, "WRONG": 1, **entry} if isinstance(entry, dict) else entry
    (tmp_path / "c.json").write_text(json.dumps({"cache": {"16,1": known}}))
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'c.json'}, entry 16,1: {essence}")):
        tune_kernel(**small(cache=tmp_path / "c", simulation_mode=True, tune_params={"block_size_x": [16],
                                                                                     "WRONG": [1]}))


def test_an_entry_has_all_parameters(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"cache": {"1": {"time": 2.0}}}))
    with pytest.raises(InputError, match=r"c\.json, entry 1: it lacks the parameter `x`; record it again"):
        open_cache(tmp_path / "c", HEADER, True)


@pytest.mark.parametrize(("params", "essence"), [
    ({"x": 5}, "`tune_params: x` is 5, not a list"), ([1], "`tune_params` is [1], not an object"),
])
def test_values_in_a_cache_are_lists(tmp_path: Path, params: Any, essence: str) -> None:
    text = json.dumps({**HEADER, "tune_params": params, "cache": {"1": {"x": 1, "time": 2.0}}})
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'c.json'}: {essence}")):
        open_cache(tmp_path / "c", HEADER, False)
    assert (tmp_path / "c.json").read_text() == text and len(list(tmp_path.iterdir())) == 1


@pytest.mark.slow
def test_what_a_device_cannot_take_is_no_gap_of_a_simulation(tmp_path: Path) -> None:
    """Recorded and simulated with the same arguments; one block is larger than any that PoCL takes."""
    given = small(cache=tmp_path / "c", tune_params={"block_size_x": [16, 32, 1 << 20], "WRONG": [1]})
    recorded, _ = tune_kernel(**given)
    simulated, _ = tune_kernel(**given, simulation_mode=True)
    assert [entry["time"] for entry in simulated] == [entry["time"] for entry in recorded] and len(recorded) == 2
    file = tmp_path / "c.json"
    data = json.loads(file.read_text())
    limit = data.pop("max_threads")
    file.write_text(json.dumps(data))
    tune_kernel(**given)  # what an older version recorded gets the limit when it is gone on with
    assert json.loads(file.read_text())["max_threads"] == limit
    util = pytest.importorskip("kernel_tuner.util")
    assert list(util.read_cache(str(file), open_cache=False)["cache"]) == ["16,1", "32,1"]
