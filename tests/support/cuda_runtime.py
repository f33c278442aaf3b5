"""The runtime library of CUDA, or HIP, on the host, as far as exports need it: memory is the host's, threads run in
sequence.

Only for kernels without barriers. It tests the copies, bindings and launches of an export; a GPU is stricter.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

RUNTIME = r"""
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#define __global__
#define __device__
#define __constant__
#define __launch_bounds__(threads)
#define __syncthreads()
#define __shared__ static
using std::min;
using std::max;
typedef int cudaError_t;
struct dim3 { int x, y, z; dim3(int a, int b, int c) : x(a), y(b), z(c) {} };
struct Index { int x, y, z; };
struct int2 { int x, y; };
static Index blockIdx, threadIdx;
enum { cudaSuccess, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaReadModeElementType, cudaFilterModePoint,
       cudaAddressModeClamp, cudaResourceTypePitch2D, cudaResourceTypeLinear, cudaFuncCachePreferShared,
       cudaFuncCachePreferL1, cudaFuncAttributePreferredSharedMemoryCarveout,
       cudaFuncAttributeMaxDynamicSharedMemorySize, cudaDevAttrMaxSharedMemoryPerMultiprocessor };
struct cudaChannelFormatDesc { size_t bytes; };
template <class T> cudaChannelFormatDesc cudaCreateChannelDesc() { return {sizeof(T)}; }
struct cudaTextureDesc { int readMode, filterMode, addressMode[3], normalizedCoords; };
struct cudaResourceDesc {
  int resType;
  struct {
    struct { void *devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void *devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
  } res;
};
typedef const cudaResourceDesc *cudaTextureObject_t;
struct cudaDeviceProp { char name[32]; };
static int cudaCreateTextureObject(cudaTextureObject_t *made, const cudaResourceDesc *what, const cudaTextureDesc *how,
                                   const void *) {
  *made = new cudaResourceDesc(*what);
  return how->normalizedCoords || how->readMode != cudaReadModeElementType || how->filterMode != cudaFilterModePoint;
}
static int cudaDestroyTextureObject(cudaTextureObject_t made) { delete made; return 0; }
static const char *cudaGetErrorString(int) { return "pretended"; }
static int cudaGetDeviceCount(int *count) { *count = 1; return 0; }
static int cudaGetDeviceProperties(cudaDeviceProp *told, int) { strcpy(told->name, "host"); return 0; }
static int current; /* device 0 has all memory, and kernels run there */
static int cudaSetDevice(int device) { current = device; return 0; }
static int cudaGetDevice(int *device) { *device = 0; return 0; }
static int cudaDeviceGetAttribute(int *value, int, int) { *value = 1 << 16; return 0; }
static int cudaMalloc(void **made, size_t bytes) { *made = malloc(bytes); memset(*made, 0x5b, bytes); return 0; }
static int cudaMallocPitch(void **made, size_t *pitch, size_t row, size_t rows) {
  *pitch = row + 40;
  return cudaMalloc(made, *pitch * rows);
}
static int cudaFree(void *memory) { free(memory); return 0; }
static int cudaMemcpy(void *to, const void *from, size_t bytes, int) { memcpy(to, from, bytes); return current; }
static int cudaMemcpy2D(void *to, size_t pitch, const void *from, size_t other, size_t row, size_t rows, int) {
  for (size_t k = 0; k < rows; ++k) memcpy((char *)to + k * pitch, (const char *)from + k * other, row);
  return 0;
}
template <class T> int cudaMemcpyToSymbol(T &to, const void *from, size_t bytes) {
  memcpy(&to, from, bytes);
  return sizeof(T) != bytes;
}
static int cudaDeviceSynchronize() { return 0; }
static int cudaGetLastError() { return 0; }
static int cudaFuncSetAttribute(const void *, int, int) { return 0; }
static int cudaFuncSetCacheConfig(const void *, int) { return 0; }
template <class T> T tex1Dfetch(cudaTextureObject_t image, int x) { return ((const T *)image->res.linear.devPtr)[x]; }
template <class T> T tex2D(cudaTextureObject_t image, float x, float y) {
  const char *row = (const char *)image->res.pitch2D.devPtr + (size_t)floorf(y) * image->res.pitch2D.pitchInBytes;
  return ((const T *)row)[(int)floorf(x)];
}
static inline double __hiloint2double(int high, int low) {
  const int words[2] = {low, high};
  double value;
  memcpy(&value, words, sizeof value);
  return value;
}
template <class F> void launched(dim3 grid, dim3 block, F run) {
  if (current) abort();
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
  for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
  for (threadIdx.z = 0; threadIdx.z < block.z; ++threadIdx.z)
  for (threadIdx.y = 0; threadIdx.y < block.y; ++threadIdx.y)
  for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x)
    run();
}
"""
_LAUNCH = re.compile(r"(\w+)<<<(dim3\([^)]*\)), (dim3\([^)]*\)), 0>>>\((.*)\);")


def build_on_host(folder: Path, suffix: str = "cu") -> None:
    """Build the self-check of an export to CUDA, or to HIP (suffix `hip`), with the host's compilers."""
    (source,) = [path for path in folder.glob(f"*.{suffix}") if path.stem != "kernels"]
    kernels = (folder / f"kernels.{suffix}").read_text()
    assert "__syncthreads" not in kernels or set(re.findall(r"__launch_bounds__\((\d+)\)", kernels)) == {"1"}
    text = _LAUNCH.sub(r"launched(\2, \3, [&] { \1(\4); });", source.read_text())
    assert "<<<" not in text
    (folder / "host.cpp").write_text(text)
    include, runtime = folder / "cuda_runtime.h", RUNTIME
    if suffix == "hip":
        include = folder / "hip" / "hip_runtime.h"
        runtime = re.sub(
            r"\bcuda(?=[A-Z])",
            "hip",
            RUNTIME.replace("cudaDevAttr", "cudaDeviceAttribute").replace("cudaDeviceProp ", "cudaDeviceProp_t "),
        )
    include.parent.mkdir(exist_ok=True)
    include.write_text(runtime)
    _run(folder, "c++ -std=c++17 -w -I. -c host.cpp")
    for check in sorted(path.stem for path in folder.glob("selfcheck*.c")):
        sequential = check.replace("selfcheck", "sequential")
        _run(folder, f"cc -std=c99 -c {check}.c {sequential}.c")
        _run(folder, f"c++ -o {check} host.o {check}.o {sequential}.o -lm")


def _run(folder: Path, command: str) -> None:
    subprocess.run(command.split(), cwd=folder, check=True)
