// The words of CUDA for a C++ compiler of the host: the threads of a block take turns at barriers, blocks run one by one.
// Meanings are from the CUDA C++ Programming Guide; the address space is the host's.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __constant__
#define __shared__ static
#define __launch_bounds__(threads)
#define __forceinline__ inline
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }

struct Index { int x, y, z; };
struct int2 { int x, y; };
struct Texels { const char *start; size_t pitch; };
typedef unsigned long long cudaTextureObject_t, hipTextureObject_t;
static Index blockIdx, threadIdx;
alignas(16) static unsigned char antune_shared[256 << 10];

extern "C" void double_fail(int status);

template <class T> T tex1Dfetch(cudaTextureObject_t image, int x) { return ((const T *)((Texels *)image)->start)[x]; }
template <class T> T tex2D(cudaTextureObject_t image, float x, float y)
{
  const Texels *texels = (Texels *)image;
  return ((const T *)(texels->start + texels->pitch * (size_t)floorf(y)))[(size_t)floorf(x)];
}
static inline double __hiloint2double(int high, int low)
{
  const int words[2] = {low, high};
  double value;
  memcpy(&value, words, sizeof value);
  return value;
}
template <class T> T atomicCAS(T *place, T expected, T wanted)
{
  const T seen = *place;
  if (seen == expected) *place = wanted;
  return seen;
}

namespace host {
enum { STACK = 64 << 10 };
struct Fiber { ucontext_t context; char *stack; Index index; bool done; };
static Fiber fibers[1024];
static ucontext_t scheduler;
static size_t count, current;
static void (*body)(const char *);
static const char *arguments;
static double exchanged[1024];

static void run()
{
  body(arguments);
  fibers[current].done = true;
}

static void pause() { swapcontext(&fibers[current].context, &scheduler); }

static void run_block(const unsigned *block)
{
  count = (size_t)block[0] * block[1] * block[2];
  for (size_t i = 0; i < count; ++i) {
    Fiber &fiber = fibers[i];
    if (!fiber.stack) fiber.stack = (char *)malloc(STACK);
    fiber.done = false;
    fiber.index = {int(i % block[0]), int(i / block[0] % block[1]), int(i / block[0] / block[1])};
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, run, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (current = 0; current < count; ++current) {
      if (fibers[current].done) continue;
      threadIdx = fibers[current].index;
      swapcontext(&scheduler, &fibers[current].context);
      left |= !fibers[current].done;
    }
  }
}

static void run_grid(const unsigned *grid, const unsigned *block, void (*kernel)(const char *), const char *values)
{
  body = kernel, arguments = values;
  for (blockIdx.z = 0; blockIdx.z < (int)grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < (int)grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < (int)grid[0]; ++blockIdx.x) run_block(block);
}

struct Reader { // parameters lie one after the other, each aligned to its size
  const char *start;
  size_t offset;
  template <class T> T next()
  {
    offset = (offset + alignof(T) - 1) / alignof(T) * alignof(T);
    T value;
    memcpy(&value, start + offset, sizeof value);
    offset += sizeof value;
    return value;
  }
};
}  // namespace host

#define __syncthreads() host::pause()
#define __trap() (double_fail(719), (void)0)

template <class T> T __shfl_xor(T value, int lanes)
{
  const size_t lane = host::current;
  memcpy(&host::exchanged[lane], &value, sizeof value);
  host::pause();
  T other;
  memcpy(&other, &host::exchanged[lane ^ lanes], sizeof other);
  host::pause();
  return other;
}
template <class T> T __shfl_xor_sync(unsigned, T value, int lanes) { return __shfl_xor(value, lanes); }
