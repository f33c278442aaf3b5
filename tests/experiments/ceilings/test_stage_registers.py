"""The registers of stages, reported by a GPU's compiler without the GPU, and beside times on the double of a driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.ceilings import stage_registers as stages
from experiments.ceilings.stage_probes import LowerStage, probe_plan, probe_problem
from experiments.ceilings.stage_registers import stage_registers
from experiments.studies.calibrated.runs import Runs, Tuned, usual_constants
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.variant import Variant
from metrics.costs.calibration import polymage_of, usual_calibration
from metrics.costs.configurations import Configurations
from metrics.costs.device import cost_device
from metrics.costs.groups import Group
from metrics.costs.polymage import PolyMage
from metrics.resources import Resources
from runners.cuda.compiler import Nvrtc
from runners.devices import find_device
from runners.driver import BuildError
from tests.support.cuda_compiler import translator
from tests.support.cuda_double import UNUSABLE, pretended
from tests.support.programs import program_of, scop
from tests.support.slow import in_turn
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
        found = by_array(program, stage_registers([program], replace(HOPPER, capability=capability), told.append))
        assert set(found) == {"few", "many", "out"} and not told
        assert 0 <= found["few"] <= 4 < found["many"] < 64, (capability, found)


def reported(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, str | int | None]) -> list[str]:
    """Let a compiler answer with the registers of the probe of an array (None: it reports none), or with an error.
    Return a list of the arrays that it is asked about.
    """
    asked = list[str]()

    def report(variant: Variant) -> Mapping[str, Resources]:
        asked.append(str(dict(variant.plan.parameters)["stage"]))
        answer = answers[asked[-1]]
        if isinstance(answer, str):
            raise BuildError(answer)
        return {} if answer is None else {variant.kernels[0].name: Resources(registers=answer)}

    monkeypatch.setattr(stages, "open_reporter", lambda target: report)
    return asked


KNOWN = {"B": 8, "few": 10, "many": 30, "out": 7}


def test_stages_of_several_programs_are_compiled_once(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = reported(monkeypatch, KNOWN)
    found = stage_registers([program, replace(program, name="again")], HOPPER, pytest.fail)
    assert by_array(program, found) == {"few": 2, "many": 22, "out": 0}
    assert sorted(asked) == ["B", "few", "many", "out"]


@pytest.mark.parametrize(("answer", "why"), [("\ntoo large\nin line 3", "too large"),
                                             ("\n", "the device's compiler gives no reason"),
                                             (None, "the compiler does not report them")])
def test_a_stage_without_registers_is_estimated(program: Program, monkeypatch: pytest.MonkeyPatch, answer: str | None,
                                                why: str) -> None:
    told = list[str]()
    reported(monkeypatch, {**KNOWN, "many": answer})
    assert by_array(program, stage_registers([program], HOPPER, told.append)) == {"few": 2, "out": 0}
    assert told == [f"{program.name}: the registers of `many` are estimated: {why}"]


@pytest.mark.parametrize(("answer", "why"), [("too large\nin line 3", "too large"),
                                             (None, "the compiler does not report them")])
def test_without_the_registers_of_a_copy_all_are_estimated(program: Program, monkeypatch: pytest.MonkeyPatch,
                                                           answer: str | None, why: str) -> None:
    told = list[str]()
    asked = reported(monkeypatch, {**KNOWN, "B": answer})
    assert stage_registers([program], HOPPER, told.append) == {} and asked == ["B"]
    assert told == [f"the registers of all stages are estimated: a kernel that copies elements fails: {why}"]


def test_compilers_that_do_not_report_registers_leave_the_estimate(program: Program) -> None:
    for target in (CPU, RDNA):
        assert stage_registers([program], target, pytest.fail) == {}


def test_loops_over_rows_are_not_unrolled_on_gpus(program: Program) -> None:
    """Unrolled, a stage took up to 255 registers, and its time that of their spills."""
    texts = [LowerStage(program)(probe_problem().program, probe_plan("many"), target).source for target in (CUDA, CPU)]
    assert [text.count("#pragma unroll 1\n") for text in texts] == [5, 0]


def test_what_is_reported_decides_about_registers(program: Program) -> None:
    flow, inlined, device = dataflow(program), frozenset({"few"}), cost_device(HOPPER)
    alone, both = Group(flow, "many", (), inlined), Group(flow, "out", ("many",), inlined)
    known = {node.digest: {"few": 30, "many": 12, "out": 3}[node.array] for node in flow.nodes}
    usual = usual_calibration(device, "H100")

    def registers(model: PolyMage, group: Group) -> list[float]:
        given = Configurations(np.ones((2, 1)), np.array([[8.0], [32.0]]))
        return [*model.evaluate(group, given, device).registers]

    model = polymage_of(replace(usual, registers=tuple(known.items())))
    assert registers(model, alone) == [16 + 31], "those of a stage inlined in it, and its result"
    assert registers(model, both) == [16 + 31 + 3]
    partly = polymage_of(replace(usual, registers=tuple(list(known.items())[1:])))
    assert registers(partly, alone) == registers(PolyMage(), alone) != [16 + 31]


@in_turn
@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
def test_a_calibration_has_times_and_registers_of_stages(
    program: Program, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are measured on the double of CUDA's driver; registers are those of NVIDIA's compiler for its device."""
    translator(Nvrtc)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pretended(tmp_path_factory.mktemp("driver")):
        device, told = find_device("cuda"), list[str]()
        found = usual_constants(Runs(device, (Tuned(program, (), ()),)), True, told.append)
    digests = {node.digest for node in dataflow(program).nodes}
    assert {digest for digest, _ in found.stages} == {digest for digest, _ in found.registers} == digests and not told
    assert dict(found.registers) == stage_registers([program], device.target, pytest.fail)
