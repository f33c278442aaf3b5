"""Plans with streaming stores are exported: the programs hold the functions that store rows, and are right."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from generator.plan import Plan
from tests.support import exports as support
from tests.support.programs import program_of, scop, write_c
from tests.support.streamed import DECLARED, MIXED, streaming

TEXT = scop(MIXED, DECLARED)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, plan = tmp_path_factory.mktemp("streamed"), streaming(program_of(TEXT))

    def streamed(_: Plan) -> Plan:
        return plan

    return support.stored_run(folder / "run", write_c(TEXT, folder), changes=(streamed,))


@pytest.mark.slow
def test_the_c_program_agrees(run: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    support.need_compiler()
    folder = support.exported(run, Kind.opencl, tmp_path, 1)
    assert "antune_stream_ushort(&" in (folder / "kernels.cl").read_text()
    assert support.AGREES in support.checked(folder, support.pocl_environment(tmp_path_factory.mktemp("pocl")))


@pytest.mark.slow
def test_the_python_module_agrees(run: Path, tmp_path: Path) -> None:
    folder = support.exported(run, Kind.python, tmp_path, 1)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = support.ran(folder, clean, sys.executable, "-m", next(folder.glob("*.py")).stem)
    assert done.returncode == 0 and done.stdout.startswith("selfcheck: ok"), done.stdout + done.stderr
