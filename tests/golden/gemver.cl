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

// S0, S1, S2: A[i][j] = (A[i][j] + (u1[i] * v1[j])) + (u2[i] * v2[j]);  x[i] = x[i] + ((beta * A[j][i]) * y[j]);  x[i] = x[i] + z[i];
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel0(__global double *restrict A, __global const double *restrict u1, __global const double *restrict u2, __global const double *restrict v1, __global const double *restrict v2, __global double *restrict x, __global const double *restrict y, __global const double *restrict z, const double beta)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local double u1_shared[32];
  __local double u2_shared[32];
  __local double v1_shared[32];
  __local double v2_shared[32];
  __local double y_shared[32];
  __local double z_shared[32];
  for (int i_tile = 0; i_tile <= 2; ++i_tile) { // tile of i
    // all threads fill u1_shared (32 elements of u1)
    if (32 * i_tile + t0 < 67) {
      u1_shared[t0] = u1[32 * i_tile + t0];
    }
    // all threads fill u2_shared (32 elements of u2)
    if (32 * i_tile + t0 < 67) {
      u2_shared[t0] = u2[32 * i_tile + t0];
    }
    // all threads fill v1_shared (32 elements of v1)
    if (32 * b0 + t0 < 67) {
      v1_shared[t0] = v1[32 * b0 + t0];
    }
    // all threads fill v2_shared (32 elements of v2)
    if (32 * b0 + t0 < 67) {
      v2_shared[t0] = v2[32 * b0 + t0];
    }
    // all threads fill y_shared (32 elements of y)
    if (32 * i_tile + t0 < 67) {
      y_shared[t0] = y[32 * i_tile + t0];
    }
    // all threads fill z_shared (32 elements of z)
    if (32 * b0 + t0 < 67) {
      z_shared[t0] = z[32 * b0 + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 66) {
      for (int i = 32 * i_tile; i <= min(66, 32 * i_tile + 31); ++i) {
        A[i * 67 + 32 * b0 + t0] = A[i * 67 + 32 * b0 + t0] + u1_shared[i - 32 * i_tile] * v1_shared[t0] + u2_shared[i - 32 * i_tile] * v2_shared[t0];
        x[32 * b0 + t0] = x[32 * b0 + t0] + beta * A[i * 67 + 32 * b0 + t0] * y_shared[i - 32 * i_tile];
      }
      if (i_tile == 2) {
        x[32 * b0 + t0] = x[32 * b0 + t0] + z_shared[t0];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// S3: w[i] = w[i] + ((alpha * A[i][j]) * x[j]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel1(__global const double *restrict A, __global double *restrict w, __global const double *restrict x, const double alpha)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local double A_shared[32][32];
  __local double x_shared[32];
  for (int j_tile = 0; j_tile <= 2; ++j_tile) { // tile of j
    for (int e0 = 0; e0 < 32; ++e0) { // all threads fill A_shared (32 x 32 elements of A)
      if (32 * b0 + e0 < 67 && 32 * j_tile + t0 < 67) {
        A_shared[e0][t0] = A[(32 * b0 + e0) * 67 + 32 * j_tile + t0];
      }
    }
    // all threads fill x_shared (32 elements of x)
    if (32 * j_tile + t0 < 67) {
      x_shared[t0] = x[32 * j_tile + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 66) {
      for (int j = 32 * j_tile; j <= min(66, 32 * j_tile + 31); ++j) {
        w[32 * b0 + t0] = w[32 * b0 + t0] + alpha * A_shared[t0][j - 32 * j_tile] * x_shared[j - 32 * j_tile];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
