/* A double of AMD's libamdhip64.so: the double of NVIDIA's driver under HIP's names, with HIP's numbers and structures. */
#include "libcuda.c"

typedef struct { char name[256], uuid[16]; size_t memory[2]; int limits[40]; char architecture[256]; } Properties;

int hipInit(unsigned flags)
{
  Dl_info self;
  if (dladdr((void *)hipInit, &self)) dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL); /* for double_fail */
  return flags ? INVALID_VALUE : OK;
}
int hipRuntimeGetVersion(int *version) { *version = 60242134; return OK; }
int hipGetDeviceCount(int *count) { return cuDeviceGetCount(count); }
int hipDeviceGetName(char *name, int size, int device) { return cuDeviceGetName(name, size, device); }
int hipGetDeviceProperties(Properties *properties, int device)
{
  memset(properties, 0, sizeof *properties);
  strcpy(properties->architecture, "gfx1030:xnack-");
  return cuDeviceGetName(properties->name, sizeof properties->name, device);
}
int hipDeviceGetAttribute(int *value, int attribute, int device)
{
  static const int known[][2] = { /* hipDeviceAttribute_t */
    {56, 1024}, {26, 1024}, {27, 1024}, {28, 64}, {74, 65536}, {83, 0x7fffffff}, {87, 64}, {63, 4}, {19, 1 << 20},
    {82, 256}, {41, 1 << 27}, {43, 16384}, {44, 16384}, {10002, 65536}, {10014, 1}};
  (void)device;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i][0] == attribute) { *value = known[i][1]; return OK; }
  return INVALID_VALUE;
}
int hipSetDevice(int device)
{
  int count;
  cuDeviceGetCount(&count);
  return device >= count ? INVALID_VALUE : cuCtxSetCurrent(primaries + device);
}
int hipGetDevice(int *device)
{
  if (cuCtxGetDevice(device)) *device = 0; /* each thread begins with that one */
  return OK;
}
int hipDeviceSynchronize(void) { return cuCtxSynchronize(); }
int hipMalloc(uint64_t *address, size_t size) { return cuMemAlloc_v2(address, size); }
int hipFree(uint64_t address) { return cuMemFree_v2(address); }
int hipPointerGetAttribute(void *found, int attribute, uint64_t address)
{
  return cuPointerGetAttribute(found, attribute, address);
}
int hipTexObjectDestroy(uint64_t object) { return cuTexObjectDestroy(object); }
int hipMemcpyHtoD(uint64_t to, const void *from, size_t size) { return cuMemcpyHtoD_v2(to, from, size); }
int hipMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t size, Stream *stream)
{
  return cuMemcpyDtoDAsync_v2(to, from, size, stream);
}
int hipMemcpyDtoH(void *to, uint64_t from, size_t size) { return cuMemcpyDtoH_v2(to, from, size); }
int hipMemsetD8(uint64_t to, unsigned char byte, size_t size) { return cuMemsetD8_v2(to, byte, size); }
int hipTexObjectCreate(uint64_t *object, const Resource *resource, const Reading *reading, const void *view)
{
  return cuTexObjectCreate(object, resource, reading, view);
}
int hipModuleLoadData(void **module, const void *image) { return cuModuleLoadData(module, image); }
int hipModuleUnload(void *module) { return cuModuleUnload(module); }
int hipModuleGetGlobal(uint64_t *address, size_t *size, void *module, const char *name)
{
  return cuModuleGetGlobal_v2(address, size, module, name);
}
int hipModuleGetFunction(void **function, void *module, const char *name)
{
  return cuModuleGetFunction(function, module, name);
}
int hipFuncGetAttribute(int *value, int attribute, Function *function)
{
  return cuFuncGetAttribute(value, attribute, function);
}
int hipModuleLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, Stream *stream, void **parameters, void **extra)
{
  if (!extra || (uintptr_t)extra[4] != 3 || shared) return INVALID_VALUE;
  void *ended[] = {extra[0], extra[1], extra[2], extra[3], NULL};
  return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, ended);
}
/* As in HIP before 6.4, no event can be recorded in a graph. */
int hipStreamCreate(Stream **stream) { return cuStreamCreate(stream, 0); }
int hipStreamSynchronize(Stream *stream) { return cuStreamSynchronize(stream); }
int hipStreamBeginCapture(Stream *stream, int mode) { return cuStreamBeginCapture_v2(stream, mode); }
int hipStreamEndCapture(Stream *stream, Graph **graph) { return cuStreamEndCapture(stream, graph); }
int hipEventCreateWithFlags(Event **event, unsigned flags) { return cuEventCreate(event, flags); }
int hipEventRecord(Event *event, Stream *stream) { return cuEventRecord(event, stream); }
int hipEventElapsedTime(float *ms, Event *start, Event *stop) { return cuEventElapsedTime(ms, start, stop); }
const char *hipGetErrorString(int status)
{
  const char *text;
  cuGetErrorString(status, &text);
  return text;
}
const char *hiprtcGetErrorString(int status) { return hipGetErrorString(status); }
