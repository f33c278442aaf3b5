"""A pipeline and a C program with the same loops are the same to everything behind the front ends."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from antune import halide as hl
from experiments.store import read_store
from experiments.suites.image_pipelines import PIPELINES, Pipeline, pipeline
from experiments.values.options import LevelName
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.demand import program_demand
from generator.polyhedral.dependences.model import model
from generator.polyhedral.dependences.reductions import reducible
from generator.program import Program
from metrics.outcome import Timed
from runners.cuda.compiler import Nvrtc
from tests.support import definitions
from tests.support.bench import outcomes_of
from tests.support.cli import antune_command
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import device_named
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.space_plans import random_plans
from tests.support.suite import TARGET, small_problem
from tests.support.targets import HOPPER

x, y = hl.Var("x"), hl.Var("y")


def blur() -> tuple[hl.Func, str, str]:
    image, rows, out = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("rows"), hl.Func("out")
    rows[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) * 0.5
    out[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) * 0.5
    return out, """
      for (int y = 0; y <= 25; y++) for (int x = 0; x < 40; x++)
        rows[y][x] = (image[y][x] + image[y][x + 1] + image[y][x + 2]) * 0.5f;
      for (int y = 0; y < 24; y++) for (int x = 0; x < 40; x++)
        out[y][x] = (rows[y][x] + rows[y + 1][x] + rows[y + 2][x]) * 0.5f;""", \
        "float image[26][42], rows[26][40], out[24][40];"


def jacobi() -> tuple[hl.Func, str, str]:
    """Time steps over a wrapped coordinate and a reduction."""
    start, f, total = hl.ImageParam(hl.Float(64), 1, "start"), hl.Func("f"), hl.Func("total")
    t, k = hl.RDom([(0, 40), (1, 6)], "t"), hl.RDom([(0, 40)], "k")
    f[x, y] = start[x]
    f[t.x, t.y] = (f[hl.max(t.x - 1, 0), t.y - 1] + f[t.x, t.y - 1] + f[hl.min(t.x + 1, 39), t.y - 1]) / hl.f64(3.0)
    total[y] = hl.f64(0.0)
    total[y] += f[k, y]
    return total, """
      for (int y = 0; y <= 6; y++) for (int x = 0; x < 40; x++) f[y][x] = start[x];
      for (int r1 = 1; r1 <= 6; r1++) for (int r0 = 0; r0 < 40; r0++)
        f[r1][r0] = (f[r1 - 1][r0 - 1 > 0 ? r0 - 1 : 0] + f[r1 - 1][r0] + f[r1 - 1][r0 + 1 < 39 ? r0 + 1 : 39]) / 3.0;
      for (int y = 0; y < 7; y++) total[y] = 0.0;
      for (int y = 0; y < 7; y++) for (int r0 = 0; r0 < 40; r0++) total[y] += f[y][r0];""", \
        "double start[40], f[7][40], total[7];"


def both(name: str) -> tuple[Program, Program]:
    """The Program of the pipeline and that of the C text; intermediate arrays of both are temporary."""
    output, body, declarations = {"blur": blur, "jacobi": jacobi}[name]()
    ours = pipeline_program([output], [40, 24] if name == "blur" else [7])
    theirs = program_of(scop(body, declarations))
    roles = {a.name: a.role for a in ours.arrays}
    return ours, replace(theirs, arrays=tuple(replace(a, role=roles[a.name]) for a in theirs.arrays))


def same(one: str, other: str) -> bool:
    return bool(isl.UnionMap(one).is_equal(isl.UnionMap(other)))


@pytest.mark.parametrize("name", ["blur", "jacobi"])
def test_stencils_written_both_ways_have_the_same_facts(name: str) -> None:
    ours, theirs = both(name)
    assert ours.arrays == theirs.arrays
    for one, other in zip(ours.statements, theirs.statements, strict=True):
        assert one.iterators == other.iterators
        assert isl.Set(one.domain).is_equal(isl.Set(other.domain))
        assert [(a.array, a.kind) for a in one.accesses] == [(a.array, a.kind) for a in other.accesses]
        assert all(same(a.relation, b.relation) for a, b in zip(one.accesses, other.accesses, strict=True))
    assert model(ours).flow.is_equal(model(theirs).flow)
    assert model(ours).false.is_equal(model(theirs).false)
    assert isl.Schedule(ours.schedule).plain_is_equal(isl.Schedule(theirs.schedule))
    assert reducible(ours) == reducible(theirs)
    assert program_demand(ours) == program_demand(theirs)


@pytest.mark.parametrize("name", few(["blur", "jacobi"], 1))
def test_stencils_written_both_ways_become_the_same_kernels(name: str) -> None:
    ours, theirs = both(name)
    for plan in (default_plan(ours, TARGET), *random_plans(ours, TARGET, "o2", 3, 5)):
        one, other = lower(ours, plan, TARGET), lower(theirs, plan, TARGET)
        assert without_comments(one.source) == without_comments(other.source)
        assert one.host == other.host
        assert kernel_facts(ours, plan, TARGET) == kernel_facts(theirs, plan, TARGET)


def without_comments(text: str) -> str:
    """Generated text; `max(i, 0)` and `i > 0 ? i : 0` are two ways to write one subscript."""
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"\(?(\w[\w +*-]*) > 0 \? \1 : 0\)?", r"max(\1, 0)", text)
    return re.sub(r"\(?(\w[\w +*-]*) < 39 \? \1 : 39\)?", r"min(\1, 39)", text)


LEVELS: tuple[LevelName, ...] = ("o1", "o2")
QUICK = {"blur": 1, "matmul": 0, "conv_layer": 0}
"""Random plans per level, besides the default one, of the programs that are quick to compile."""
TRANSLATED = [p if p.name in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in PIPELINES]


def wrong_plans(program: Pipeline, count: int) -> list[str]:
    """What is wrong with the default plan and `count` random ones per level on PoCL; of these, some are refused."""
    problem, device = small_problem(program)[0], device_named("pocl")
    plans = [default_plan(problem.program, device.target)]
    for level in LEVELS:
        plans += random_plans(problem.program, device.target, level, count, 3)
    return [f"{plans[n].to_json()}: {o}" for n, o in enumerate(outcomes_of(device, problem, plans))
            if not isinstance(o, Timed) and (n == 0 or "barrier would stand" not in o.message)]


@in_turn
@pytest.mark.parametrize("name", few(QUICK, ("matmul", "conv_layer")))
def test_plans_of_pipelines_are_right_on_pocl(name: str, tmp_path: Path) -> None:
    assert wrong_plans(pipeline(name), QUICK[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", PIPELINES, ids=lambda p: p.name)
def test_many_plans_of_all_pipelines_are_right_on_pocl(program: Pipeline, tmp_path: Path) -> None:
    assert wrong_plans(program, 5) == []


@pytest.mark.parametrize("program", TRANSLATED, ids=lambda p: p.name)
def test_cuda_text_of_pipelines_becomes_device_code(program: Pipeline) -> None:
    nvrtc = translator(Nvrtc)
    found = small_problem(program)[0].program
    cubin, _ = nvrtc.translate(lower(found, default_plan(found, HOPPER), HOPPER).source, (9, 0))
    assert cubin.startswith(ELF)


def test_functions_on_bits_become_device_code() -> None:
    nvrtc = translator(Nvrtc)
    for case in (definitions.bits, definitions.same_bits):
        for output, sizes in case(hl):
            found = pipeline_program([output], sizes)
            assert nvrtc.translate(lower(found, default_plan(found, HOPPER), HOPPER).source, (9, 0))[0].startswith(ELF)


def test_a_pipeline_is_tuned_and_its_run_resumed_without_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    antune, file, run = antune_command(monkeypatch), tmp_path / "own.py", tmp_path / "run"
    file.write_text(PIPELINES[0].file.read_text())
    device = ("--device", "deterministic")
    assert antune("tune", f"{file}:build", "--size", "64x48", "--evaluations", "4", "--out", run, *device) == 0
    assert "own on" in capsys.readouterr().out
    file.unlink()
    assert antune("resume", run, "--evaluations", "6") == 0
    with read_store(run) as store:
        assert len(store.results()) == 7  # with the default plan
        assert store.info().options.parameters == (("width", 64), ("height", 48))
        assert store.reference().origin == "pipeline"
