"""Finding OpenCL devices and choosing one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from generator.errors import InputError
from generator.target import Target
from runners.base import DeviceInfo
from runners.opencl_platforms import choose, driver_environment, find_device, list_devices


def device(key: str, platform: str, name: str) -> DeviceInfo:
    return DeviceInfo(key, name, platform, "1", Target(name, "opencl", 1, (1, 1, 1), 1, 1, True, True))


SOME = (device("a", "Intel OpenCL", "Xeon"), device("b", "PoCL", "pthread-Intel(R) Xeon"),
        device("c", "NVIDIA CUDA", "H200"))


@pytest.mark.parametrize(("selector", "key"), [(None, "a"), ("0", "a"), ("2", "c"), ("pocl", "b"), ("INTEL", "a"),
                                               ("pthread", "b"), ("h200", "c"), ("b", "b")])
def test_a_device_is_chosen_by_number_platform_or_name(selector: str | None, key: str) -> None:
    assert choose(SOME, selector).key == key


@pytest.mark.parametrize("selector", ["3", "-1", "amd", ""])
def test_an_unknown_device_is_refused_with_a_list(selector: str) -> None:
    with pytest.raises(InputError, match="2: NVIDIA CUDA, H200"):
        choose(SOME, selector)


def test_without_any_device_the_message_says_what_to_install() -> None:
    with pytest.raises(InputError, match="pip install"):
        choose((), None)


def test_devices_are_listed_best_first_without_loading_a_driver_here() -> None:
    devices = list_devices()
    assert any(device.platform == "PoCL" for device in devices)
    assert len({device.key for device in devices}) == len(devices)
    platforms = [device.platform for device in devices]
    if "Intel OpenCL" in platforms:
        assert platforms.index("Intel OpenCL") < platforms.index("PoCL")
    assert "pyopencl" not in sys.modules


def test_pocl_shares_the_cores_of_the_host() -> None:
    found = find_device("pocl")
    assert found.platform == "PoCL" and found.target.shares_host_cores
    assert found.target.max_threads >= 64 and len(found.target.max_block) == 3


def test_the_user_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCL_ICD_VENDORS", "/somewhere")
    monkeypatch.setenv("POCL_CACHE_DIR", "/elsewhere")
    environment = driver_environment(tmp_path)
    assert "OCL_ICD_VENDORS" not in environment and "POCL_CACHE_DIR" not in environment


def test_a_broken_driver_is_an_error_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyopencl.py").write_text("import os\nos.abort()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Exception, match="SIGABRT"):
        list_devices()
