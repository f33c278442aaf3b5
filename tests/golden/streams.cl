#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store) && (defined(__AVX__) || !defined(__SSE2__))
#define antune_streams
#endif
#endif
// Whole cache lines go past the caches.
static inline void antune_stream_double(__global double *to, const __private double *from, int count)
{
  int k = 0;
#ifdef antune_streams
  for (; k < count && ((size_t)(to + k) & 63) != 0; ++k) to[k] = from[k];
  for (; k + 8 <= count; k += 8) {
    __builtin_nontemporal_store(vload4(0, from + k + 0), (__global double4 *)(to + k + 0));
    __builtin_nontemporal_store(vload4(0, from + k + 4), (__global double4 *)(to + k + 4));
  }
#endif
  for (; k < count; ++k) to[k] = from[k];
}
// Compilers for CPUs do not vectorize loops around calls of the built-in functions.
#ifdef __clang__
static inline __attribute__((overloadable)) int antune_min(int a, int b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) uint antune_min(uint a, uint b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) long antune_min(long a, long b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) ulong antune_min(ulong a, ulong b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) int antune_max(int a, int b) { return a > b ? a : b; }
static inline __attribute__((overloadable)) uint antune_max(uint a, uint b) { return a > b ? a : b; }
static inline __attribute__((overloadable)) long antune_max(long a, long b) { return a > b ? a : b; }
static inline __attribute__((overloadable)) ulong antune_max(ulong a, ulong b) { return a > b ? a : b; }
#else
#define antune_min min
#define antune_max max
#endif
#ifdef POCL_DEVICE_ADDRESS_BITS
#undef min
#define min antune_min
#undef max
#define max antune_max
#endif

// S0: B[i][j] = 0.2 * ((((A[i][j] + A[i][j - 1]) + A[i][1 + j]) + A[1 + i][j]) + A[i - 1][j]);
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel0(__global const double *restrict A, __global double *restrict B, const int t)
{
  const int b0 = get_group_id(1);
  for (int i_point = 0; i_point <= antune_min(7, 387 - 8 * b0); ++i_point) { // points of this thread along i
    double B_row[388];
    for (int j_point = 0; j_point <= 387; ++j_point) { // points of this thread along j
      B_row[j_point] = 0.2 * (A[(8 * b0 + i_point + 1) * 390 + j_point + 1] + A[(8 * b0 + i_point + 1) * 390 + j_point] + A[(8 * b0 + i_point + 1) * 390 + j_point + 2] + A[(8 * b0 + i_point + 2) * 390 + j_point + 1] + A[(8 * b0 + i_point) * 390 + j_point + 1]);
    }
    antune_stream_double(&B[(8 * b0 + i_point + 1) * 390 + 1], &B_row[0], 388);
  }
}

// S1: A[i][j] = 0.2 * ((((B[i][j] + B[i][j - 1]) + B[i][1 + j]) + B[1 + i][j]) + B[i - 1][j]);
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel1(__global double *restrict A, __global const double *restrict B, const int t)
{
  const int b0 = get_group_id(1);
  for (int i_point = 0; i_point <= antune_min(7, 387 - 8 * b0); ++i_point) { // points of this thread along i
    double A_row[388];
    for (int j_point = 0; j_point <= 387; ++j_point) { // points of this thread along j
      A_row[j_point] = 0.2 * (B[(8 * b0 + i_point + 1) * 390 + j_point + 1] + B[(8 * b0 + i_point + 1) * 390 + j_point] + B[(8 * b0 + i_point + 1) * 390 + j_point + 2] + B[(8 * b0 + i_point + 2) * 390 + j_point + 1] + B[(8 * b0 + i_point) * 390 + j_point + 1]);
    }
    antune_stream_double(&A[(8 * b0 + i_point + 1) * 390 + 1], &A_row[0], 388);
  }
}
