"""The cache of devices that have passed their trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runners.base import DeviceInfo
from runners.trials import CONDITIONS, has_passed, note_passed
from tests.support.targets import CPU

DEVICE = DeviceInfo("a/b#2", "a device", "PoCL", "1.0", CPU)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_success_holds_for_a_driver_and_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_passed(DEVICE)
    note_passed(DEVICE)
    assert has_passed(DEVICE)
    assert not has_passed(replace(DEVICE, driver="2.0"))
    monkeypatch.setenv("POCL_MAX_WORK_GROUP_SIZE", "16")
    assert not has_passed(DEVICE)


def test_processes_with_different_settings_do_not_try_a_device_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in range(CONDITIONS + 1):
        monkeypatch.setenv("POCL_MAX_WORK_GROUP_SIZE", str(size))
        note_passed(DEVICE)
    kept = []
    for size in range(CONDITIONS + 1):
        monkeypatch.setenv("POCL_MAX_WORK_GROUP_SIZE", str(size))
        kept.append(has_passed(DEVICE))
    assert kept == [False] + [True] * CONDITIONS
    for _ in range(CONDITIONS):
        note_passed(DEVICE)  # again, as `antune doctor` does
    monkeypatch.setenv("POCL_MAX_WORK_GROUP_SIZE", "1")
    assert has_passed(DEVICE)


@pytest.mark.parametrize("text", ["", "{}", "[", "7", "[null]"])
def test_a_damaged_file_is_a_device_that_is_tried_again(text: str, cache: Path) -> None:
    note_passed(DEVICE)
    (file,) = (cache / "antune" / "devices").iterdir()
    file.write_text(text)
    assert not has_passed(DEVICE)
    note_passed(DEVICE)
    assert has_passed(DEVICE)
