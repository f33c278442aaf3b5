#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define antune_pragma(text) _Pragma(#text)
#ifdef POCL_DEVICE_ADDRESS_BITS
#pragma clang diagnostic ignored "-Wpass-failed" // with exp and pow there is no vector, and no need to be told
#define antune_vector(count) antune_pragma(clang loop vectorize_width(count) interleave_count(1))
#else
#define antune_vector(count) antune_pragma(unroll count)
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

// S0, S1: C[i][j] *= beta;  C[i][j] += (alpha * A[i][k]) * B[k][j];
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel0(__global const double *restrict A, __global const double *restrict B, __global double *restrict C, const double alpha, const double beta)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  double C_here[4][16];
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 16
    for (int C_1 = 0; C_1 < 16; ++C_1) {
      C_here[C_0][C_1] = 4 * b0 + C_0 <= 20 && 16 * b1 + C_1 <= 36 ? C[(4 * b0 + C_0) * 37 + 16 * b1 + C_1] : 0;
    }
  }
  if (b0 < 5 && b1 < 2) {
    #pragma unroll 4
    for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
      antune_vector(16)
      for (int j_point = 0; j_point <= 15; ++j_point) { // points of this thread along j
        C_here[i_point][j_point] *= beta;
      }
    }
    for (int k = 0; k <= 8; ++k) {
      #pragma unroll 4
      for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
        antune_vector(16)
        for (int j_point = 0; j_point <= 15; ++j_point) { // points of this thread along j
          C_here[i_point][j_point] += alpha * A[(4 * b0 + i_point) * 9 + k] * B[k * 37 + 16 * b1 + j_point];
        }
      }
    }
  } else {
    #pragma unroll 4
    for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
      antune_vector(16)
      for (int j_point = 0; j_point <= 15; ++j_point) { // points of this thread along j
        C_here[i_point][j_point] *= beta;
      }
    }
    for (int k = 0; k <= 8; ++k) {
      #pragma unroll 4
      for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
        antune_vector(16)
        for (int j_point = 0; j_point <= 15; ++j_point) { // points of this thread along j
          C_here[i_point][j_point] += alpha * A[antune_min(4 * b0 + i_point, 20) * 9 + k] * B[k * 37 + antune_min(16 * b1 + j_point, 36)];
        }
      }
    }
  }
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 16
    for (int C_1 = 0; C_1 < 16; ++C_1) {
      if (4 * b0 + C_0 <= 20 && 16 * b1 + C_1 <= 36) {
        C[(4 * b0 + C_0) * 37 + 16 * b1 + C_1] = C_here[C_0][C_1];
      }
    }
  }
}
