"""Plans whose code has changed are left out of a recording."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from experiments.learning.collect import program_at
from experiments.learning.database import Database
from experiments.learning.random_plans import random_plan
from experiments.learning.recording import read, recorded, write
from experiments.learning.series import Origin, Series, program_digest
from experiments.learning.stale import main
from experiments.search.code import variant_of_plan
from generator.errors import InputError
from generator.plan import Plan
from runners.deterministic import DEVICE
from tests.support.spaces import timed

PIPELINES = [Origin(f"random_{kind}.py", (("height", 24), ("seed", 3), ("width", 40)))
             for kind in ("images", "integers")]


def plans_of(origin: Origin) -> list[Plan]:
    program = program_at(origin)
    drawn = [random_plan(program, DEVICE.target, np.random.default_rng(k)) for k in range(9)]
    return list({plan.digest: plan for plan in drawn if plan is not None}.values())[:3]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of three plans of each pipeline."""
    folder = tmp_path_factory.mktemp("old")
    with closing(Database(folder / "old.db", DEVICE.key, DEVICE.name)) as base:
        for origin in PIPELINES:
            series = Series(origin, program_digest(program_at(origin)), "of another day")
            for number, plan in enumerate(plans_of(origin)):
                base.add(series, 0, plan, timed(1.0 + number), guided=number == 1)
    write(recorded([folder / "old.db"]), folder / "old.xz")
    return folder / "old.xz"


def words(origin: Origin, plan: Plan) -> set[str]:
    return set(re.findall(r"\w+", variant_of_plan(program_at(origin), plan, DEVICE.target).source))


@pytest.mark.slow
def test_plans_with_the_text_are_left_out_and_the_others_are_as_before(
        old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images, integers = read(old).measured
    found = [words(images[0], one.plan) for one in images[1]]
    others = set.union(*found[1:], *(words(integers[0], one.plan) for one in integers[1]))
    main(tmp_path / "new.xz", old, rf"\b{min(found[0] - others)}\b")
    assert capsys.readouterr().out.startswith("5 of 6 plans of 2 pipelines, ")
    new = read(tmp_path / "new.xz")
    assert new.measured == ((images[0], images[1][1:]), integers)
    assert (new.key, new.name) == (DEVICE.key, DEVICE.name)


def test_pipelines_without_plans_are_left_out(old: Path, tmp_path: Path) -> None:
    main(tmp_path / "new.xz", old, ".")
    assert not read(tmp_path / "new.xz").measured


def test_bad_expressions_are_refused(old: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--text \( is not a regular expression: missing \)"):
        main(tmp_path / "new.xz", old, "(")
