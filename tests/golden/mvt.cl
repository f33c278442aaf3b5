// host: kernel0() on 3 blocks
// host: kernel1() on 3 blocks
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
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

// S1: x2[i] = x2[i] + (A[j][i] * y_2[j]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel0(__global const double *restrict A, __global double *restrict x2, __global const double *restrict y_2)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local double y_2_shared[32];
  for (int j_tile = 0; j_tile <= 2; ++j_tile) { // tile of j
    // all threads fill y_2_shared (32 elements of y_2)
    if (32 * j_tile + t0 < 67) {
      y_2_shared[t0] = y_2[32 * j_tile + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 66) {
      for (int j = 32 * j_tile; j <= min(66, 32 * j_tile + 31); ++j) {
        x2[32 * b0 + t0] = x2[32 * b0 + t0] + A[j * 67 + 32 * b0 + t0] * y_2_shared[j - 32 * j_tile];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// S0: x1[i] = x1[i] + (A[i][j] * y_1[j]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel1(__global const double *restrict A, __global double *restrict x1, __global const double *restrict y_1)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local double A_shared[32][32];
  __local double y_1_shared[32];
  for (int j_tile = 0; j_tile <= 2; ++j_tile) { // tile of j
    for (int e0 = 0; e0 < 32; ++e0) { // all threads fill A_shared (32 x 32 elements of A)
      if (32 * b0 + e0 < 67 && 32 * j_tile + t0 < 67) {
        A_shared[e0][t0] = A[(32 * b0 + e0) * 67 + 32 * j_tile + t0];
      }
    }
    // all threads fill y_1_shared (32 elements of y_1)
    if (32 * j_tile + t0 < 67) {
      y_1_shared[t0] = y_1[32 * j_tile + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 66) {
      for (int j = 32 * j_tile; j <= min(66, 32 * j_tile + 31); ++j) {
        x1[32 * b0 + t0] = x1[32 * b0 + t0] + A_shared[t0][j - 32 * j_tile] * y_1_shared[j - 32 * j_tile];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
