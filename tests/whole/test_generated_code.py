"""Generated code computes what the original program computes: random plans of every source, on a real device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.devices import has_intel
from tests.support.slow import few
from tests.support.space_plans import failures
from tests.support.suite import ALL_NAMES, NAMES, ODD_SIZES, problem

pytestmark = pytest.mark.usefixtures("optimized")

SIZES: dict[str, dict[str, tuple[str, ...]]] = {"odd": ODD_SIZES, "mini": dict.fromkeys(NAMES, ("MINI_DATASET",)),
         "float": {name: (*sizes, "DATA_TYPE_IS_FLOAT") for name, sizes in ODD_SIZES.items()}}


"""What may be wrong with a plan that a space offers."""


@pytest.mark.parametrize("name", few(ALL_NAMES, ("jacobi-2d",)))
def test_random_plans(name: str, tmp_path: Path) -> None:
    assert not failures(problem(name, ODD_SIZES[name]), "pocl", 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_thirty_random_plans(name: str, sizes: str, tmp_path: Path) -> None:
    assert not failures(problem(name, SIZES[sizes][name]), "pocl", 30, 2)


@pytest.mark.slow
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
@pytest.mark.parametrize("name", ALL_NAMES)
def test_thirty_random_plans_on_intel(name: str, tmp_path: Path) -> None:
    assert not failures(problem(name, ODD_SIZES[name]), "intel", 30, 3)
