"""Where CUDA's headers are: NVRTC brings none, and tensor cores are reached through `<mma.h>`.

Wheels have them (nvidia-cuda-runtime and nvidia-cuda-crt of CUDA 13; of CUDA 12 nvidia-cuda-runtime-cu12 and
nvidia-cuda-nvcc-cu12), and so has the toolkit.
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


def needs_headers(text: str) -> bool:
    """Whether CUDA text includes headers."""
    return _INCLUDE in text


def header_folders() -> tuple[Path, ...]:
    """The folders in which the compiler has to look for `<mma.h>` and what that includes; none if it is nowhere."""
    wheels = list(_wheels())
    for group in (wheels, *([folder] for folder in _toolkits())):
        found = [next((folder for folder in group if (folder / name).exists()), None) for name in (WRAPPER, CONTENT)]
        if None not in found:
            return tuple(dict.fromkeys(folder for folder in found if folder is not None))
    return ()


def _wheels() -> Iterator[Path]:
    """The folders with headers of NVIDIA's wheels."""
    spec = find_spec("nvidia")
    places: Iterable[str] = (spec.submodule_search_locations or ()) if spec is not None else ()
    for place in places:
        yield from sorted(Path(place).glob("*/include"))


def _toolkits() -> Iterator[Path]:
    if home := os.environ.get("CUDA_HOME"):
        yield Path(home) / "include"
    yield Path("/usr/local/cuda/include")
