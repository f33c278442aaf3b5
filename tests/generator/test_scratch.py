"""Temporary folders leave signals as they found them."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from generator.scratch import scratch_folder


def test_the_folder_goes_with_a_signal_and_the_default_is_back() -> None:
    with (pytest.raises(SystemExit) as ended, scratch_folder("antune-test-") as outer,
          scratch_folder("antune-test-") as inner):
        assert inner.is_dir() and outer.is_dir()
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert not inner.exists() and not outer.exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_somebody_else_stays() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with scratch_folder("antune-test-") as folder:
            os.kill(os.getpid(), signal.SIGTERM)
            assert folder.is_dir()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_threads_have_folders_too() -> None:
    seen: list[bool] = []

    def work() -> None:
        with scratch_folder("antune-test-") as folder:
            seen.append(folder.is_dir())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]
