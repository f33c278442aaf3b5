#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#if defined(__clang__) && __clang_major__ >= 12
#define antune_any_order _Pragma("clang fp reassociate(on)")
#else
#define antune_any_order
#endif
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

// S0: C[i][j] *= beta;
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel0(__global double *restrict C, const double beta)
{
  const int b0 = get_group_id(1);
  for (int i_point = 0; i_point <= antune_min(7, 40 - 8 * b0); ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 8 * b0 + i_point; ++j_point) { // points of this thread along j
      C[(8 * b0 + i_point) * 41 + j_point] *= beta;
    }
  }
}

// S1: C[i][j] += (alpha * A[i][k]) * A[j][k];
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel1(__global const double *restrict A, __global double *restrict C, const double alpha)
{
  const int b0 = get_group_id(2);
  const int b1 = get_group_id(1);
  double C_here[4][4];
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 4
    for (int C_1 = 0; C_1 < 4; ++C_1) {
      C_here[C_0][C_1] = 4 * b0 + C_0 <= 40 && 4 * b0 + C_0 >= 4 * b1 + C_1 ? C[(4 * b0 + C_0) * 41 + 4 * b1 + C_1] : 0;
    }
  }
  if (b0 < 10 && b1 < 10) {
    if (b0 >= b1) {
      for (int k_point = 0; k_point <= 28; ++k_point) { // points of this thread along k
        #pragma unroll 4
        for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
          #pragma unroll 4
          for (int j_point = 0; j_point <= 3; ++j_point) { // points of this thread along j
            {
              antune_any_order
              C_here[i_point][j_point] += alpha * A[(4 * b0 + i_point) * 29 + k_point] * A[(4 * b1 + j_point) * 29 + k_point];
            }
          }
        }
      }
    }
  } else {
    if (b0 >= b1) {
      for (int k_point = 0; k_point <= 28; ++k_point) { // points of this thread along k
        #pragma unroll 4
        for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
          #pragma unroll 4
          for (int j_point = 0; j_point <= 3; ++j_point) { // points of this thread along j
            {
              antune_any_order
              C_here[i_point][j_point] += alpha * A[antune_min(4 * b0 + i_point, 40) * 29 + k_point] * A[antune_min(4 * b1 + j_point, 40) * 29 + k_point];
            }
          }
        }
      }
    }
  }
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 4
    for (int C_1 = 0; C_1 < 4; ++C_1) {
      if (4 * b0 + C_0 <= 40 && 4 * b0 + C_0 >= 4 * b1 + C_1) {
        C[(4 * b0 + C_0) * 41 + 4 * b1 + C_1] = C_here[C_0][C_1];
      }
    }
  }
}
