"""Benchmarks refuse what they cannot read in one line, before they do anything."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from experiments import benchmarks
from metrics.costs.learned.model import SHIPPED

SUITE = "no pipeline is called 'nosuch'; there are: blur, "
CASES = (
    ("beside_halide", "blur nosuch", SUITE),
    ("compared_models", "{model} blur nosuch --device deterministic", SUITE),
    ("default_plan", "gemm nosuch", "no PolyBench program is called 'nosuch'; there are: 2mm, "),
    ("fusion_times", "unsharp nosuch", "the paper's table has no pipeline 'nosuch'; use unsharp, "),
    ("generation_speed", "gemm nosuch", "no PolyBench program is called 'nosuch'; there are: 2mm, "),
    ("halide_groupings", "blur nosuch", SUITE),
    ("halide_groupings", "nosuch --say Li2018", SUITE),
    ("halide_on_gpu", "blur,nosuch", "--programs: 'nosuch' is neither a program nor a group; "),
    ("inner_loops", "gemm nosuch", "no PolyBench program is called 'nosuch'; there are: 2mm, "),
    ("model_groupings", "blur nosuch", SUITE),
    ("modelled_pipelines", "blur nosuch", SUITE),
    ("one_shot_speed", "blur nosuch --device deterministic", SUITE),
    ("one_shot_speed", "stencil_chain:stages=x --device deterministic",
     "'stages=x' is not a parameter; write NAME=INTEGER, e.g. stages=100"),
    ("one_shot_speed", "stencil_chain:steps=4 --device deterministic", "steps"),
    ("pipeline_speed", "nosuch", SUITE),
    ("pipeline_speed", "stencil_chain stages", "'stages' is not a parameter; "),
    ("start_plans", "gemm nosuch", "no PolyBench program is called 'nosuch'; there are: 2mm, "),
    ("taught_searches", "blur nosuch", SUITE),
    ("taught_searches", "blur --only beam cleverness",
     "--only: no way is called 'cleverness'; there are: \"colony\", \"colony --models\", "),
    ("taught_searches", "blur --explorer nosuch", "unknown explorer 'nosuch'; use one of colony, "),
    ("warps", "unsharp nosuch", "no pipeline or stencil is called 'nosuch'; there are: unsharp, "),
)  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, module: str, words: str) -> int | str | None:
    """Run `python -m experiments.benchmarks.MODULE WORDS` in this process; return how it ends."""
    file = Path(benchmarks.__path__[0]) / f"{module}.py"
    monkeypatch.setattr(sys, "argv", [str(file), *words.split()])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(file), run_name="__main__")
    return end.value.code


@pytest.mark.parametrize(("module", "words", "message"), CASES, ids=[" ".join(case[:2]) for case in CASES])
def test_a_name_or_number_that_makes_no_sense_is_one_message(
        module: str, words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    said = run(monkeypatch, module, words.format(model=SHIPPED))
    assert isinstance(said, str) and said.startswith("error: ") and message in said and "\n" not in said
    assert capsys.readouterr().out == "" and not list(tmp_path.iterdir())


@pytest.mark.parametrize(("words", "names"), [("blur --model banana", "'usual', 'learned', 'sioutas'"),
                                              ("blur --size tiny", "'small', 'medium', 'full'")])
def test_models_and_sizes_are_those_that_there_are(words: str, names: str, monkeypatch: pytest.MonkeyPatch,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "one_shot_speed", words) == 2
    assert f"is not one of {names}" in " ".join(capsys.readouterr().err.replace("│", " ").split())
