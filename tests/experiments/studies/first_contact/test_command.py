"""`antune suite first-contact` refuses what it cannot do before any step, in one line."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from runners.base import DeviceInfo
from runners.devices import Survey
from tests.support.cli import Antune, antune_command
from tests.support.targets import HOPPER

NO_DRIVER = "there is no NVIDIA driver here; install it (`nvidia-smi` shows whether it works)"
WORDS = ("--minutes", "1", "--out", "contact")


@pytest.fixture
def first_contact(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    """The command on a machine without devices."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)  # it handles SIGTERM
    monkeypatch.setattr("runners.devices.survey", lambda: Survey((), {"cuda": NO_DRIVER}))
    return antune_command(monkeypatch, "suite", "first-contact")


@pytest.mark.parametrize(("words", "missing"), [
    ((), f"no CUDA device can be used: {NO_DRIVER}"),
    (("--device", "cuda:1", "--steps", "devices"), f"no CUDA device can be used: {NO_DRIVER}"),
    (("--device", "pocl"), "no device was found; install one with `pip install pyopencl[pocl]`"),
])
def test_without_the_device_nothing_is_run(words: tuple[str, ...], missing: str, first_contact: Antune, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert first_contact(*WORDS, *words) == 2
        out, err = capsys.readouterr()
        assert out == "" and err == (f"antune: {missing}; no step was run (docs/gpu_first_contact.md lists what this "
                                     "machine needs)\n")
    assert list((tmp_path / "contact").iterdir()) == []


def test_programs_of_others_need_no_device(first_contact: Antune, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    words = (*WORDS, "--steps", "peers", "--peers", "others")
    (tmp_path / "others").mkdir()
    assert first_contact(*words) == 3, "nothing is done: the folder is empty"
    assert "others has no executable file" in capsys.readouterr().out
    (tmp_path / "others" / "vendor").write_text("#!/bin/sh\necho gemm 0.5\n")
    (tmp_path / "others" / "vendor").chmod(0o755)
    assert first_contact(*words) == 0
    assert "peers: done after" in capsys.readouterr().out


def test_a_fault_of_the_compiler_is_said_first(first_contact: Antune, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    device = DeviceInfo("cuda/h", "H200", "CUDA", "CUDA 13.0 (NVRTC 13.0)", HOPPER, warning="NVRTC loses the minus")
    monkeypatch.setattr("runners.devices.survey", lambda: Survey((device,), {}))
    monkeypatch.setattr("experiments.studies.first_contact.visit.visit", lambda *words: ())
    assert first_contact(*WORDS) == 3
    assert capsys.readouterr().out.splitlines()[:2] == [
        "CUDA, H200, CUDA 13.0 (NVRTC 13.0)", "warning: NVRTC loses the minus"]


@pytest.mark.parametrize(("words", "message"), [
    (("--size", "huge"), "there is no size 'HUGE'; use one of mini, small, medium, large, extralarge"),
    (("--pipeline-size", "large"), "'large' is not one of 'small', 'medium', 'full'"),
    (("--programs", "gem"), "--programs: 'gem' is neither a program nor"),
    (("--pipelines", "blurr"), "--pipelines: 'blurr' is neither a program nor"),
    (("--steps", "everything"), "--steps: there is no step 'everything'"),
])
def test_wrong_words_are_refused_at_once(words: tuple[str, ...], message: str, first_contact: Antune, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    assert first_contact(*WORDS, *words) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
