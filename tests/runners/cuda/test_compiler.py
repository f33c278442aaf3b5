"""CUDA text to device code by NVIDIA's compilers, which need no GPU: NVRTC (package nvidia-cuda-nvrtc) and nvcc."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import pytest

from experiments.values.options import LevelName
from generator.errors import IllegalPlan, InputError
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.program import Program
from generator.target import LANGUAGES, Target
from generator.variant import Variant
from metrics.resources import parse_ptxas
from runners.cuda.compiler import (
    Capability,
    Nvcc,
    Nvrtc,
    Translator,
    best_capability,
    cuda_compiler,
    open_translator,
)
from runners.driver import BuildError, LaunchError
from runners.gpu.texture_object import ResourceDescription, TextureDescription
from runners.gpu.units import unpacked
from tests.support import runners as support
from tests.support.cuda_compiler import ELF, translator
from tests.support.slow import counted
from tests.support.space_plans import lowered, random_plans
from tests.support.suite import ALL_NAMES, ODD_SIZES, polybench_program, problem
from tests.support.targets import HOPPER

DECLARED = LANGUAGES["cuda"].declared_shared_bytes or 0
FEW = ("gemm", "jacobi-2d")


@pytest.fixture(params=[Nvrtc, Nvcc], ids=["NVRTC", "nvcc"])
def compiler(request: pytest.FixtureRequest) -> Translator:
    return translator(request.param)


def variants(program: Program, target: Target, count: int) -> list[Variant]:
    """The default plan's code, and that of random plans of every level."""
    plans = [plan for level in get_args(LevelName) for plan in random_plans(program, target, level, count, 11)]
    random = [variant for plan in plans if (variant := lowered(program, plan, target)) is not None]
    return [lower(program, default_plan(program, target), target), *random]


@pytest.mark.parametrize(("name", "count"), counted(ALL_NAMES, ("gemm",), 1, 2))
def test_generated_text_becomes_device_code(name: str, count: int) -> None:
    """Complete code for the asked architecture, with resources for every kernel."""
    nvrtc = translator(Nvrtc)
    for variant in variants(polybench_program(name, ODD_SIZES[name]), HOPPER, count):
        cubin, log = nvrtc.translate(variant.source, (9, 0))
        assert cubin.startswith(ELF)
        needs = parse_ptxas(log)
        assert set(needs) == {kernel.name for kernel in variant.kernels}
        for kernel in variant.kernels:
            found = needs[kernel.name]
            assert found.registers and 0 < found.registers <= 255 and found.spills is not None, log
            static = kernel.local_bytes - kernel.dynamic_bytes("cuda")
            assert found.shared is not None and found.shared >= static


def test_shared_memory_beyond_the_static_limit_compiles(compiler: Translator) -> None:
    """Declared arrays end at 48 KB; what is dynamic does not count against that, and both have the same elements."""
    found = problem("gemm", ("NI=130", "NJ=130", "NK=130"))
    plan = default_plan(found.program, HOPPER)
    kernels = tuple(replace(k, shared=True, tile=(64, 64), block=(16, 16), inner_tile=64) if len(k.tile) == 2 else k
                    for k in plan.kernels)
    variant = lower(found.program, replace(plan, kernels=kernels), HOPPER)
    (large,) = [kernel for kernel in variant.kernels if kernel.local_bytes > DECLARED]
    assert large.dynamic_bytes("cuda") == large.local_bytes and large.dynamic_bytes("opencl") == 0
    cubin, log = compiler.translate(variant.source, (9, 0))
    assert cubin.startswith(ELF) and not parse_ptxas(log)[large.name].shared
    with pytest.raises(IllegalPlan, match="bytes of local memory"):
        lower(found.program, replace(plan, kernels=kernels), replace(HOPPER, local_bytes=DECLARED))


def test_a_compile_error_is_the_compilers_log(compiler: Translator) -> None:
    variant = support.lower_by_hand(support.scale_program(), support.plan(support.NO_COMPILE), HOPPER)
    with pytest.raises(BuildError, match=r"kernels\.cu\(\d\): error") as caught:
        compiler.translate(variant.source, (9, 0))
    assert "this" in str(caught.value) and "/tmp" not in str(caught.value)


def test_what_travels_holds_the_code_and_the_spills() -> None:
    translator(Nvrtc)
    variant = support.lower_by_hand(support.scale_program(), support.plan(support.GOOD), HOPPER)
    (code,) = cuda_compiler(HOPPER).compile(variant).codes
    assert unpacked(code).code.startswith(ELF) and unpacked(code).spills == 0


def test_a_kernel_over_the_limits_is_refused_before_it_is_compiled() -> None:
    translator(Nvrtc)
    variant = support.lower_by_hand(support.scale_program(), support.plan(support.LOCAL), HOPPER)
    with pytest.raises(LaunchError, match="k needs 16777216 bytes of local memory; the device has 232448"):
        cuda_compiler(HOPPER).compile(variant)


@pytest.mark.parametrize(("device", "known", "best"), [
    ((9, 0), [(8, 0), (9, 0), (10, 0)], (9, 0)), ((8, 7), [(8, 0), (8, 6), (9, 0)], (8, 6)),
    ((12, 1), [(12, 0)], (12, 0))])
def test_code_is_made_for_the_nearest_architecture_that_runs(device: Capability, known: list[Capability],
                                                             best: Capability) -> None:
    assert best_capability(Pretended(known), device) == best


@pytest.mark.parametrize("device", [(7, 0), (9, 0), (11, 0)])
def test_a_device_that_no_code_can_be_made_for_is_an_error(device: Capability) -> None:
    with pytest.raises(InputError, match=rf"makes no code for sm_{device[0]}0; install a CUDA compiler that does"):
        best_capability(Pretended([(8, 0), (10, 0)]), device)


class Pretended:
    """A compiler that only knows what it could do."""

    name: Literal["NVRTC"] = "NVRTC"
    version: tuple[int, int] = (13, 0)

    def __init__(self, known: list[Capability]) -> None:
        self._known = tuple(known)

    def capabilities(self) -> tuple[Capability, ...]:
        return self._known

    def translate(self, text: str, capability: Capability) -> tuple[bytes, str]:
        raise AssertionError("nothing is compiled here")


def test_nvrtc_is_preferred() -> None:
    translator(Nvrtc)
    assert open_translator().name == "NVRTC"


def test_structures_are_those_of_cuda_h(tmp_path: Path) -> None:
    """Sizes and offsets of what is passed for textures, where the toolkit has its header."""
    header = next(iter(sorted(Path("/usr/local").glob("cuda*/include/cuda.h"))), None)
    if header is None:
        pytest.skip("the CUDA toolkit is not installed")
    asked = ["sizeof(CUDA_RESOURCE_DESC)", "sizeof(CUDA_TEXTURE_DESC)", "offsetof(CUDA_RESOURCE_DESC, res)",
             "offsetof(CUDA_RESOURCE_DESC, res.linear.sizeInBytes)",
             "offsetof(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes)", "offsetof(CUDA_RESOURCE_DESC, flags)",
             "offsetof(CUDA_TEXTURE_DESC, filterMode)", "offsetof(CUDA_TEXTURE_DESC, flags)"]
    source = tmp_path / "sizes.c"
    source.write_text("#include <cuda.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n"
                      + "".join(f'  printf("%zu ", {one});\n' for one in asked) + "}\n")
    subprocess.run(["cc", f"-I{header.parent}", "-o", str(tmp_path / "sizes"), str(source)], check=True)
    told = subprocess.run([str(tmp_path / "sizes")], capture_output=True, text=True, check=True).stdout.split()
    inner = ResourceDescription.of.offset
    linear, pitched = (kind for _, kind in ResourceDescription().of._fields_[:2])
    assert [int(word) for word in told] == [
        ctypes.sizeof(ResourceDescription), ctypes.sizeof(TextureDescription), inner, inner + linear.bytes.offset,
        inner + pitched.pitch.offset, ResourceDescription.flags.offset, TextureDescription.filter.offset,
        TextureDescription.flags.offset]
