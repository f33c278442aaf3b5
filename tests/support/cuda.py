"""Runs CUDA text on the host: a few lines of C++ define CUDA's names, threads run in sequence.

Only for kernels without barriers. Semantics are those of the CUDA C++ Programming Guide: texture coordinates that are
not normalised, nearest texel.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.expr import evaluate
from generator.variant import Constant, Launch, Texture, Variant

WORDS = """
#include <algorithm>
#include <cmath>
#include <cstring>
#define __global__
#define __device__
#define __constant__
#define __launch_bounds__(threads)
using std::min;
using std::max;
struct Index { int x, y, z; };
struct int2 { int x, y; };
struct Image { const void *texels; int width; };
typedef const Image *cudaTextureObject_t;
static Index blockIdx, threadIdx;
template <class T> T tex1Dfetch(cudaTextureObject_t image, int x) { return ((const T *)image->texels)[x]; }
template <class T> T tex2D(cudaTextureObject_t image, float x, float y)
{
  return ((const T *)image->texels)[(int)floorf(y) * image->width + (int)floorf(x)];
}
static double __hiloint2double(int high, int low)
{
  const int words[2] = {low, high};
  double value;
  memcpy(&value, words, sizeof value);
  return value;
}
"""
LAUNCH = """
extern "C" void launch(const int *grid, const int *block, PARAMETERS)
{
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
  for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
  for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
  for (threadIdx.z = 0; threadIdx.z < block[2]; ++threadIdx.z)
  for (threadIdx.y = 0; threadIdx.y < block[1]; ++threadIdx.y)
  for (threadIdx.x = 0; threadIdx.x < block[0]; ++threadIdx.x)
    kernel0(NAMES);
}
"""


class _Image(ctypes.Structure):
    _fields_ = (("texels", ctypes.c_void_p), ("width", ctypes.c_int))


def run_on_host(variant: Variant, arrays: dict[str, NDArray[Any]], folder: Path) -> None:
    """Run a variant of one launch without scalars; `arrays` are changed as by the kernel."""
    [kernel], [launch] = variant.kernels, variant.host
    assert isinstance(launch, Launch) and not kernel.scalars and "__syncthreads" not in variant.source
    library = _compiled(variant.source, folder)
    arguments: dict[str, Any] = {name: arrays[name].ctypes.data_as(ctypes.c_void_p) for name in kernel.arrays}
    for placed in kernel.placements:
        data = arrays[placed.array]
        match placed:
            case Texture(name, _, shape, _):
                arguments[name] = ctypes.byref(_Image(data.ctypes.data, shape[0]))
            case Constant(_, symbol):
                ctypes.memmove((ctypes.c_char * data.nbytes).in_dll(library, symbol), data.ctypes.data, data.nbytes)
    grid = [*(evaluate(extent, {}) for extent in launch.grid), 1, 1][:3]
    sizes = [np.array(numbers, np.intc) for numbers in (grid, [*kernel.block, 1, 1][:3])]
    library.launch(*(s.ctypes.data_as(ctypes.c_void_p) for s in sizes), *(arguments[name] for name in kernel.arrays))


def _compiled(text: str, folder: Path) -> ctypes.CDLL:
    found = re.search(r"^void kernel0\((.*)\)$", text, re.MULTILINE)
    assert found is not None
    names = ", ".join(re.findall(r"(\w+)(?:,|$)", found[1]))
    launch = LAUNCH.replace("PARAMETERS", found[1]).replace("NAMES", names)
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text(WORDS + text + launch)
    run = subprocess.run(["c++", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], capture_output=True,
                         text=True, check=False)
    assert run.returncode == 0, run.stderr
    return ctypes.CDLL(str(library))
