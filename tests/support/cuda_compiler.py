"""NVIDIA's compilers, if they are installed."""

from __future__ import annotations

import pytest

from metrics.resources import parse_ptxas
from runners.cuda.compiler import Capability, Nvcc, Nvrtc, Translator

ELF = b"\x7fELF"


def translator(kind: type[Nvrtc | Nvcc]) -> Translator:
    try:
        return kind()
    except ImportError as error:
        pytest.skip(f"{kind.__name__} is not installed: {error}")


def check_spills(source: str, capability: Capability) -> None:
    """Check that the text compiles without spills, except for a pair of registers if the compiler uses far fewer than
    255.

    It does so for more resident warps (NVRTC 13 for sm_80).
    """
    _, log = translator(Nvrtc).translate(source, capability)
    found = parse_ptxas(log)
    assert found
    for used in found.values():
        few_by_choice = used.registers is not None and used.registers <= 96
        most = 8 if few_by_choice else 0
        assert used.spills is not None and used.spills <= most, used
        assert used.private is not None and used.private <= most, used
