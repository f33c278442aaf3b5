// host: for (t = 0; t <= 4; t += 1)
// host:   kernel0(t) on 2 x 2 blocks
// host:   kernel1(t) on 2 x 2 blocks
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

// S0: B[i][j] = 0.2 * ((((A[i][j] + A[i][j - 1]) + A[i][1 + j]) + A[1 + i][j]) + A[i - 1][j]);
__kernel __attribute__((reqd_work_group_size(16, 32, 1)))
void kernel0(__global const double *restrict A, __global double *restrict B, const int t)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local double A_shared[34][34];
  for (int e0 = t0; e0 < 34; e0 += 32) { // all threads fill A_shared (34 x 34 elements of A)
    for (int e1 = t1; e1 < 34; e1 += 16) {
      if (32 * b0 + e0 < 39 && 32 * b1 + e1 < 39) {
        A_shared[e0][e1] = A[(32 * b0 + e0) * 39 + 32 * b1 + e1];
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (32 * b0 + t0 <= 36) {
    for (int j_point = 0; j_point <= min(1, 2 - 2 * b1 - (t1 + 11) / 16); ++j_point) { // points of this thread along j
      B[(32 * b0 + t0 + 1) * 39 + 32 * b1 + t1 + 16 * j_point + 1] = 0.2 * (A_shared[t0 + 1][t1 + 16 * j_point + 1] + A_shared[t0 + 1][t1 + 16 * j_point] + A_shared[t0 + 1][t1 + 16 * j_point + 2] + A_shared[t0 + 2][t1 + 16 * j_point + 1] + A_shared[t0][t1 + 16 * j_point + 1]);
    }
  }
}

// S1: A[i][j] = 0.2 * ((((B[i][j] + B[i][j - 1]) + B[i][1 + j]) + B[1 + i][j]) + B[i - 1][j]);
__kernel __attribute__((reqd_work_group_size(16, 32, 1)))
void kernel1(__global double *restrict A, __global const double *restrict B, const int t)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local double B_shared[34][34];
  for (int e0 = t0; e0 < 34; e0 += 32) { // all threads fill B_shared (34 x 34 elements of B)
    for (int e1 = t1; e1 < 34; e1 += 16) {
      if (32 * b0 + e0 < 39 && 32 * b1 + e1 < 39) {
        B_shared[e0][e1] = B[(32 * b0 + e0) * 39 + 32 * b1 + e1];
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (32 * b0 + t0 <= 36) {
    for (int j_point = 0; j_point <= min(1, 2 - 2 * b1 - (t1 + 11) / 16); ++j_point) { // points of this thread along j
      A[(32 * b0 + t0 + 1) * 39 + 32 * b1 + t1 + 16 * j_point + 1] = 0.2 * (B_shared[t0 + 1][t1 + 16 * j_point + 1] + B_shared[t0 + 1][t1 + 16 * j_point] + B_shared[t0 + 1][t1 + 16 * j_point + 2] + B_shared[t0 + 2][t1 + 16 * j_point + 1] + B_shared[t0][t1 + 16 * j_point + 1]);
    }
  }
}
