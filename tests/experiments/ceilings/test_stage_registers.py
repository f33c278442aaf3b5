"""The registers of stages, reported by a GPU's compiler without the GPU, and beside times on the double of a driver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.ceilings.stage_probes import LowerStage, probe_plan, probe_problem
from experiments.ceilings.stage_registers import stage_registers
from experiments.studies.calibrated.runs import Runs, usual_constants
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from metrics.costs.calibration import polymage_of, usual_calibration
from metrics.costs.device import cost_device
from metrics.costs.groups import Group
from metrics.costs.polymage import PolyMage
from runners.cuda.compiler import Nvrtc
from runners.devices import find_device
from tests.support.cuda_compiler import translator
from tests.support.cuda_double import UNUSABLE, pretended
from tests.support.programs import program_of, scop
from tests.support.targets import CPU, CUDA, HOPPER, RDNA

ROWS = """
  float few[64][301], many[64][300];
  for (int y = 0; y < 64; y++) for (int x = 0; x < 301; x++) few[y][x] = in[y][x] * 2.0f;
  for (int y = 0; y < 64; y++)
    for (int x = 0; x < 300; x++)
      many[y][x] = (few[y][x] + in[y][x] / in[y][x + 1]) * expf(few[y][x + 1] * in[y][x + 2]);
  for (int y = 0; y < 64; y++) for (int x = 0; x < 300; x++) out[y][x] = many[y][x] + 1.0f;
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(scop(ROWS, "float in[64][303], out[64][300];"))


def by_array(program: Program, found: dict[str, int]) -> dict[str, int]:
    return {node.array: found[node.digest] for node in dataflow(program).nodes if node.digest in found}


def test_a_stage_of_more_operations_needs_more_registers_on_every_architecture(program: Program) -> None:
    translator(Nvrtc)
    for capability in ((7, 5), (9, 0)):
        told = list[str]()
        found = by_array(program, stage_registers(program, replace(HOPPER, capability=capability), told.append))
        assert set(found) == {"few", "many", "out"} and not told
        assert 0 <= found["few"] <= 4 < found["many"] < 64, (capability, found)


def test_compilers_that_do_not_report_registers_leave_the_estimate(program: Program) -> None:
    for target in (CPU, RDNA):
        assert stage_registers(program, target, pytest.fail) == {}


def test_loops_over_rows_are_not_unrolled_on_gpus(program: Program) -> None:
    """Unrolled, a stage took up to 255 registers, and its time that of their spills."""
    texts = [LowerStage(program)(probe_problem().program, probe_plan("many"), target).source for target in (CUDA, CPU)]
    assert [text.count("#pragma unroll 1\n") for text in texts] == [5, 0]


def test_what_is_reported_decides_about_registers(program: Program) -> None:
    flow, group = dataflow(program), Group(dataflow(program), "out", ("many",), frozenset({"few"}))
    known = {node.digest: {"few": 30, "many": 12, "out": 3}[node.array] for node in flow.nodes}
    usual = usual_calibration(cost_device(HOPPER), "H100")
    model = polymage_of(replace(usual, registers=tuple(known.items())))
    assert [model._stage_registers(group, stage) for stage in ("many", "out")] == [31, 3], "with that inlined in it"
    assert model._registers(group) == 16 + 31 + 3
    partly = polymage_of(replace(usual, registers=tuple(list(known.items())[1:])))
    assert partly._stage_registers(group, "many") == PolyMage()._stage_registers(group, "many")


@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
def test_a_calibration_has_times_and_registers_of_stages(
    program: Program, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are measured on the double of CUDA's driver; registers are those of NVIDIA's compiler for its device."""
    translator(Nvrtc)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pretended(tmp_path_factory.mktemp("driver")):
        device, told = find_device("cuda"), list[str]()
        found = usual_constants(Runs(device, ((program, ()),)), True, told.append)
    digests = {node.digest for node in dataflow(program).nodes}
    assert {digest for digest, _ in found.stages} == {digest for digest, _ in found.registers} == digests and not told
    assert dict(found.registers) == stage_registers(program, device.target, pytest.fail)
