// host: kernel0() on 2 blocks
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

// S1, S2: tmp[i] = 0.0;  tmp[i] = tmp[i] + (A[i][j] * x[j]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel0(__global const double *restrict A, __global double *restrict tmp, __global const double *restrict x)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local double A_shared[32][32];
  __local double x_shared[32];
  for (int j_tile = 0; j_tile <= 2; ++j_tile) { // tile of j
    for (int e0 = 0; e0 < 32; ++e0) { // all threads fill A_shared (32 x 32 elements of A)
      if (32 * b0 + e0 < 61 && 32 * j_tile + t0 < 83) {
        A_shared[e0][t0] = A[(32 * b0 + e0) * 83 + 32 * j_tile + t0];
      }
    }
    // all threads fill x_shared (32 elements of x)
    if (32 * j_tile + t0 < 83) {
      x_shared[t0] = x[32 * j_tile + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 60 && j_tile == 0) {
      tmp[32 * b0 + t0] = 0.0;
    }
    if (32 * b0 + t0 <= 60) {
      for (int j = 32 * j_tile; j <= min(82, 32 * j_tile + 31); ++j) {
        tmp[32 * b0 + t0] = tmp[32 * b0 + t0] + A_shared[t0][j - 32 * j_tile] * x_shared[j - 32 * j_tile];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// S0, S3: y[i] = 0;  y[j] = y[j] + (A[i][j] * tmp[i]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel1(__global const double *restrict A, __global const double *restrict tmp, __global double *restrict y)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local double tmp_shared[32];
  for (int i_tile = 0; i_tile <= 1; ++i_tile) { // tile of i
    // all threads fill tmp_shared (32 elements of tmp)
    if (32 * i_tile + t0 < 61) {
      tmp_shared[t0] = tmp[32 * i_tile + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 82 && i_tile == 0) {
      y[32 * b0 + t0] = 0;
    }
    if (32 * b0 + t0 <= 82) {
      for (int i = 32 * i_tile; i <= min(60, 32 * i_tile + 31); ++i) {
        y[32 * b0 + t0] = y[32 * b0 + t0] + A[i * 83 + 32 * b0 + t0] * tmp_shared[i - 32 * i_tile];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
