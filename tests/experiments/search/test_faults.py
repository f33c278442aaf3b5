"""Real faults while a run is worked on: full and read-only disks, vanished directories, noise in every file, odd
clocks.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from experiments.run import resume, tune
from experiments.search.run_dirs import list_run
from experiments.search.summary import summarize, write_summary
from experiments.store import is_run, open_store, read_store
from experiments.values.options import Budget
from generator.errors import InputError
from runners.base import Job
from tests.support.runs import Log, ToyRunner, history, toy_options, toy_parts
from tests.support.slow import few

KIB = 1024
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("mount"), reason="mounting a small disk takes root"
)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(place)], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("this machine lets nobody mount a disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def full(place: Path) -> None:
    """Leave no room."""
    with (place / "filler").open("wb", buffering=0) as file:
        for size in (4096, 512, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC


@needs_root
@pytest.mark.parametrize("at", few([3, 11, 17], 1))
def test_a_disk_that_gets_full_is_one_error_and_nothing_is_lost(
    at: int, source: Path, disk: Path, tmp_path: Path
) -> None:
    def fill(job: Job) -> None:
        if job.number == at:
            full(disk)

    run = disk / "run"
    with pytest.raises((InputError, OSError)) as caught:  # the command line says both in one line
        tune(toy_options(source, 24), run, Log(), toy_parts(ToyRunner(fill)))
    error = caught.value
    assert error.errno == errno.ENOSPC if isinstance(error, OSError) else "free disk space" in str(error)
    (disk / "filler").unlink()
    before = history(run)
    assert before
    resume(run, Budget(evaluations=24), Log(), toy_parts(ToyRunner()))
    tune(toy_options(source, 24), tmp_path / "whole", Log(), toy_parts(ToyRunner()))
    assert history(run) == history(tmp_path / "whole")
    assert {entry[0] for entry in before} <= {entry[0] for entry in history(run)}


@needs_root
def test_a_read_only_place_can_be_read_and_resuming_says_what_to_do(source: Path, disk: Path) -> None:
    tune(toy_options(source, 12), disk / "run", Log(), toy_parts(ToyRunner()))
    shutil.copytree(disk / "run", disk / "killed")
    with open_store(disk / "killed") as store:  # as a killed process leaves it: with a journal
        store.begin_session(Budget(evaluations=20), "1.0")
        shutil.copytree(disk / "killed", disk / "left")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for run in (disk / "run", disk / "left"):
        with read_store(run) as store:
            assert summarize(store).evaluations == 12
        assert list_run(run).summary is not None
        with pytest.raises(InputError, match=r"cannot be written: Read-only file system; get access, or copy"):
            resume(run, Budget(evaluations=20), Log(), toy_parts(ToyRunner()))
    with pytest.raises(InputError, match=r"cannot be written: .*choose another with --out"):
        tune(toy_options(source, 12), disk / "new", Log(), toy_parts(ToyRunner()))


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_directory_that_goes_away_is_noticed_at_once(how: str, source: Path, tmp_path: Path) -> None:
    run, aside = tmp_path / "run", tmp_path / "aside"

    def vanish(job: Job) -> None:
        if job.number == 8 and not aside.exists():
            shutil.copytree(run, aside)
            if how == "moved":
                shutil.rmtree(aside)
                run.rename(aside)
            else:
                shutil.rmtree(run)
            if how == "replaced":
                shutil.copytree(aside, run)

    runner = ToyRunner(vanish)
    with pytest.raises(InputError, match=r"was deleted, moved or replaced while antune worked in it.*put it back"):
        tune(toy_options(source, 24), run, Log(), toy_parts(runner))
    assert runner.evaluated[-1] == 8
    resume(aside, Budget(evaluations=24), Log(), toy_parts(ToyRunner()))
    assert len(history(aside)) == 25


def test_others_may_read_while_a_run_is_written_but_not_write(source: Path, tmp_path: Path) -> None:
    seen = []

    def look(job: Job) -> None:
        with read_store(tmp_path / "run") as store:
            seen.append(len(store.results()))
            write_summary(store, tmp_path)
        assert list_run(tmp_path / "run").status == "running"
        with pytest.raises(InputError, match=r"in use by another antune \(process \d+\)"):
            resume(tmp_path / "run", Budget(evaluations=99), Log(), toy_parts(ToyRunner()))

    tune(toy_options(source, 6), tmp_path / "run", Log(), toy_parts(ToyRunner(look)))
    assert seen == list(range(7))


def test_a_clock_that_jumps_changes_nothing(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(toy_options(source, 12), tmp_path / "whole", Log(), toy_parts(ToyRunner()))
    jumps = iter([4e9, 0.0, 2e9] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    run = tmp_path / "run"
    tune(toy_options(source, 6, budget=Budget(evaluations=6, minutes=10.0)), run, Log(), toy_parts(ToyRunner()))
    resume(run, Budget(evaluations=12, minutes=10.0), Log(), toy_parts(ToyRunner()))
    assert history(run) == history(tmp_path / "whole")
    with read_store(run) as store:
        assert 0 <= store.elapsed_s() < 300


def worked_on(run: Path, source: Path, budget: Budget) -> None:
    """A process of its own: starts the run or goes on with it, slowly, with a checkpoint after every iteration."""
    runner = ToyRunner(lambda _job: time.sleep(0.01))
    if is_run(run):
        resume(run, budget, Log(), toy_parts(runner))
    else:
        tune(toy_options(source, budget=budget), run, Log(), toy_parts(runner))


def killed_at_random(kills: int, source: Path, tmp_path: Path) -> None:
    """SIGKILL at random moments, in a measurement, a commit, a checkpoint or a final: the run is that of one left
    alone.
    """
    run, budget, rng, kept = tmp_path / "run", Budget(evaluations=120), np.random.default_rng(3), 0
    began_s = time.monotonic()
    tune(toy_options(source, budget=budget), tmp_path / "whole", Log(), toy_parts(ToyRunner()))
    whole, whole_s = history(tmp_path / "whole"), time.monotonic() - began_s
    processes = multiprocessing.get_context("fork")  # a new interpreter would take longer than most of them live
    for _ in range(kills):
        child = processes.Process(target=worked_on, args=(run, source, budget))
        child.start()
        child.join(rng.uniform(0.0, 0.5 + 0.2 * whole_s))
        child.kill()
        child.join()
        done = history(run) if is_run(run) else []
        numbers = {entry[0] for entry in done}
        assert len(done) >= kept and done == [entry for entry in whole if entry[0] in numbers]
        kept = len(done)
    assert kept
    resume(run, budget, Log(), toy_parts(ToyRunner()))
    assert history(run) == whole


def test_killed_at_random_nothing_is_lost_and_nothing_changes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.search.checkpoints.LEAST_S", 0.0)
    monkeypatch.setattr("experiments.search.checkpoints.TIMES", 0.0)
    killed_at_random(8, source, tmp_path)


@pytest.mark.slow
def test_killed_two_hundred_times_nothing_is_lost_and_nothing_changes(source: Path, tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.search.checkpoints.LEAST_S", 0.0)
    monkeypatch.setattr("experiments.search.checkpoints.TIMES", 0.0)
    killed_at_random(200, source, tmp_path)


def damage(path: Path, rng: np.random.Generator) -> None:
    """Flip some bytes anywhere, or cut the file off anywhere."""
    data = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        path.write_bytes(data[: int(rng.integers(len(data)))])
        return
    for _ in range(int(rng.integers(1, 60))):
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
    path.write_bytes(data)


def all_commands(run: Path) -> dict[str, Callable[[], object]]:
    def reading() -> None:
        with read_store(run) as store:
            write_summary(store, run)
            store.reference()
            store.profiles.all()
            list(store.told(0, 100))

    return {"list": lambda: list_run(run), "read": reading,
            "resume": lambda: resume(run, Budget(evaluations=14), Log(), toy_parts(ToyRunner()))}


FILES = ("run.sqlite", "run.sqlite-wal", "reference.npz", "search.checkpoint", "run.lock")


@pytest.mark.parametrize(("name", "times"), few([
    ("run.sqlite", 12), *((name, 3) for name in FILES[1:]), ("run.sqlite", 40), *((name, 8) for name in FILES[1:]),
], 2))
def test_whatever_is_damaged_every_command_works_or_gives_one_error(name: str, times: int, source: Path, tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.search.checkpoints.LEAST_S", 0.0)
    sound, rng = tmp_path / "sound", np.random.default_rng(7)
    tune(toy_options(source, 12), tmp_path / "first", Log(), toy_parts(ToyRunner()))
    with open_store(tmp_path / "first") as store:
        store.begin_session(Budget(evaluations=12), "1.0")
        shutil.copytree(tmp_path / "first", sound)
    worked = 0
    for number in range(times):
        run = tmp_path / f"damaged-{number}"
        shutil.copytree(sound, run)
        damage(run / name, rng) if (run / name).stat().st_size else None
        for what, do in all_commands(run).items():
            try:
                do()
                worked += 1
            except InputError as error:
                assert "\n" not in str(error) and ("; " in str(error) or ": " in str(error)), what
        shutil.rmtree(run)
    assert worked
