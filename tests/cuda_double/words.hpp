// The words of CUDA for a C++ compiler of the host: blocks run one by one, the threads of a block in a random order between
// two barriers, the same in each launch. A barrier or shuffle that not all threads of the block (of the warp) reach is an
// error, as is a race where accesses to memory are watched (shadow.hpp).
// Meanings are from the CUDA C++ Programming Guide; the address space is the host's.
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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
#define VECTORS(type, name) \
  struct alignas(2 * sizeof(type)) name##2 { type x, y; }; \
  struct alignas(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)) name##4 { type x, y, z, w; };
VECTORS(int, int) VECTORS(unsigned, uint) VECTORS(long, long) VECTORS(unsigned long, ulong)
VECTORS(short, short) VECTORS(unsigned short, ushort) VECTORS(char, char) VECTORS(unsigned char, uchar)
VECTORS(float, float) VECTORS(double, double)
#define __align__(bytes) __attribute__((aligned(bytes)))
template <class T, class U> void __stcs(T *place, U value) { *place = value; }
#ifndef __clang__ // HIP's compiler has it
#define __builtin_nontemporal_store(value, place) __stcs(place, value)
#endif
struct Texels { const char *start; size_t pitch; };
typedef unsigned long long cudaTextureObject_t, hipTextureObject_t;
static Index blockIdx, threadIdx;
alignas(32) static unsigned char antune_shared[256 << 10];

extern "C" void double_fail(int status);
extern "C" void double_note(const char *text);
#define UNWATCHED __attribute__((no_sanitize_thread))

template <class T> T tex1Dfetch(cudaTextureObject_t image, int x) { return ((const T *)((Texels *)image)->start)[x]; }
template <class T> T tex2D(cudaTextureObject_t image, float x, float y)
{
  const Texels *texels = (Texels *)image;
  return ((const T *)(texels->start + texels->pitch * (size_t)floorf(y)))[(size_t)floorf(x)];
}
static inline float __int_as_float(int bits)
{
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline double __hiloint2double(int high, int low)
{
  const int words[2] = {low, high};
  double value;
  memcpy(&value, words, sizeof value);
  return value;
}
namespace host {
enum { STACK = 64 << 10, MOST = 1024, WARP = 32 };
enum State { READY, AT_BARRIER, AT_WARP, AT_SHUFFLE, DONE };
static const char *const PLACES[] = {"runs", "waits for its block", "waits for its warp", "waits for a shuffle", "has ended"};
struct Fiber { ucontext_t context; char *stack; Index index; State state; int line; };
static Fiber fibers[MOST];
static ucontext_t scheduler;
static size_t count, current, order[MOST], begun[MOST]; // begun: copies that the thread has not waited for
static void (*body)(const char *);
static const char *arguments, *name;
static double exchanged[MOST];
static bool running, failed;
static unsigned epoch, warp_epochs[MOST / WARP], block_number, chance;

#include "shadow.hpp"

static UNWATCHED void run()
{
  body(arguments);
  fibers[current].state = DONE, fibers[current].line = 0;
}

/* The thread goes on when all others of its block, or of its warp, have come to the same line. */
static UNWATCHED void wait(State state, int line)
{
  fibers[current].state = state;
  fibers[current].line = line;
  running = false;
  swapcontext(&fibers[current].context, &scheduler);
}

static UNWATCHED unsigned drawn(unsigned below)
{
  chance ^= chance << 13, chance ^= chance >> 17, chance ^= chance << 5;
  return chance % below;
}

/* All threads that can run do so until they wait, in any order. */
static UNWATCHED bool advance()
{
  size_t ready = 0;
  for (size_t i = 0; i < count; ++i)
    if (fibers[i].state == READY) order[ready++] = i;
  for (size_t left = ready; left && !failed; --left) {
    const size_t picked = drawn(unsigned(left));
    current = order[picked], order[picked] = order[left - 1];
    threadIdx = fibers[current].index;
    running = true;
    swapcontext(&scheduler, &fibers[current].context);
    running = false;
  }
  return ready;
}

/* Threads first to last - 1 go on if they wait at the same place; otherwise that is an error. */
static UNWATCHED bool release(size_t first, size_t last, State state)
{
  for (size_t i = first + 1; i < last; ++i) {
    if (fibers[i].state == fibers[first].state && fibers[i].line == fibers[first].line) continue;
    complain("%s: block (%d, %d, %d) diverges at a barrier: thread %zu %s (line %d), thread %zu %s (line %d)", name,
             blockIdx.x, blockIdx.y, blockIdx.z, first, PLACES[fibers[first].state], fibers[first].line, i,
             PLACES[fibers[i].state], fibers[i].line);
    return false;
  }
  if (fibers[first].state != state) return false;
  for (size_t i = first; i < last; ++i) fibers[i].state = READY;
  return true;
}

static UNWATCHED void run_block(const unsigned *block)
{
  count = (size_t)block[0] * block[1] * block[2];
  ++block_number, epoch = 0;
  memset(warp_epochs, 0, sizeof warp_epochs);
  for (size_t i = 0; i < count; ++i) {
    Fiber &fiber = fibers[i];
    if (!fiber.stack) fiber.stack = (char *)malloc(STACK);
    fiber.state = READY, fiber.line = 0;
    fiber.index = {int(i % block[0]), int(i / block[0] % block[1]), int(i / block[0] / block[1])};
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, run, 0);
  }
  while (advance() && !failed) {
    bool warps = false;
    for (size_t first = 0; first < count && !failed; first += WARP) {
      const size_t last = first + WARP < count ? first + WARP : count;
      State waits = READY; // a shuffle orders nothing in memory
      for (size_t i = first; i < last; ++i)
        if (fibers[i].state == AT_WARP || fibers[i].state == AT_SHUFFLE) waits = fibers[i].state;
      if (waits != READY && release(first, last, waits)) warps = true, warp_epochs[first / WARP] += waits == AT_WARP;
    }
    if (!warps && !failed && release(0, count, AT_BARRIER)) ++epoch;
  }
  for (size_t i = 0; i < count; ++i)
    if (begun[i] && !failed) complain("%s: thread %zu of block %u ended without waiting for its copies", name, i, block_number - 1);
}

static UNWATCHED void run_grid(const char *kernel, const unsigned *grid, const unsigned *block, void (*start)(const char *),
                               const char *values)
{
  chance = 1, name = kernel, body = start, arguments = values, block_number = 0, failed = false;
  forget();
  for (blockIdx.z = 0; blockIdx.z < (int)grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < (int)grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < (int)grid[0] && !failed; ++blockIdx.x) run_block(block);
}

struct Reader { // parameters lie one after the other, each aligned to its size
  const char *start;
  size_t offset;
  template <class T> UNWATCHED T next()
  {
    offset = (offset + alignof(T) - 1) / alignof(T) * alignof(T);
    T value;
    memcpy(&value, start + offset, sizeof value);
    offset += sizeof value;
    return value;
  }
};

/* All lanes of the warp give a value and take that of lane `from`. */
template <class T> UNWATCHED T shuffle(int line, unsigned mask, T value, size_t from)
{
  const size_t lane = current;
  if (mask != 0xffffffffu) complain("%s: a shuffle of line %d is without some lanes", name, line);
  memcpy(&exchanged[lane], &value, sizeof value);
  wait(AT_SHUFFLE, line);
  T other;
  memcpy(&other, &exchanged[from], sizeof other);
  wait(AT_SHUFFLE, -line);
  return other;
}
}  // namespace host

/* Copies that go on by themselves touch memory from when they begin until the thread waits for them; then they are done.
 * A thread that ends without waiting is an error: nobody could read what it copied.
 */
namespace host {
enum { LATER = 512 };
struct Copy { char *to; const char *from; int bytes; };
static Copy later[MOST][LATER];
static UNWATCHED void copy_touches(const Copy &copy)
{
  touched((uintptr_t)copy.from, copy.bytes, READ);
  touched((uintptr_t)copy.to, copy.bytes, WRITE);
}
}  // namespace host
template <int bytes> UNWATCHED void antune_copy(void *to, const void *from)
{
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
  const host::Copy copy = {(char *)to, (const char *)from, bytes};
  if (((uintptr_t)to | (uintptr_t)from) % bytes || host::begun[host::current] == host::LATER)
    host::complain("%s: a copy of %d bytes is not aligned, or one too many", host::name, bytes);
  else
    host::later[host::current][host::begun[host::current]++] = copy, host::copy_touches(copy);
}
static UNWATCHED void antune_wait_copies()
{
  for (size_t k = 0; k < host::begun[host::current]; ++k) {
    const host::Copy &copy = host::later[host::current][k];
    host::copy_touches(copy);
    for (int byte = 0; byte < copy.bytes; ++byte) ((volatile char *)copy.to)[byte] = copy.from[byte];
  }
  host::begun[host::current] = 0;
}

#define __syncthreads() host::wait(host::AT_BARRIER, __LINE__)
#define __syncwarp() host::wait(host::AT_WARP, __LINE__)
#define __trap() (double_fail(719), (void)0)
#define __shfl_xor(value, lanes) __shfl_xor_sync(0xffffffffu, value, lanes)
#define __shfl_xor_sync(mask, value, lanes) host::shuffle(__LINE__, mask, value, host::current ^ (lanes))
#define __shfl(value, lane, width) __shfl_sync(0xffffffffu, value, lane)
#define __shfl_sync(mask, value, lane) host::shuffle(__LINE__, mask, value, host::current / host::WARP * host::WARP + (lane) % host::WARP)

template <class T> UNWATCHED T atomicCAS(T *place, T expected, T wanted)
{
  host::touched((uintptr_t)place, sizeof(T), host::ATOMIC);
  const T seen = *place;
  if (seen == expected) *place = wanted;
  return seen;
}

/* All threads are fibers of one: nothing comes between the read and the write. */
#define HOST_UPDATE(name, changed) \
  template <class T> UNWATCHED T name(T *place, T value) \
  { \
    host::touched((uintptr_t)place, sizeof(T), host::ATOMIC); \
    const T old = *place; \
    *place = changed; \
    return old; \
  }
HOST_UPDATE(atomicAdd, old + value)
HOST_UPDATE(atomicMin, value < old ? value : old)
HOST_UPDATE(atomicMax, old < value ? value : old)
HOST_UPDATE(atomicExch, value)
