"""The fault of ptxas that loses negations: which compilers have it, who is told, and that today's NVRTC is without."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from antune.doctor import examine
from experiments.benchmarks.inner_loops import nvdisasm, taken_apart
from experiments.run import resume, tune
from generator.errors import InputError
from runners import devices
from runners.base import DeviceInfo
from runners.cuda import probe
from runners.cuda.compiler import Capability, Nvrtc
from runners.cuda.negations import loses_negations, warning
from runners.devices import Survey
from runners.gpu.api import DeviceAttribute
from tests.support.cli import Antune, antune_command
from tests.support.cuda_compiler import translator
from tests.support.runs import DEVICE, Log, ToyRunner, toy_options, toy_parts, toy_source

KERNEL = 'extern "C" __global__ void k(int *v) { v[3] = max(max(v[0], -v[1]), v[2]); }'
FAULTY, SOUND = ((12, 6), (12, 8), (12, 9), (13, 0), (13, 1), (13, 2), (13, 3)), ((12, 4), (12, 5), (13, 4), (13, 5))
AMPERE, ADA, HOPPER, BLACKWELL, CONSUMER = (8, 0), (8, 9), (9, 0), (10, 0), (12, 0)


@dataclass(frozen=True)
class Pretended:
    """A compiler of any version."""

    version: tuple[int, int]
    name: Literal["NVRTC", "nvcc"] = "NVRTC"

    def capabilities(self) -> tuple[Capability, ...]:
        return AMPERE, ADA, HOPPER, BLACKWELL

    def translate(self, text: str, capability: Capability) -> tuple[bytes, str]:
        raise AssertionError("only the version of this compiler is asked")


class Driver:
    """A driver of CUDA 13.0 with one GPU."""

    name, version = "cuda-python", "13.0.2"

    def __init__(self, capability: Capability) -> None:
        self._capability = capability

    def driver_version(self) -> int:
        return 13000

    def device_name(self, ordinal: int) -> str:
        return f"GPU {ordinal}"

    def device_attribute(self, ordinal: int, attribute: DeviceAttribute) -> int:
        match attribute:
            case DeviceAttribute.COMPUTE_CAPABILITY_MAJOR:
                return self._capability[0]
            case DeviceAttribute.COMPUTE_CAPABILITY_MINOR:
                return self._capability[1]
            case _:
                return 32


def test_versions_and_architectures_with_the_fault_are_known() -> None:
    for capability in (HOPPER, BLACKWELL):
        assert all(loses_negations(version, capability) for version in FAULTY)
        assert not any(loses_negations(version, capability) for version in SOUND)
    assert not any(loses_negations(version, capability) for version in FAULTY for capability in (AMPERE, ADA, CONSUMER))


@pytest.mark.parametrize(("capability", "driver", "remedy"), [
    (HOPPER, (13, 0), 'pip install -U "nvidia-cuda-nvrtc>=13.4,<14"'),
    (HOPPER, (14, 1), 'pip install -U "nvidia-cuda-nvrtc>=13.4,<15"'),
    (HOPPER, (12, 8), 'pip install "nvidia-cuda-nvrtc-cu12<12.6"'),
    (BLACKWELL, (12, 8), "update the driver to CUDA 13"),
])
def test_the_remedy_is_a_compiler_whose_code_the_driver_loads(capability: Capability, driver: tuple[int, int],
                                                              remedy: str) -> None:
    assert remedy in warning(Pretended((12, 8)), capability, driver)


def found(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], capability: Capability) -> DeviceInfo:
    """What the probe says about a GPU with this compiler."""
    monkeypatch.setattr(probe, "ctypes", SimpleNamespace(CDLL=lambda name: None))
    monkeypatch.setattr(probe, "open_api", lambda: Driver(capability))
    monkeypatch.setattr(probe, "open_translator", lambda: Pretended(version))
    monkeypatch.setattr(probe, "device_keys", lambda api, dialect: ["cuda/gpu"])
    (listed,) = probe.find().devices
    return listed.info


def test_the_probe_warns_of_a_faulty_compiler_only(monkeypatch: pytest.MonkeyPatch) -> None:
    said = found(monkeypatch, (13, 0), HOPPER).warning
    assert said.startswith("NVRTC of CUDA 13.0 miscompiles some kernels for sm_90") and "pip install -U" in said
    assert not found(monkeypatch, (13, 5), HOPPER).warning
    assert not found(monkeypatch, (13, 0), ADA).warning


def test_devices_and_doctor_print_the_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    faulty = found(monkeypatch, (13, 0), HOPPER)
    monkeypatch.setattr(devices, "survey", lambda anew=False: Survey((faulty, replace(DEVICE, key="other")), {}))
    run: Antune = antune_command(monkeypatch)
    monkeypatch.chdir(tmp_path)
    assert run("devices") == 0
    assert capsys.readouterr().out.count(f"warning: CUDA, GPU 0: {faulty.warning}") == 1
    warned = [finding for finding in examine() if "miscompiles" in finding.remedy]
    assert [(finding.name, finding.state) for finding in warned] == [("device 0", "ok")]


def test_a_run_begins_with_the_warning_and_so_does_its_continuation(tmp_path: Path) -> None:
    source, log, again, quiet = toy_source(tmp_path), Log(), Log(), Log()
    runner = ToyRunner(device=replace(DEVICE, warning="its compiler has a fault"))
    options, directory = toy_options(source, 6), tmp_path / "run"
    tune(options, directory, log, toy_parts(runner))
    resume(directory, replace(options.budget, evaluations=8), again, toy_parts(runner))
    resume(directory, replace(options.budget, evaluations=10), quiet, toy_parts(ToyRunner()))
    said = [notes.notes.count("warning: its compiler has a fault") for notes in (log, again, quiet)]
    assert said == [1, 1, 0]


@pytest.mark.parametrize("capability", [HOPPER, pytest.param(BLACKWELL, marks=pytest.mark.slow)])
def test_the_installed_nvrtc_keeps_the_negation(capability: Capability) -> None:
    """The minus is on an operand: `IADD3 R4, -R4, RZ, RZ` or `IMAD.MOV R4, RZ, RZ, -R4`."""
    version = translator(Nvrtc).version
    if loses_negations(version, capability):
        pytest.skip(f"NVRTC {version} has the fault")
    try:
        nvdisasm()
    except InputError as error:
        pytest.skip(str(error))
    text, _ = taken_apart(KERNEL, capability)
    assert "VIMNMX" in text and len(re.findall(r"-R\d+", text)) == 1, text
