"""`antune.load`: whose run it is decides whether the order of the parameters is known, and what may be run."""

from __future__ import annotations

from pathlib import Path

import pytest

import antune
from antune import InputError
from runners.calls import ArgumentError
from tests.support.exports import stored_run
from tests.support.programs import write_c
from tests.support.suite import SUITE

INDIRECT = """
void f(double A[8], int at[8]) {
#pragma scop
  for (int i = 0; i < 8; i++) A[i] = A[i] + A[at[i] * at[i]];
#pragma endscop
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_parameters_are_those_of_the_original(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stored_run(tmp_path / "run", SUITE / "gemm.c", ("MINI_DATASET",))
    f = antune.load(run)
    assert str(f).startswith("kernel_gemm(alpha, beta, C, A, B, *, ni=20, nj=25, nk=30, ")
    assert f.contract.results == ("C",) and "__kernel" in f.source and "evaluation 0 of" in f.origin
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    other = antune.load(run)
    with pytest.raises(ArgumentError, match=r"by name.*the run was begun by somebody else; with trust they are"):
        other(1.0, 1.0)
    assert str(antune.load(run, trust=True)) == str(f)


def test_what_nothing_proves_harmless_needs_trust(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stored_run(tmp_path / "run", write_c(INDIRECT, tmp_path), function="f")
    assert antune.load(run).contract.results == ("A",)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    with pytest.raises(InputError, match=r"nothing proves that .* stays inside its array"):
        antune.load(run)


def test_there_must_be_a_plan(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run directory"):
        antune.load(tmp_path)
    run = stored_run(tmp_path / "run", SUITE / "gemm.c", ("MINI_DATASET",))
    with pytest.raises(InputError, match=r"^plan=7: .* has no such evaluation"):
        antune.load(run, plan=7)
