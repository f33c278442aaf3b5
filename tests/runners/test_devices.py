"""Finding OpenCL devices and choosing one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from experiments.values.environment import current_environment
from generator.errors import InputError
from generator.lowering.heuristics.default import default_plan
from generator.target import Target
from metrics.outcome import Timed
from runners.base import DeviceInfo, Job, Limits
from runners.devices import TRIAL_S, choose, find_device, list_devices, survey
from runners.opencl.platforms import driver_environment, measuring_environment
from runners.pool_runner import DeviceRunner
from tests.support.cuda_double import LIMIT_S, probing_for_host
from tests.support.paths import ROOT
from tests.support.runners import scale_problem, stays_on_cores, worker_pids
from tests.support.targets import CPU


def device(key: str, platform: str, name: str) -> DeviceInfo:
    return DeviceInfo(key, name, platform, "1", Target(name, "opencl", 1, (1, 1, 1), 1, 1, True, True))


ALLOWED = """
import json, os, sys
from runners.opencl.session import Session
session = Session(sys.argv[1])
print(json.dumps([sorted(os.sched_getaffinity(int(thread))) for thread in os.listdir("/proc/self/task")]))
"""
SOME = (device("a", "Intel OpenCL", "Xeon"), device("b", "PoCL", "pthread-Intel(R) Xeon"),
        device("c", "NVIDIA CUDA", "H200"))


@pytest.mark.parametrize(("selector", "key"), [(None, "a"), ("0", "a"), ("2", "c"), ("pocl", "b"), ("INTEL", "a"),
                                               ("pthread", "b"), ("h200", "c"), ("b", "b")])
def test_a_device_is_chosen_by_number_platform_or_name(selector: str | None, key: str) -> None:
    assert choose(SOME, selector).key == key


def test_the_second_of_those_that_a_name_means() -> None:
    twins = (*SOME, device("b#2", "PoCL", "pthread-Intel(R) Xeon"))
    for selector, key in (("pocl:0", "b"), ("pocl:1", "b#2"), ("xeon:2", "b#2"), ("opencl:3", "b#2"), ("b#2", "b#2")):
        assert choose(twins, selector).key == key
    with pytest.raises(InputError, match="no device is called 'pocl:2'"):
        choose(twins, "pocl:2")


@pytest.mark.parametrize("selector", ["3", "-1", "amd", ""])
def test_an_unknown_device_is_refused_with_a_list(selector: str) -> None:
    with pytest.raises(InputError, match="2: NVIDIA CUDA, H200"):
        choose(SOME, selector)


def test_without_any_device_the_message_says_what_to_install() -> None:
    with pytest.raises(InputError, match="pip install"):
        choose((), None)


def test_stand_ins_for_gpus_may_take_long_for_their_trial(tmp_path: Path) -> None:
    """On a busy machine, the host's compiler took longer than a GPU's own may."""
    done = subprocess.run([sys.executable, "-c", "from runners.devices import TRIAL_S; print(TRIAL_S)"], text=True,
                          env={**os.environ, **probing_for_host(tmp_path / "hooks")}, capture_output=True, check=True)
    assert float(done.stdout) == LIMIT_S > TRIAL_S


def test_devices_are_listed_best_first_without_loading_a_driver_here() -> None:
    devices = list_devices()
    assert any(device.platform == "PoCL" for device in devices)
    assert len({device.key for device in devices}) == len(devices)
    platforms = [device.platform for device in devices]
    if "Intel OpenCL" in platforms:
        assert platforms.index("Intel OpenCL") < platforms.index("PoCL")
    words = (
        "import sys; from runners.devices import list_devices; assert list_devices(); print('pyopencl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"  # a fresh process: other tests may have imported it here


def test_pocl_shares_the_cores_of_the_host() -> None:
    found = find_device("pocl")
    assert found.platform == "PoCL" and found.target.shares_host_cores
    assert found.target.max_threads >= 64 and len(found.target.max_block) == 3


def test_the_user_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", "/somewhere")
    monkeypatch.setenv("POCL_CACHE_DIR", "/elsewhere")
    environment = driver_environment(tmp_path)
    assert "OCL_ICD_VENDORS" not in environment and "POCL_CACHE_DIR" not in environment


def test_what_pocl_compiles_goes_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    problem, found = scale_problem(), find_device("pocl")
    with closing(DeviceRunner(problem, found, Limits(), tmp_path)) as runner:
        [(_, outcome)] = runner.evaluate([Job(0, default_plan(problem.program, found.target))])
        assert isinstance(outcome, Timed)
        assert any(tmp_path.glob("**/pocl-cache/**/*.so"))


def test_a_cuda_driver_that_crashes_costs_its_devices_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "crash.c"
    source.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void crash(void) { abort(); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(source)], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    seen = survey()
    assert any(device.platform == "PoCL" for device in seen.devices)
    assert "asking the NVIDIA driver failed" in seen.obstacles["cuda"] and "SIGABRT" in seen.obstacles["cuda"]


def test_features_say_what_kernels_can_use() -> None:
    for found in list_devices():
        words = " ".join(found.features)
        assert ("fp64" in words) == found.target.fp64 and ("images" in words) == found.target.images
        assert (f"shuffles of {found.target.sub_group}" in words) == bool(found.target.sub_group)


def test_a_broken_driver_is_an_error_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyopencl.py").write_text("import os\nos.abort()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Exception, match="SIGABRT"):
        list_devices()


@pytest.fixture
def all_cores(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many there are, all of them for this process, and nobody says where threads stay."""
    cores = os.cpu_count() or 1
    if cores < 2 or os.sched_getaffinity(0) != set(range(cores)):
        pytest.skip("some cores are not for this process, or there is one only")
    monkeypatch.delenv("POCL_AFFINITY", raising=False)
    return cores


def test_threads_of_pocl_that_measures_stay_on_a_core_each(all_cores: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALLOWED, find_device("pocl").key],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | dict(measuring_environment(tmp_path)),
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    allowed = json.loads(done.stdout)
    assert all(allowed.count([core]) == 1 for core in range(all_cores)), allowed


def test_processes_that_measure_are_told_and_compilers_are_not(all_cores: int, tmp_path: Path) -> None:
    del all_cores
    before = set(worker_pids(os.getpid()))
    with closing(DeviceRunner(scale_problem(), find_device("pocl"), Limits(), tmp_path, workers=1)) as runner:
        assert dict(runner.evaluate([Job(0, default_plan(scale_problem().program, CPU))]))
        stay = [stays_on_cores(pid) for pid in set(worker_pids(os.getpid())) - before]
    assert sorted(stay) == [False, True]


@pytest.mark.parametrize("given", ["0", "1"])
def test_who_says_where_threads_stay_is_obeyed(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POCL_AFFINITY", given)
    assert "POCL_AFFINITY" not in measuring_environment(tmp_path)
    assert ("POCL_AFFINITY", given) in (current_environment().settings or ()), (
        "as antune's own choice would be recorded"
    )


def test_threads_are_not_sent_to_cores_that_are_not_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POCL_AFFINITY", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {(os.cpu_count() or 1) - 1, 1000})
    assert "POCL_AFFINITY" not in measuring_environment(tmp_path)
    assert "POCL_AFFINITY" not in dict(current_environment().settings or ())
