"""What an element of a stage takes: probes that compute it, on a device; what was measured is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.ceilings import stage_times as module
from experiments.ceilings.stage_probes import LowerStage, Unmeasurable, probe_kernel, probe_plan, probe_problem
from experiments.ceilings.stage_times import stage_times
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from metrics.costs.calibration import polymage_of, usual_calibration
from metrics.costs.device import cost_device
from metrics.costs.groups import Group
from tests.support.programs import program_of, scop
from tests.support.runners import needed_device
from tests.support.slow import in_turn
from tests.support.suite import pipeline_program
from tests.support.targets import CPU, CUDA

HEAVY = """
  float cheap[64][300], dear[64][300];
  for (int y = 0; y < 64; y++) for (int x = 0; x < 300; x++) cheap[y][x] = in[y][2 * x] + in[y][2 * x + 1];
  for (int y = 0; y < 64; y++)
    for (int x = 0; x < 300; x++)
      dear[y][x] = expf(cheap[y][x]) / (1.0f + sqrtf(cheap[y][x])) + expf(in[y][x]) / (2.0f + sqrtf(in[y][x]));
  for (int y = 0; y < 64; y++) for (int x = 0; x < 300; x++) out[y][x] = dear[y][x] * 2.0f;
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(scop(HEAVY, "float in[64][601], out[64][300];"))


def text(program: Program, array: str, target: Target = CPU) -> str:
    return LowerStage(program)(probe_problem().program, probe_plan(array), target).source


def test_a_probe_computes_the_stage_on_rows_of_shared_memory(program: Program) -> None:
    cheap = text(program, "cheap")
    assert "__local float s0[" in cheap and "x * 2" in cheap, "neighbours read two elements apart"
    assert "row[x] = s0[x * 2 + 0] + s0[x * 2 + 1];" in cheap
    assert "exp" in text(program, "dear") and "__shared__" in text(program, "dear", CUDA)


@in_turn
@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_what_an_element_takes_is_measured_once_and_tells_cheap_stages_from_dear_ones(
    platform: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    device, told = needed_device(platform), list[str]()
    found = stage_times(program, device, tmp_path, told.append)
    digests = {node.array: node.digest for node in dataflow(program).nodes}
    assert set(found) == set(digests.values()) and not told
    assert 3 * found[digests["cheap"]] < found[digests["dear"]] < 1000
    monkeypatch.setattr(module, "_measured", None)
    assert stage_times(program, device, tmp_path, told.append) == found
    with pytest.raises(TypeError):  # another driver knows nothing
        stage_times(program, replace(device, driver="other"), tmp_path, told.append)


def test_what_was_measured_decides_about_computing_time(program: Program) -> None:
    flow, device = dataflow(program), cost_device(CPU)
    group = Group(flow, "out", ("dear",), frozenset({"cheap"}))
    usual = usual_calibration(device, "CPU")
    times = {node.digest: {"cheap": 1.0, "dear": 5.0, "out": 0.5}[node.array] for node in flow.nodes}
    model = polymage_of(replace(usual, stages=tuple(times.items())))
    assert model._iteration(group, "out", device) == pytest.approx(0.5e-9)
    assert model._iteration(group, "dear", device) == pytest.approx(6e-9), "with the element that is inlined in it"
    partly = polymage_of(replace(usual, stages=tuple(list(times.items())[1:])))
    assert partly._iteration(group, "dear", device) == polymage_of(None)._iteration(group, "dear", device)


def test_equal_stages_have_one_digest_and_others_have_others() -> None:
    nodes = dataflow(pipeline_program("harris", "medium")).nodes
    assert len({node.digest for node in nodes}) == len(nodes)
    again = dataflow(replace(pipeline_program("harris", "medium"), name="other")).nodes
    assert [node.digest for node in again] == [node.digest for node in nodes]


def test_a_stage_that_no_probe_can_stand_for_is_refused() -> None:
    scattered = program_of(
        scop("for (i = 0; i < 24; i++) t[u[i] % 24] += in[i];", "int in[24], t[24]; unsigned char u[24];")
    )
    with pytest.raises(Unmeasurable) as caught:
        probe_kernel(scattered, "t")
    assert caught.value.reason == "it is not computed element by element"
