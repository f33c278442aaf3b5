"""NVIDIA's compilers, where they are installed."""

from __future__ import annotations

import pytest

from runners.cuda.compiler import Nvcc, Nvrtc, Translator

ELF = b"\x7fELF"


def translator(kind: type[Nvrtc | Nvcc]) -> Translator:
    try:
        return kind()
    except ImportError as error:
        pytest.skip(f"{kind.__name__} is not installed: {error}")
