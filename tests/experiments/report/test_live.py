"""The live page comes on a machine whose cores are never idle, and not during a timing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from experiments.report.live import LiveReport
from experiments.report.live_view import live_view
from runners.locks import cores_lock, exclusive
from tests.support.pages import made_run
from tests.support.slow import in_turn

LIMIT_S = 600.0
BUSY_S = 40.0
"""Processor seconds of the other process: wall time says little, because tests run side by side."""


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which needs all of the only core that this thread, and what it starts, may use meanwhile."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system does not tie processes to cores")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    busy = subprocess.Popen([sys.executable, "-c", f"import time\nwhile time.process_time() < {BUSY_S}: pass"])
    try:
        yield busy
    finally:
        busy.kill()
        busy.wait()
        os.sched_setaffinity(0, before)


def until(holds: Callable[[], bool]) -> None:
    end_s = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end_s, "it takes too long"
        time.sleep(0.2)


@in_turn
def test_the_page_comes_on_a_busy_core(other: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """A process that runs only while a core is idle would wait until the other one has ended."""
    run = tmp_path / "a run"
    made_run(run, 20).close()
    with live_view(run, 0) as address:
        message = ""
        while not message.startswith("live: 21 results"):
            with urlopen(f"{address}state", timeout=LIMIT_S) as answer:
                found = json.load(answer)
            message = found["message"]
            assert other.poll() is None, message
            time.sleep(0.2)
    assert found["report"] == f"antune report '{run}'"


def test_no_page_is_made_during_a_timing_on_the_cores(tmp_path: Path) -> None:
    made_run(tmp_path / "run", 1).close()
    report = LiveReport(tmp_path / "run")
    with exclusive(cores_lock()):
        report.want()
        maker = threading.Thread(target=report.work, daemon=True)
        maker.start()
        time.sleep(1.5)
        assert not report.made.main
    until(lambda: bool(report.made.main))
    report.ended.set()
    maker.join(LIMIT_S)
    assert report.done.is_set()
