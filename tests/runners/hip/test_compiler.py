"""HIP text to device code by AMD's hiprtc, which needs no GPU (Debian: libamdhip64-5 libhiprtc-builtins5
rocm-device-libs).
"""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from generator.errors import InputError
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Placement
from generator.polyhedral.dependences.reductions import reducible
from generator.schedules.choice import ScheduleChoice
from runners.driver import BuildError
from runners.gpu.texture_object import ResourceDescription, TextureDescription
from runners.gpu.units import unpacked
from runners.hip.compiler import Hiprtc, hip_compiler
from runners.hip.with_library import ATTRIBUTES, IMAGE_SUPPORT
from tests.support import runners as support
from tests.support.cuda_compiler import ELF
from tests.support.mixed import mixed
from tests.support.shuffles import by_shuffles
from tests.support.slow import few
from tests.support.space_plans import lowered, random_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, polybench_program, problem
from tests.support.targets import RDNA

HEADER = Path("/usr/include/hip/hip_runtime_api.h")
HIP_NAMES = (
    "MaxThreadsPerBlock",
    "MaxBlockDimX",
    "MaxBlockDimY",
    "MaxBlockDimZ",
    "MaxSharedMemoryPerBlock",
    "TotalConstantMemory",
    "WarpSize",
    "MultiprocessorCount",
    "L2CacheSize",
    "TexturePitchAlignment",
    "MaxTexture1DLinear",
    "MaxTexture2DWidth",
    "MaxTexture2DHeight",
    "MaxSharedMemoryPerMultiprocessor",
)
"""hipDeviceAttribute..., in the order of ATTRIBUTES."""


@pytest.fixture(scope="module")
def hiprtc() -> Hiprtc:
    try:
        return Hiprtc()
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", few(ALL_NAMES, ("gemm", "atax")))
def test_generated_text_becomes_device_code(hiprtc: Hiprtc, name: str) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    plans = [default_plan(program, RDNA), *random_plans(program, RDNA, "o1", 1, 5)]
    for variant in (one for plan in plans if (one := lowered(program, plan, RDNA)) is not None):
        assert hiprtc.translate(variant.source, RDNA.architecture).startswith(ELF)


@pytest.mark.parametrize("architecture", ["gfx1030", "gfx90a"])
def test_all_memories_and_shuffles_compile(hiprtc: Hiprtc, architecture: str) -> None:
    """Wavefronts of 32 threads, and of 64. (What later versions of ROCm do not compile for gfx90a are textures.)"""
    program = mixed().program
    plan = default_plan(program, RDNA)
    placed: tuple[tuple[str, Placement], ...] = (("A", "constant"),)
    if architecture == "gfx1030":
        placed = (*placed, ("B", "texture"), ("e", "texture"))
    assert hiprtc.translate(lower(program, replace(plan, placement=placed), RDNA).source, architecture).startswith(ELF)
    found = problem("atax", ODD_SIZES["atax"])
    text = lower(found.program, by_shuffles(found, ScheduleChoice(reductions=reducible(found.program))), RDNA).source
    assert "__shfl_xor(" in text and hiprtc.translate(text, architecture).startswith(ELF)


def test_a_compile_error_is_the_compilers_log(hiprtc: Hiprtc) -> None:
    variant = support.lower_by_hand(support.scale_program(), support.plan(support.NO_COMPILE), RDNA)
    with pytest.raises(BuildError, match="error: ") as caught:
        hiprtc.translate(variant.source, RDNA.architecture)
    assert "this" in str(caught.value)


def test_what_travels_is_the_code(hiprtc: Hiprtc) -> None:
    assert hiprtc is not None
    variant = support.lower_by_hand(support.scale_program(), support.plan(support.GOOD), RDNA)
    (code,) = hip_compiler(RDNA).compile(variant).codes
    assert unpacked(code).code.startswith(ELF) and unpacked(code).spills is None


def test_a_device_without_an_architecture_is_an_error() -> None:
    with pytest.raises(InputError, match=r"the architecture of .* is not known; see `antune devices`"):
        hip_compiler(replace(RDNA, architecture=""))


@pytest.mark.skipif(not HEADER.exists(), reason="HIP's headers are not installed (Debian: libamdhip64-dev)")
def test_numbers_and_structures_are_those_of_hip(tmp_path: Path) -> None:
    asked = [f"hipDeviceAttribute{name}" for name in (*HIP_NAMES, "ImageSupport")]
    asked += ["sizeof(HIP_RESOURCE_DESC)", "sizeof(HIP_TEXTURE_DESC)", "sizeof(hipDeviceProp_t) < 4096"]
    source = tmp_path / "numbers.c"
    source.write_text(
        "#define __HIP_PLATFORM_AMD__\n#include <hip/hip_runtime_api.h>\n#include <stdio.h>\nint main(void) {\n"
        + "".join(f'  printf("%d ", (int)({one}));\n' for one in asked)
        + "}\n"
    )
    subprocess.run(["cc", "-o", str(tmp_path / "numbers"), str(source)], check=True)
    told = subprocess.run([str(tmp_path / "numbers")], capture_output=True, text=True, check=True).stdout.split()
    assert [int(word) for word in told] == [*ATTRIBUTES.values(), IMAGE_SUPPORT, ctypes.sizeof(ResourceDescription),
                                            ctypes.sizeof(TextureDescription), 1]
