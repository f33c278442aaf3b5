"""Worker processes: no orphans, no damage by Ctrl-C, a second chance for the innocent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from generator.errors import AntuneError
from runners.locks import exclusive, lock_path, shared
from runners.messages import Handler, Startup
from runners.pools import wait_for
from runners.processes import Died, Event, Expired, Finished, Task, WorkerPool
from tests.support.paths import ROOT
from tests.support.runners import alive, worker_pids
from tests.support.workers import worker


def broken_worker() -> Handler:
    raise OSError("no such device")


@contextmanager
def pool_of(size: int, workdir: Path, startup: Startup | None = None,
            memory_bytes: int | None = None) -> Iterator[WorkerPool]:
    pool = WorkerPool("test", size, startup or Startup(worker, ("hello",)), {}, workdir, memory_bytes)
    try:
        yield pool
    finally:
        pool.close()


def serve(pool: WorkerPool, *payloads: str) -> list[Event]:
    """The events of all `payloads`, in the order of submission."""
    for key, payload in enumerate(payloads):
        pool.submit(Task(key, payload, "compile", 30.0))
    events: list[Event] = []
    while len(events) < len(payloads):
        wait_for([pool])
        events.extend(pool.poll())
    return sorted(events, key=lambda event: event.key)


def test_tasks_are_answered_and_workers_are_reused(tmp_path: Path) -> None:
    with pool_of(2, tmp_path) as pool:
        first, second = serve(pool, *["work"] * 6), serve(pool, "work")
        pids = {event.value for event in first if isinstance(event, Finished)}
        assert len(first) == 6 and len(pids) <= 2
        assert isinstance(second[0], Finished) and second[0].value in pids


def test_what_a_driver_leaves_in_the_current_directory_is_not_in_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("work").mkdir()
    with pool_of(1, Path("work")) as pool:
        assert isinstance(serve(pool, "leave")[0], Finished)
    assert [path.name for path in tmp_path.iterdir()] == ["work"] and Path("work/broken.dot").exists()


def test_each_failure_has_its_event(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        died, raised, left, held, fine = serve(pool, "crash", "raise", "exit", "hold", "work")
    assert isinstance(died, Died) and died.phase == "check" and "SIGSEGV" in died.message
    assert isinstance(raised, Died) and raised.message.startswith("ValueError: hello")
    assert isinstance(left, Died) and left.message == "exit code 3: a last word"
    assert isinstance(held, Expired) and held.limit_s == 2.0 and 2.0 <= held.elapsed_s < 6.0
    assert isinstance(fine, Finished)


def test_a_task_that_dies_of_an_earlier_one_gets_a_second_chance(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        damage, victim = serve(pool, "damage", "work")
    assert isinstance(damage, Finished) and isinstance(victim, Finished)
    assert damage.value != victim.value


def test_who_is_killed_from_outside_is_tried_three_times(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        (died,) = serve(pool, "die")
        assert isinstance(died, Died) and died.message.endswith("SIGKILL") and pool.started == 4  # one is ready again


def test_a_doubtful_failure_is_tried_again_in_a_fresh_worker_only(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        work, late = serve(pool, "work", "fail")
        assert isinstance(work, Finished) and isinstance(late, Finished) and late.value != work.value
        (first,) = serve(pool, "fail")
        assert isinstance(first, Finished) and pool.started == 4


def test_limits_begin_with_the_work_not_in_the_queue(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        events = serve(pool, *["sleep"] * 3)  # 1.2 s each, 2 s allowed
    assert all(isinstance(event, Finished) for event in events)


def test_waiting_for_a_lock_is_not_limited_not_even_by_a_tighter_limit(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        pool.submit(Task(0, "wait", "compile", 30.0))
        pool.tighten(0, "check", 1.0)
        events: list[Event] = []
        while not events:
            wait_for([pool])
            events.extend(pool.poll())
    assert isinstance(events[0], Finished)


def test_a_tighter_limit_holds_for_what_runs_and_what_is_queued(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        for key in range(3):
            pool.submit(Task(key, "hold", "compile", 30.0))
        for key in range(2):
            pool.tighten(key, "check", 0.3)
        events: list[Event] = []
        while len(events) < 3:
            wait_for([pool])
            events.extend(pool.poll())
    limits = [event.limit_s for event in events if isinstance(event, Expired)]
    assert limits == [0.3, 0.3, 2.0]


def test_the_time_of_a_phase_is_that_of_all_its_parts_without_waits(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        start = time.monotonic()
        (event,) = serve(pool, "parts")
        took = time.monotonic() - start
    assert isinstance(event, Expired)
    assert event.limit_s == 0.3 and 0.8 < event.elapsed_s < took - 0.5


@pytest.mark.parametrize("task", ["eat", "eat elsewhere"])
def test_who_eats_memory_is_ended(tmp_path: Path, task: str) -> None:
    with pool_of(1, tmp_path, memory_bytes=200 << 20) as pool:
        eaten, fine = serve(pool, task, "work")
    assert isinstance(eaten, Died) and eaten.message.startswith("out of memory: the process took"), eaten
    assert isinstance(fine, Finished)


def test_who_prints_without_end_does_not_fill_the_disk(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        (event,) = serve(pool, "print")
        assert isinstance(event, Died) and "xxx" in event.message
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1 << 30


def test_a_worker_that_retires_is_replaced(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        first, second = serve(pool, "retire", "work")
    assert isinstance(first, Finished) and isinstance(second, Finished) and first.value != second.value


def test_a_worker_killed_while_idle_is_nobodys_fault(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        (first,) = serve(pool, "work")
        assert isinstance(first, Finished)
        os.kill(first.value, signal.SIGKILL)
        (second,) = serve(pool, "work")
        assert isinstance(second, Finished)


def test_a_worker_that_cannot_start_is_an_error_for_people(tmp_path: Path) -> None:
    with (pool_of(1, tmp_path, Startup(broken_worker, ())) as pool,
          pytest.raises(AntuneError, match="no such device")):
        serve(pool, "work")


def test_cancel_forgets_and_the_pool_goes_on(tmp_path: Path) -> None:
    with pool_of(1, tmp_path) as pool:
        pool.submit(Task(0, "hold", "compile", 30.0))
        pool.submit(Task(1, "work", "compile", 30.0))
        wait_for([pool])
        pool.poll()
        pool.cancel()
        assert pool.unfinished == 0
        (event,) = serve(pool, "work")
        assert isinstance(event, Finished)


def test_no_process_and_no_log_is_left(tmp_path: Path) -> None:
    before = worker_pids(os.getpid())
    with pool_of(2, tmp_path) as pool:
        serve(pool, "work", "die")
        assert len(worker_pids(os.getpid())) > len(before)
    assert worker_pids(os.getpid()) == before and list(tmp_path.iterdir()) == []


PARENT = """
import os, sys, threading, time
from pathlib import Path
from tests.support.workers import worker
from runners.messages import Startup
from runners.processes import Task, WorkerPool
from tests.support.runners import worker_pids

pool = WorkerPool("test", 3, Startup(worker, ("hello",)), {}, Path(sys.argv[1]))
def begin():
    for key in range(3):
        pool.submit(Task(key, "hold", "compile", None))
thread = threading.Thread(target=begin)  # the thread that starts the workers ends long before the process
thread.start(); thread.join()
while len(worker_pids(os.getpid())) < 3:
    time.sleep(0.05)
for _ in range(30):
    time.sleep(0.05); pool.poll()
try:
    print(*worker_pids(os.getpid()), flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", *worker_pids(os.getpid()), flush=True)
    pool.close()
    print("left", *worker_pids(os.getpid()), flush=True)
"""


@contextmanager
def busy_parent(workdir: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A process whose workers hold the interpreter lock, in a process group of its own."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(workdir)], stdout=subprocess.PIPE, text=True,
                              start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert parent.stdout is not None
    try:
        yield parent, [int(pid) for pid in parent.stdout.readline().split()]
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with busy_parent(tmp_path) as (parent, pids):
        assert len(pids) == 3 and all(map(alive, pids))
        parent.kill()
        start = time.monotonic()
        while any(map(alive, pids)) and time.monotonic() - start < 10:
            time.sleep(0.05)
        assert not any(map(alive, pids)) and time.monotonic() - start < 5


def test_ctrl_c_reaches_the_parent_only(tmp_path: Path) -> None:
    with busy_parent(tmp_path) as (parent, pids):
        os.killpg(parent.pid, signal.SIGINT)
        output, _ = parent.communicate(timeout=20)
        interrupted, left = output.splitlines()
        assert interrupted.split()[1:] == [str(pid) for pid in pids]
        assert left == "left"


def test_timing_waits_for_compilers_and_timers_of_others(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = ("import sys, time; from pathlib import Path; from runners.locks import exclusive\n"
              "with exclusive(Path(sys.argv[1])): print(time.monotonic(), flush=True)")
    for hold in (shared, exclusive):
        with hold(path):
            other = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True,
                                     env={**os.environ, "PYTHONPATH": str(ROOT)})
            time.sleep(0.5)
            released = time.monotonic()
        output, _ = other.communicate(timeout=20)
        assert float(output) >= released


def test_the_lock_belongs_to_the_user() -> None:
    path = lock_path("some-device")
    assert path.parent.stat().st_uid == os.getuid() and path.parent.stat().st_mode & 0o077 == 0
