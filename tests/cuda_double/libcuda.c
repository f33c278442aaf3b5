/* A double of NVIDIA's driver: the functions of libcuda.so.1 that antune calls, on the host's memory.
 *
 * What is real: the bindings that load it, every argument they pass (structures as cuda.h lays them out), the order of
 * calls, and the kernels, which run on the host. What is pretended: the device, its limits, its speed. It refuses what
 * the real one refuses: addresses that it did not give out, misaligned textures, blocks and shared memory over the
 * limits, and every call after a kernel has failed ("sticky" errors).
 *
 * An image that can be loaded is the text "HOST:", the size of a shared library in 8 hexadecimal digits, and the
 * library, in which the kernel k is the function host_k(grid, block, shared bytes, arguments). $CUDA_DOUBLE_LOG names a
 * file for one line per call. Work is done at once, or with $CUDA_DOUBLE_LATE as late as may be (late.h).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_CONTEXT = 201, INVALID_IMAGE = 200, NOT_FOUND = 500, CAPTURES = 906 };
enum { PIECES = 4096, OPTIN = 232448, STATIC = 49152, MEMORY = 1 << 30, TEXTURE_ALIGNMENT = 512, PITCH_ALIGNMENT = 32, DEVICES = 16,
       DEPTH = 16 };

typedef struct { char *start; size_t size; } Piece;
typedef void (*Body)(const unsigned *grid, const unsigned *block, unsigned shared, const char *arguments);
typedef struct { Body body; int dynamic, carveout; char name[64]; void *context; } Function;
typedef struct { uint64_t when; } Event; /* ns */
typedef struct Node Node; /* a launch, a copy, or the record of an event */
struct Node {
  Function *function;
  unsigned grid[3], block[3], shared;
  char *arguments;
  size_t size;
  Event *event;
  char *to;
  const char *from;
  Node *next;
};
typedef struct { Node *first, **end; } Graph;
typedef struct Stream Stream; /* graph: while work is recorded; late, apart: see late.h */
struct Stream { Graph *graph, late; int apart; Stream *next; };

typedef struct { /* CUDA_RESOURCE_DESC */
  int kind;
  union {
    struct { uint64_t address; int channel; unsigned channels; size_t bytes; } linear;
    struct { uint64_t address; int channel; unsigned channels; size_t width, height, pitch; } pitch2D;
    int reserved[32];
  } of;
  unsigned flags;
} Resource;
typedef struct { /* CUDA_TEXTURE_DESC */
  int modes[3], filter;
  unsigned flags, anisotropy;
  int mipmap_filter;
  float bias, low, high, border[4];
  int reserved[12];
} Reading;
typedef struct { const char *texels; size_t pitch; } Texture; /* what a kernel on the host reads */

static Piece pieces[PIECES];
static int piece_count, sticky, recording;
static char primaries[DEVICES];
static __thread void *current[DEPTH]; /* the contexts of a thread */
static __thread int depth;
static size_t used;

static void note(const char *format, ...)
{
  const char *path = getenv("CUDA_DOUBLE_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fputc('\n', file);
  fclose(file);
}

/* Called by kernels: from now on every call fails. */
void double_fail(int status) { sticky = status; }

/* Called by kernels: a line for the log. */
void double_note(const char *text) { note("%s", text); }

/* The time in ns. With $CUDA_DOUBLE_CLOCK it is pretended: queueing takes the host 1 ms a call, every kernel 1 us. */
static uint64_t pretended_ns;
static int pretends(void) { return getenv("CUDA_DOUBLE_CLOCK") != NULL; }
static void host_works(void) { pretended_ns += 1000000; }
static uint64_t now(void)
{
  struct timespec real;
  clock_gettime(CLOCK_MONOTONIC, &real);
  return pretends() ? pretended_ns : real.tv_sec * (uint64_t)1000000000 + real.tv_nsec;
}

static void *context_now(void) { return depth ? current[depth - 1] : NULL; }
static int state(void) { return sticky ? sticky : context_now() ? OK : NO_CONTEXT; }

static int inside(uint64_t address, size_t size)
{
  for (int i = 0; i < piece_count; ++i) {
    const uint64_t start = (uint64_t)pieces[i].start;
    if (address >= start && address + size <= start + pieces[i].size) return 1;
  }
  return 0;
}

#include "late.h"

static int copied(char *to, const char *from, size_t size, int known)
{
  if (state()) return state();
  if (!known) return INVALID_VALUE;
  if (recording) return CAPTURES;
  finish_default();
  memmove(to, from, size);
  return OK;
}

int cuInit(unsigned flags)
{
  Dl_info self;
  if (dladdr((void *)cuInit, &self)) dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL); /* for double_fail */
  return flags ? INVALID_VALUE : OK;
}
int cuDriverGetVersion(int *version)
{
  const char *given = getenv("CUDA_DOUBLE_VERSION");
  *version = given ? atoi(given) : 13050;
  return OK;
}
int cuDeviceGetCount(int *count)
{
  const char *given = getenv("CUDA_DOUBLE_DEVICES");
  *count = given ? atoi(given) : 1;
  return OK;
}
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return OK; }
int cuDeviceGetName(char *name, int size, int device)
{
  (void)device;
  snprintf(name, size, "Host Double");
  return OK;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
  static const int known[][2] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {8, STATIC}, {9, 65536}, {10, 32}, {14, TEXTURE_ALIGNMENT}, {16, 4},
    {38, 1 << 20}, {51, PITCH_ALIGNMENT}, {69, 1 << 28}, {70, 131072}, {71, 65000}, {72, 2097120}, {75, 9}, {76, 0},
    {81, 233472}, {97, OPTIN}};
  (void)device;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i][0] == attribute) { *value = known[i][1]; return OK; }
  return INVALID_VALUE;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = primaries + device; return OK; }
int cuCtxSetCurrent(void *context)
{
  if (!depth) depth = 1;
  current[depth - 1] = context;
  note("context");
  return OK;
}
int cuCtxPushCurrent_v2(void *context)
{
  if (depth == DEPTH) return OUT_OF_MEMORY;
  current[depth++] = context;
  return OK;
}
int cuCtxGetCurrent(void **context) { *context = context_now(); return OK; }
int cuCtxPopCurrent_v2(void **context)
{
  if (!depth) return NO_CONTEXT;
  *context = current[--depth];
  return OK;
}
int cuCtxGetDevice(int *device)
{
  if (!context_now()) return NO_CONTEXT;
  *device = (char *)context_now() - primaries;
  return OK;
}
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return OK; }
int cuCtxSynchronize(void)
{
  if (recording) return CAPTURES;
  finish_all();
  return state();
}

int cuMemAlloc_v2(uint64_t *address, size_t size)
{
  if (state()) return state();
  if (!size) return INVALID_VALUE;
  if (used + size > MEMORY || piece_count == PIECES) return OUT_OF_MEMORY;
  char *start = aligned_alloc(TEXTURE_ALIGNMENT, (size + TEXTURE_ALIGNMENT - 1) / TEXTURE_ALIGNMENT * TEXTURE_ALIGNMENT);
  used += size;
  pieces[piece_count++] = (Piece){start, size};
  *address = (uint64_t)start;
  note("allocate %zu", size);
  return OK;
}
int cuMemFree_v2(uint64_t address)
{
  finish_all();
  for (int i = 0; i < piece_count; ++i)
    if ((uint64_t)pieces[i].start == address) {
      note("free %zu", pieces[i].size);
      used -= pieces[i].size;
      free(pieces[i].start);
      pieces[i] = pieces[--piece_count];
      return state();
    }
  return INVALID_VALUE;
}
int cuPointerGetAttribute(void *found, int attribute, uint64_t address)
{
  if (attribute != 9 || !inside(address, 1)) return INVALID_VALUE; /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */
  *(int *)found = 0;
  return OK;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size)
{
  return copied((char *)to, from, size, inside(to, size) || inside(to, 0));
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) { return copied(to, (char *)from, size, inside(from, size)); }
int cuMemsetD8_v2(uint64_t to, unsigned char byte, size_t size)
{
  if (state() || !inside(to, size)) return state() ? state() : INVALID_VALUE;
  if (recording) return CAPTURES;
  finish_default();
  memset((char *)to, byte, size);
  note("fill %zu", size);
  return OK;
}

int cuTexObjectCreate(uint64_t *object, const Resource *resource, const Reading *reading, const void *view)
{
  if (state()) return state();
  const uint64_t address = resource->of.linear.address; /* first in both */
  const int pitched = resource->kind == 3;
  if (view || (!pitched && resource->kind != 2) || address % TEXTURE_ALIGNMENT || !inside(address, 1)) return INVALID_VALUE;
  if (pitched && resource->of.pitch2D.pitch % PITCH_ALIGNMENT) return INVALID_VALUE;
  if (reading->filter || reading->flags != 1 || reading->modes[0] != 1) return INVALID_VALUE;
  Texture *made = malloc(sizeof *made);
  *made = (Texture){(const char *)address, pitched ? resource->of.pitch2D.pitch : 0};
  *object = (uint64_t)made;
  if (pitched)
    note("texture channel %d x %u, %zu x %zu, pitch %zu", resource->of.pitch2D.channel, resource->of.pitch2D.channels,
         resource->of.pitch2D.width, resource->of.pitch2D.height, resource->of.pitch2D.pitch);
  else
    note("texture channel %d x %u, %zu bytes", resource->of.linear.channel, resource->of.linear.channels,
         resource->of.linear.bytes);
  return OK;
}

int cuTexObjectDestroy(uint64_t object)
{
  finish_used("texture");
  note("no texture");
  free((Texture *)object);
  return OK;
}

int cuModuleLoadData(void **module, const void *image)
{
  if (state()) return state();
  char digits[9] = "", place[] = "/tmp/host-kernels-XXXXXX";
  if (strncmp(image, "HOST:", 5)) return INVALID_IMAGE;
  memcpy(digits, (const char *)image + 5, 8);
  const size_t size = strtoul(digits, NULL, 16);
  const int file = mkstemp(place);
  *module = NULL;
  if (file >= 0 && write(file, (const char *)image + 13, size) == (ssize_t)size) *module = dlopen(place, RTLD_NOW | RTLD_LOCAL);
  if (file >= 0) close(file), unlink(place); /* what is loaded stays */
  note("load");
  return *module ? OK : INVALID_IMAGE;
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
  (void)count, (void)options, (void)values;
  return cuModuleLoadData(module, image);
}
int cuModuleUnload(void *module)
{
  finish_used("module");
  note("unload");
  dlclose(module);
  return state();
}
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name)
{
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  void *found = dlsym(module, name);
  if (!found || !dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return NOT_FOUND;
  *address = (uint64_t)found;
  *size = symbol->st_size;
  if (piece_count < PIECES) pieces[piece_count++] = (Piece){found, *size};
  note("symbol %s %zu", name, *size);
  return OK;
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
  char called[80];
  snprintf(called, sizeof called, "host_%s", name);
  Function *made = calloc(1, sizeof *made);
  made->body = (Body)dlsym(module, called);
  made->carveout = -1;
  made->context = context_now();
  snprintf(made->name, sizeof made->name, "%s", name);
  *function = made;
  return made->body ? OK : NOT_FOUND;
}
int cuFuncGetAttribute(int *value, int attribute, Function *function)
{
  static const int known[][2] = {{0, 1024}, {1, 96}, {3, 16}, {4, 40}};
  (void)function;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i][0] == attribute) { *value = known[i][1]; return OK; }
  return INVALID_VALUE;
}
int cuFuncSetAttribute(Function *function, int attribute, int value)
{
  note("set %s %d = %d", function->name, attribute, value);
  if (attribute == 8) function->dynamic = value;
  return (attribute == 8 && value > OPTIN) || (attribute == 9 && value > 100) ? INVALID_VALUE : state();
}
int cuFuncSetCacheConfig(Function *function, int config) { note("cache %s %d", function->name, config); return state(); }

static void done(Node *node)
{
  if (node->to) {
    memmove(node->to, node->from, node->size);
    return;
  }
  if (!node->function) {
    node->event->when = now();
    note("record");
    return;
  }
  const unsigned *grid = node->grid, *block = node->block;
  note("launch %s grid %u %u %u block %u %u %u shared %u, %zu bytes", node->function->name, grid[0], grid[1], grid[2],
       block[0], block[1], block[2], node->shared, node->size);
  node->function->body(node->grid, node->block, node->shared, node->arguments);
  pretended_ns += 1000;
}
static int queued(Stream *stream, Node work)
{
  if (state()) return state();
  if (recording && !(stream && stream->graph)) return CAPTURES;
  if (!work.to) host_works();
  if (stream && stream->graph) {
    Node *kept = malloc(sizeof *kept);
    *kept = work;
    *stream->graph->end = kept;
    stream->graph->end = &kept->next;
    return OK;
  }
  if (late()) {
    wait_late(stream ? stream : &standard, work);
    return OK;
  }
  done(&work);
  free(work.arguments);
  return OK;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, Stream *stream)
{
  if (state() || !inside(to, size) || !inside(from, size)) return state() ? state() : INVALID_VALUE;
  return queued(stream, (Node){.to = (char *)to, .from = (char *)from, .size = size});
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t size) { return cuMemcpyDtoDAsync_v2(to, from, size, NULL); }

int cuGraphExecDestroy(Graph *graph);
int cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Stream *stream, void **parameters, void **extra)
{
  if (state()) return state();
  if (parameters || !extra || (uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || extra[4]) return INVALID_VALUE;
  if (!gx || !gy || !gz || gy > 65535 || gz > 65535 || (size_t)bx * by * bz > 1024 || bz > 64) return INVALID_VALUE;
  if (shared > STATIC && (int)shared > function->dynamic) return INVALID_VALUE;
  if (function->context != context_now()) return NO_CONTEXT; /* CUDA_ERROR_INVALID_CONTEXT */
  const size_t size = *(size_t *)extra[3];
  Node work = {function, {gx, gy, gz}, {bx, by, bz}, shared, malloc(size + 1), size, NULL, NULL, NULL, NULL};
  memcpy(work.arguments, extra[1], size);
  return queued(stream, work); /* like the real one, which says at the next synchronization what went wrong */
}

int cuEventCreate(Event **event, unsigned flags) { (void)flags; *event = calloc(1, sizeof **event); return state(); }
int cuEventRecord(Event *event, Stream *stream)
{
  return stream && stream->graph ? CAPTURES : queued(stream, (Node){.event = event});
}
int cuEventRecordWithFlags(Event *event, Stream *stream, unsigned flags)
{
  return flags == 1 && stream && stream->graph ? queued(stream, (Node){.event = event}) : INVALID_VALUE;
}
int cuEventDestroy_v2(Event *event) { free(event); return OK; }
int cuEventSynchronize(Event *event) { (void)event; finish_all(); return state(); }
int cuEventElapsedTime(float *ms, Event *start, Event *stop)
{
  *ms = (stop->when - start->when) * 1e-6f;
  return recording ? CAPTURES : start->when && stop->when ? state() : INVALID_VALUE;
}
int cuEventElapsedTime_v2(float *ms, Event *start, Event *stop) { return cuEventElapsedTime(ms, start, stop); }

int cuStreamCreate(Stream **stream, unsigned flags)
{
  *stream = calloc(1, sizeof **stream);
  (*stream)->apart = flags == 1; /* CU_STREAM_NON_BLOCKING */
  (*stream)->next = streams;
  streams = *stream;
  return flags > 1 ? INVALID_VALUE : state();
}
int cuStreamDestroy_v2(Stream *stream)
{
  finish(stream);
  for (Stream **at = &streams; *at; at = &(*at)->next)
    if (*at == stream) {
      *at = stream->next;
      break;
    }
  free(stream);
  return OK;
}
int cuStreamSynchronize(Stream *stream)
{
  if (stream && stream->graph) return CAPTURES;
  finish(stream ? stream : &standard);
  return state();
}
int cuStreamBeginCapture_v2(Stream *stream, int mode)
{
  if (!stream || stream->graph || mode != 2) return INVALID_VALUE;
  stream->graph = calloc(1, sizeof *stream->graph);
  stream->graph->end = &stream->graph->first;
  recording = 1;
  return state();
}
int cuStreamEndCapture(Stream *stream, Graph **graph)
{
  if (!stream->graph) return INVALID_VALUE;
  *graph = stream->graph;
  stream->graph = NULL;
  recording = 0;
  return state();
}
int cuGraphInstantiateWithFlags(Graph **launchable, Graph *graph, unsigned long long flags)
{
  *launchable = malloc(sizeof **launchable);
  **launchable = *graph;
  graph->first = NULL; /* no graph is instantiated twice */
  note("graph");
  return flags ? INVALID_VALUE : state();
}
int cuGraphDestroy(Graph *graph) { return cuGraphExecDestroy(graph); }
int cuGraphLaunch(Graph *launchable, Stream *stream)
{
  if (state() || recording || !stream) return state() ? state() : INVALID_VALUE;
  host_works();
  finish_all();
  note("graph launched");
  for (Node *node = launchable->first; node; node = node->next) done(node);
  return OK;
}
int cuGraphExecDestroy(Graph *graph)
{
  for (Node *node = graph->first, *next; node; node = next) {
    next = node->next;
    free(node->arguments);
    free(node);
  }
  free(graph);
  return OK;
}

#include "refused.h"

int cuGetErrorName(int status, const char **text) { *text = status ? "CUDA_ERROR_DOUBLE" : "CUDA_SUCCESS"; return OK; }
int cuGetErrorString(int status, const char **text)
{
  static char words[64];
  snprintf(words, sizeof words, "status %d of the double", status);
  *text = words;
  return OK;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found)
{
  char newer[128];
  (void)version, (void)flags;
  snprintf(newer, sizeof newer, "%s_v2", name);
  *function = dlsym(RTLD_DEFAULT, newer);
  if (!*function) *function = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  if (*function && dladdr(*function, &info) && !strstr(info.dli_fname, "libcuda")) *function = NULL;
  if (found) *found = *function ? 0 : 1;
  return *function ? OK : NOT_FOUND;
}
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
