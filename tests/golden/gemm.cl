// host: kernel0() on 3 x 2 blocks
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

// S0, S1: C[i][j] *= beta;  C[i][j] += (alpha * A[i][k]) * B[k][j];
__kernel __attribute__((reqd_work_group_size(16, 32, 1)))
void kernel0(__global const double *restrict A, __global const double *restrict B, __global double *restrict C, const double alpha, const double beta)
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
      if (32 * b0 + t0 < 45 && 32 * k_tile + e1 < 53) {
        A_shared[t0][e1] = A[(32 * b0 + t0) * 53 + 32 * k_tile + e1];
      }
    }
    // all threads fill B_shared (32 x 32 elements of B)
    for (int e1 = t1; e1 < 32; e1 += 16) {
      if (32 * k_tile + t0 < 53 && 32 * b1 + e1 < 71) {
        B_shared[t0][e1] = B[(32 * k_tile + t0) * 71 + 32 * b1 + e1];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 44) {
      for (int j_point = 0; j_point <= min(1, 4 - 2 * b1 - (t1 + 9) / 16); ++j_point) { // points of this thread along j
        if (k_tile == 0) {
          C[(32 * b0 + t0) * 71 + 32 * b1 + t1 + 16 * j_point] *= beta;
        }
        for (int k = 32 * k_tile; k <= min(52, 32 * k_tile + 31); ++k) {
          C[(32 * b0 + t0) * 71 + 32 * b1 + t1 + 16 * j_point] += alpha * A_shared[t0][k - 32 * k_tile] * B_shared[k - 32 * k_tile][t1 + 16 * j_point];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
