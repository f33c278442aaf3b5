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

// S0, S1: C[i][j] *= beta;  C[i][j] += (alpha * A[i][k]) * A[j][k];
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void kernel0(__global const double *restrict A, __global double *restrict C, const double alpha, const double beta)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t1 = get_local_id(0);
  double C_here[4][2];
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 2
    for (int C_1 = 0; C_1 < 2; ++C_1) {
      C_here[C_0][C_1] = 4 * b0 + C_0 <= 40 && 4 * b0 + C_0 >= 16 * b1 + t1 + 8 * C_1 ? C[(4 * b0 + C_0) * 41 + 16 * b1 + t1 + 8 * C_1] : 0;
    }
  }
  if (b0 < 10 && b1 < 2) {
    if (b0 >= 4 * b1) {
      #pragma unroll 4
      for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
        #pragma unroll 2
        for (int j_point = 0; j_point <= 1; ++j_point) { // points of this thread along j
          C_here[i_point][j_point] *= beta;
        }
      }
      #pragma unroll 2
      for (int k = 0; k <= 28; ++k) {
        #pragma unroll 4
        for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
          #pragma unroll 2
          for (int j_point = 0; j_point <= 1; ++j_point) { // points of this thread along j
            C_here[i_point][j_point] += alpha * A[(4 * b0 + i_point) * 29 + k] * A[(16 * b1 + t1 + 8 * j_point) * 29 + k];
          }
        }
      }
    }
  } else {
    if (b0 >= 4 * b1) {
      #pragma unroll 4
      for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
        #pragma unroll 2
        for (int j_point = 0; j_point <= 1; ++j_point) { // points of this thread along j
          C_here[i_point][j_point] *= beta;
        }
      }
      #pragma unroll 2
      for (int k = 0; k <= 28; ++k) {
        #pragma unroll 4
        for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
          #pragma unroll 2
          for (int j_point = 0; j_point <= 1; ++j_point) { // points of this thread along j
            C_here[i_point][j_point] += alpha * A[min(4 * b0 + i_point, 40) * 29 + k] * A[min(16 * b1 + t1 + 8 * j_point, 40) * 29 + k];
          }
        }
      }
    }
  }
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 2
    for (int C_1 = 0; C_1 < 2; ++C_1) {
      if (4 * b0 + C_0 <= 40 && 4 * b0 + C_0 >= 16 * b1 + t1 + 8 * C_1) {
        C[(4 * b0 + C_0) * 41 + 16 * b1 + t1 + 8 * C_1] = C_here[C_0][C_1];
      }
    }
  }
}
