"""A CUDA text with parameters over the double of the driver: arguments in their order, constant memory, checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from generator.templates.building import constant, output
from generator.templates.template import template_plan
from metrics.outcome import CompileFailed, Timed, WrongResult
from runners.devices import find_device
from tests.support.cuda_double import UNUSABLE, measured, pretended
from tests.support.templates import CUDA_SUM, small_sum, vectors

pytestmark = pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Processes that start from now on find the double."""
    with pretended(tmp_path_factory.mktemp("driver")) as folder:
        yield folder


@pytest.mark.slow
def test_kernels_of_a_template_run_on_the_double(driver: Path, tmp_path: Path) -> None:
    """Wrong where `per_thread` is 4, and no C++ where a block has 64 threads."""
    assert driver.exists()
    a, b = vectors()
    text = CUDA_SUM.replace("+ b[i]", "+ b[i] + (per_thread == 4)").replace(
        "{\n    int", "{\n#if block_size_x == 64\n    unknown();\n#endif\n    int", 1)
    made = small_sum(text, arguments={"c": output(1000), "a": a, "b": b, "n": np.int32(1000),
                                      "weight": constant(np.full(1, 3, "float32"))}, answer={"c": 3 * a + b})
    plans = [template_plan([("block_size_x", block), ("per_thread", each)])
             for block, each in ((16, 1), (32, 2), (32, 4), (64, 1))]
    found = measured(made.problem, find_device("cuda"), plans, tmp_path / "work")
    assert isinstance(found[0], Timed) and isinstance(found[1], Timed), found
    assert isinstance(found[2], WrongResult) and isinstance(found[3], CompileFailed)
