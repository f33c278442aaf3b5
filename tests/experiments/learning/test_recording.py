"""Databases become one small file, from which the same plans come back, as long as their programs are the same."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.learning import recording
from experiments.learning.collect import PROGRAMS, program_at
from experiments.learning.database import Database
from experiments.learning.random_plans import random_plan
from experiments.learning.recording import Recording, by_device, gathered, read, recorded, text_digest, write
from experiments.learning.series import Origin, Series, program_digest
from generator.errors import InputError
from generator.plan import Plan
from tests.support.slow import few, in_turn
from tests.support.spaces import failed, timed
from tests.support.suite import TARGET

SMALL = Origin("random_images.py", (("height", 24), ("seed", 3), ("width", 40)))
NUMBERS = Origin("random_integers.py", (("height", 24), ("seed", 3), ("width", 40)))
CPU = ("cpu", "A CPU")
RECORDINGS = sorted((PROGRAMS.parent / "measured").glob("*.xz"))


def plans_of(origin: Origin, count: int) -> list[Plan]:
    program = program_at(origin)
    drawn = [random_plan(program, TARGET, np.random.default_rng(k)) for k in range(3 * count)]
    found = list({plan.digest: plan for plan in drawn if plan is not None}.values())
    assert len(found) >= count
    return found[:count]


def stored(file: Path, origin: Origin, plans: Sequence[Plan], first_ms: float, device: tuple[str, str] = CPU) -> Path:
    """A database with these plans; the last one failed."""
    series = Series(origin, program_digest(program_at(origin)), "environment")
    with closing(Database(file, *device)) as base:
        for number, plan in enumerate(plans[:-1]):
            base.add(series, 0, plan, timed(first_ms + number, {("S0",): 0.5}), guided=number == 0)
        base.add(series, 0, plans[-1], failed(), guided=False)
        base.add(replace(series, program="edited"), 0, plans[0], timed(9.0))
    return file


@in_turn
def test_what_was_recorded_comes_back_and_can_be_added_to(tmp_path: Path) -> None:
    images, integers = plans_of(SMALL, 4), plans_of(NUMBERS, 3)
    first = stored(tmp_path / "first.db", SMALL, images[:3], 1.0)
    second = stored(tmp_path / "second.db", NUMBERS, integers, 1.0)
    again = stored(tmp_path / "again.db", SMALL, [images[0], images[3]], 7.0)
    write(recorded([first, second]), tmp_path / "one.xz")
    assert read(tmp_path / "one.xz") == recorded([first, second])
    assert gathered([read(tmp_path / "one.xz")]) == gathered([first, second])
    write(recorded([tmp_path / "one.xz", again]), tmp_path / "two.xz")
    key, name, measured = gathered([read(tmp_path / "two.xz")])
    assert (key, name) == CPU
    found = {origin: {one.plan: one.ms for one in plans} for origin, plans in measured}
    assert found == {SMALL: {images[0]: 7.0, images[1]: 2.0, images[2]: None, images[3]: None},
                     NUMBERS: {integers[0]: 1.0, integers[1]: 2.0, integers[2]: None}}
    kernels = {one.plan: (one.kernels, one.guided) for _, plans in measured for one in plans}
    assert kernels[images[0]] == (((("S0",), 0.5),), True) and kernels[integers[1]] == (((("S0",), 0.5),), False)


def test_plans_of_another_text_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(recorded([stored(tmp_path / "a.db", NUMBERS, plans_of(NUMBERS, 2), 1.0)]), tmp_path / "a.xz")
    for file in PROGRAMS.glob("*.py"):
        (tmp_path / file.name).write_text(file.read_text())
    monkeypatch.setattr(recording, "PROGRAMS", tmp_path)
    assert gathered([read(tmp_path / "a.xz")])[2]
    imported = tmp_path / "random_dag.py"
    imported.write_text(imported.read_text().replace("COARSEST = 2", "COARSEST = 3"))
    assert not gathered([read(tmp_path / "a.xz")])[2], "it imports what has changed"


def test_files_of_several_devices_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ("opencl/pocl/a", "a")
    files = [stored(tmp_path / f"{number}.db", SMALL, plans_of(SMALL, 2), 1.0, device)
             for number, device in enumerate((CPU, other, CPU))]
    write(recorded(files[1:2]), tmp_path / "1.xz")
    files[1] = tmp_path / "1.xz"
    known, reads = read(files[1]), list[Path]()

    def counted(file: Path) -> Recording:
        reads.append(file)
        return known

    monkeypatch.setattr(recording, "read", counted)
    found = by_device(files)
    assert found == ((files[0], files[2]), (known,))
    assert [gathered(some)[:2] for some in found] == [CPU, other]
    assert reads == [files[1]], "recordings are large"


def test_other_files_are_refused(tmp_path: Path) -> None:
    file, plans = tmp_path / "text.xz", plans_of(SMALL, 2)
    for content, why in ((b"text", "is not a recording of measured plans"),
                         (lzma.compress(b"{}"), "is not a recording of measured plans"),
                         (lzma.compress(json.dumps({"version": 0}).encode()), "of another version")):
        file.write_bytes(content)
        with pytest.raises(InputError, match=why):
            read(file)
    one = stored(tmp_path / "one.db", SMALL, plans, 1.0)
    other = stored(tmp_path / "other.db", SMALL, plans, 1.0, ("gpu", "A GPU"))
    with pytest.raises(InputError, match="several devices: A CPU, A GPU"):
        recorded([one, other])
    with pytest.raises(InputError, match=r"a\.xz cannot be written: No such file or directory; choose"):
        write(recorded([one]), tmp_path / "nowhere" / "a.xz")
    Database(tmp_path / "empty.db", *CPU).close()
    with pytest.raises(InputError, match="no plans of random pipelines"):
        recorded([tmp_path / "empty.db"])


@in_turn
def test_our_recordings_belong_to_the_pipelines_that_are_here() -> None:
    """An edited pipeline would make its measured plans useless."""
    for file in RECORDINGS:
        stored = json.loads(lzma.decompress(file.read_bytes()))
        assert all(text_digest(source) == digest for source, digest in stored["texts"])
        assert {source for source, *_ in stored["pipelines"]} == {source for source, _ in stored["texts"]}
    assert len(RECORDINGS) > 5


@pytest.mark.parametrize(("files", "count"), few([
    (["later_intel.xz"], 1000), ([file.name for file in RECORDINGS], 20000)], 1))
def test_all_plans_of_our_recordings_can_be_read(files: list[str], count: int) -> None:
    timed = 0
    for found in (read(file) for file in RECORDINGS if file.name in files):
        assert found.current == found.measured
        timed += sum(one.ms is not None for _, plans in found.measured for one in plans)
        assert all(one.plan.kernels for _, plans in found.measured for one in plans)
    assert timed > count


def test_all_random_pipelines_have_a_text() -> None:
    texts = [text_digest(file.name) for file in PROGRAMS.glob("*.py")]
    assert len(set(texts)) == len(texts) > 3 and None not in texts
    assert text_digest("mine.py") is None
    assert text_digest(str(PROGRAMS / "random_dag.py")) is None, "a user's file"
