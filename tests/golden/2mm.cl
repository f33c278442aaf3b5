// host: kernel0() on 2 x 2 blocks
// host: kernel1() on 3 x 2 blocks
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

// S0, S1: tmp[i][j] = 0.0;  tmp[i][j] += (alpha * A[i][k]) * B[k][j];
__kernel __attribute__((reqd_work_group_size(16, 32, 1)))
void kernel0(__global const double *restrict A, __global const double *restrict B, __global double *restrict tmp, const double alpha)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local double A_shared[32][32];
  __local double B_shared[32][32];
  for (int k_tile = 0; k_tile <= 1; ++k_tile) { // tile of k
    // all threads fill A_shared (32 x 32 elements of A)
    for (int e1 = t1; e1 < 32; e1 += 16) {
      if (32 * b0 + t0 < 37 && 32 * k_tile + e1 < 41) {
        A_shared[t0][e1] = A[(32 * b0 + t0) * 41 + 32 * k_tile + e1];
      }
    }
    // all threads fill B_shared (32 x 32 elements of B)
    for (int e1 = t1; e1 < 32; e1 += 16) {
      if (32 * k_tile + t0 < 41 && 32 * b1 + e1 < 53) {
        B_shared[t0][e1] = B[(32 * k_tile + t0) * 53 + 32 * b1 + e1];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 36) {
      for (int j_point = 0; j_point <= min(1, 3 - 2 * b1 - (t1 + 11) / 16); ++j_point) { // points of this thread along j
        if (k_tile == 0) {
          tmp[(32 * b0 + t0) * 53 + 32 * b1 + t1 + 16 * j_point] = 0.0;
        }
        for (int k = 32 * k_tile; k <= min(40, 32 * k_tile + 31); ++k) {
          tmp[(32 * b0 + t0) * 53 + 32 * b1 + t1 + 16 * j_point] += alpha * A_shared[t0][k - 32 * k_tile] * B_shared[k - 32 * k_tile][t1 + 16 * j_point];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// S2, S3: D[i][j] *= beta;  D[i][j] += tmp[i][k] * C[k][j];
__kernel __attribute__((reqd_work_group_size(16, 32, 1)))
void kernel1(__global const double *restrict C, __global double *restrict D, __global const double *restrict tmp, const double beta)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local double C_shared[32][32];
  __local double tmp_shared[32][32];
  for (int k_tile = 0; k_tile <= 1; ++k_tile) { // tile of k
    // all threads fill C_shared (32 x 32 elements of C)
    for (int e1 = t1; e1 < 32; e1 += 16) {
      if (32 * k_tile + t0 < 53 && 32 * b1 + e1 < 67) {
        C_shared[t0][e1] = C[(32 * k_tile + t0) * 67 + 32 * b1 + e1];
      }
    }
    // all threads fill tmp_shared (32 x 32 elements of tmp)
    for (int e1 = t1; e1 < 32; e1 += 16) {
      if (32 * b0 + t0 < 37 && 32 * k_tile + e1 < 53) {
        tmp_shared[t0][e1] = tmp[(32 * b0 + t0) * 53 + 32 * k_tile + e1];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 36) {
      for (int j_point = 0; j_point <= min(1, 4 - 2 * b1 - (t1 + 13) / 16); ++j_point) { // points of this thread along j
        if (k_tile == 0) {
          D[(32 * b0 + t0) * 67 + 32 * b1 + t1 + 16 * j_point] *= beta;
        }
        for (int k = 32 * k_tile; k <= min(52, 32 * k_tile + 31); ++k) {
          D[(32 * b0 + t0) * 67 + 32 * b1 + t1 + 16 * j_point] += tmp_shared[t0][k - 32 * k_tile] * C_shared[k - 32 * k_tile][t1 + 16 * j_point];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
