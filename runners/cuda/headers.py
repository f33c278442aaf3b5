"""The places of CUDA's headers: NVRTC has none of its own, and tensor cores need `<mma.h>`.

Wheels contain them (for CUDA 13 nvidia-cuda-runtime and nvidia-cuda-crt; for CUDA 12 nvidia-cuda-runtime-cu12 and
nvidia-cuda-nvcc-cu12), and so does the toolkit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

WRAPPER, CONTENT = "mma.h", "crt/mma.h"
REMEDY = ("`pip install nvidia-cuda-runtime nvidia-cuda-crt` installs them (CUDA 12: nvidia-cuda-runtime-cu12 and "
          "nvidia-cuda-nvcc-cu12), and so does NVIDIA's CUDA toolkit, which is looked for in $CUDA_HOME and "
          "/usr/local/cuda")
_INCLUDE = '#include <mma.h>'
SAMPLE = f"""{_INCLUDE}
extern "C" __global__ void antune_headers()
{{
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums;
  nvcuda::wmma::fill_fragment(sums, 0.0f);
}}
"""
"""Compiles if the headers are whole and go with the compiler."""
_LAST_APART = 12


def needs_headers(text: str) -> bool:
    """Return whether CUDA text includes headers."""
    return _INCLUDE in text


def header_folders(major: int) -> tuple[Path, ...]:
    """Return the folders for `<mma.h>` and the headers that it includes, for CUDA `major`; none if they are missing.

    Wheels of other versions are ignored.
    """
    for group in (*_wheels(major), *([folder] for folder in _toolkits())):
        found = [next((folder for folder in group if (folder / name).exists()), None) for name in (WRAPPER, CONTENT)]
        if None not in found:
            return tuple(dict.fromkeys(folder for folder in found if folder is not None))
    return ()


def _wheels(major: int) -> Iterator[list[Path]]:
    """Yield the folders with headers of NVIDIA's wheels: up to CUDA 12 a folder per wheel, since then one per version.
    """
    names = ("cuda_runtime", "cuda_nvcc") if major <= _LAST_APART else (f"cu{major}",)
    spec = find_spec("nvidia")
    places: Iterable[str] = (spec.submodule_search_locations or ()) if spec is not None else ()
    for place in places:
        yield [Path(place) / name / "include" for name in names]


def _toolkits() -> Iterator[Path]:
    if home := os.environ.get("CUDA_HOME"):
        yield Path(home) / "include"
    yield Path("/usr/local/cuda/include")
