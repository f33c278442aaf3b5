"""Measured plans are there again, whatever became of them; a file belongs to one device."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from experiments.learning.collect import random_origin, range_of
from experiments.learning.database import Database, MeasuredPlan, Origin, device_of
from generator.errors import InputError
from generator.plan import KernelPlan, Plan
from generator.schedules.stages import Stages
from tests.support.spaces import failed, timed

ORIGIN = Origin("a.py", (("height", 8), ("width", 4)))


def plan(tile: int) -> Plan:
    return Plan(Stages((("gray", "inline"),)), (KernelPlan(("S0",), (tile,), (1,)),))


def test_what_was_measured_is_there_again(tmp_path: Path) -> None:
    file = tmp_path / "plans.db"
    with closing(Database(file, "cpu", "A CPU")) as base:
        base.add(ORIGIN, 0, plan(8), timed(2.5, {("S0",): 2.0}))
        base.add(ORIGIN, 1, plan(16), failed())
        base.add(ORIGIN, 1, plan(16), failed())
        base.add(random_origin(4), 0, plan(8), timed(1.0))
    with closing(Database(file, "cpu", "A CPU")) as base:
        assert (base.count(), base.count(ORIGIN)) == (3, 2)
        assert base.digests(ORIGIN) == {plan(8).digest, plan(16).digest}
        assert set(base.origins()) == {ORIGIN, random_origin(4)}
        assert list(base.plans(ORIGIN)) == [
            MeasuredPlan(ORIGIN, 0, plan(8), "Timed", 2.5, ((("S0",), 2.0),)),
            MeasuredPlan(ORIGIN, 1, plan(16), "Illegal", None, ()),
        ]
    assert device_of(file) == ("cpu", "A CPU")


def test_files_of_other_devices_and_other_files_are_refused(tmp_path: Path) -> None:
    file, text = tmp_path / "plans.db", tmp_path / "notes.txt"
    Database(file, "cpu", "A CPU").close()
    text.write_text("no database " * 100)
    with pytest.raises(InputError, match="plans of A CPU"):
        Database(file, "gpu", "A GPU")
    for ask in (lambda: Database(text, "cpu", "A CPU"), lambda: device_of(text)):
        with pytest.raises(InputError, match="no database of measured plans"):
            ask()
    with pytest.raises(InputError, match="does not exist"):
        device_of(tmp_path / "nothing")


def test_seeds_are_a_range() -> None:
    assert list(range_of("3-5")) == [3, 4, 5]
    with pytest.raises(InputError, match="--seeds five"):
        range_of("five")
