// host: kernel0() on 3 blocks
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

// S0, S1, S2, S3, S4: tmp[i] = 0.0;  y[i] = 0.0;  tmp[i] = (A[i][j] * x[j]) + tmp[i];  y[i] = (B[i][j] * x[j]) + y[i];  y[i] = (alpha * tmp[i]) + (beta * y[i]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel0(__global const double *restrict A, __global const double *restrict B, __global double *restrict tmp, __global const double *restrict x, __global double *restrict y, const double alpha, const double beta)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local double A_shared[32][32];
  __local double B_shared[32][32];
  __local double x_shared[32];
  for (int j_tile = 0; j_tile <= 2; ++j_tile) { // tile of j
    for (int e0 = 0; e0 < 32; ++e0) { // all threads fill A_shared (32 x 32 elements of A)
      if (32 * b0 + e0 < 67 && 32 * j_tile + t0 < 67) {
        A_shared[e0][t0] = A[(32 * b0 + e0) * 67 + 32 * j_tile + t0];
      }
    }
    for (int e0 = 0; e0 < 32; ++e0) { // all threads fill B_shared (32 x 32 elements of B)
      if (32 * b0 + e0 < 67 && 32 * j_tile + t0 < 67) {
        B_shared[e0][t0] = B[(32 * b0 + e0) * 67 + 32 * j_tile + t0];
      }
    }
    // all threads fill x_shared (32 elements of x)
    if (32 * j_tile + t0 < 67) {
      x_shared[t0] = x[32 * j_tile + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 66 && j_tile == 0) {
      tmp[32 * b0 + t0] = 0.0;
    }
    if (32 * b0 + t0 <= 66) {
      for (int j = 32 * j_tile; j <= min(66, 32 * j_tile + 31); ++j) {
        tmp[32 * b0 + t0] = A_shared[t0][j - 32 * j_tile] * x_shared[j - 32 * j_tile] + tmp[32 * b0 + t0];
        if (j_tile == 0 && j == 0) {
          y[32 * b0 + t0] = 0.0;
        }
        y[32 * b0 + t0] = B_shared[t0][j - 32 * j_tile] * x_shared[j - 32 * j_tile] + y[32 * b0 + t0];
      }
      if (j_tile == 2) {
        y[32 * b0 + t0] = alpha * tmp[32 * b0 + t0] + beta * y[32 * b0 + t0];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
