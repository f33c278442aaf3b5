#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#define antune_store(element, value) __builtin_nontemporal_store(value, &(element))
#endif
#endif
#ifndef antune_store
#define antune_store(element, value) (element) = (value)
#endif
// Compilers for CPUs do not vectorize loops around calls of the built-in functions.
#ifdef POCL_DEVICE_ADDRESS_BITS
static inline __attribute__((overloadable)) int antune_min(int a, int b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) uint antune_min(uint a, uint b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) long antune_min(long a, long b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) ulong antune_min(ulong a, ulong b) { return a < b ? a : b; }
static inline __attribute__((overloadable)) int antune_max(int a, int b) { return a > b ? a : b; }
static inline __attribute__((overloadable)) uint antune_max(uint a, uint b) { return a > b ? a : b; }
static inline __attribute__((overloadable)) long antune_max(long a, long b) { return a > b ? a : b; }
static inline __attribute__((overloadable)) ulong antune_max(ulong a, ulong b) { return a > b ? a : b; }
#undef min
#define min antune_min
#undef max
#define max antune_max
#endif

// S0: B[i][j] = 0.2 * ((((A[i][j] + A[i][j - 1]) + A[i][1 + j]) + A[1 + i][j]) + A[i - 1][j]);
__kernel __attribute__((reqd_work_group_size(32, 2, 1)))
void kernel0(__global const double *restrict A, __global double *restrict B, const int t)
{
  const int b0 = get_group_id(1);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  for (int i_point = 0; i_point <= min(3, 193 - 4 * b0); ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 12 - (t1 + 28) / 32; ++j_point) { // points of this thread along j
      antune_store(B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1], 0.2 * (A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1] + A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point] + A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 2] + A[(8 * b0 + t0 + 2 * i_point + 2) * 390 + t1 + 32 * j_point + 1] + A[(8 * b0 + t0 + 2 * i_point) * 390 + t1 + 32 * j_point + 1]));
    }
  }
}

// S1: A[i][j] = 0.2 * ((((B[i][j] + B[i][j - 1]) + B[i][1 + j]) + B[1 + i][j]) + B[i - 1][j]);
__kernel __attribute__((reqd_work_group_size(32, 2, 1)))
void kernel1(__global double *restrict A, __global const double *restrict B, const int t)
{
  const int b0 = get_group_id(1);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  for (int i_point = 0; i_point <= min(3, 193 - 4 * b0); ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 12 - (t1 + 28) / 32; ++j_point) { // points of this thread along j
      antune_store(A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1], 0.2 * (B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1] + B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point] + B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 2] + B[(8 * b0 + t0 + 2 * i_point + 2) * 390 + t1 + 32 * j_point + 1] + B[(8 * b0 + t0 + 2 * i_point) * 390 + t1 + 32 * j_point + 1]));
    }
  }
}
