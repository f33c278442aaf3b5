// host: for (c = 0; c <= 10; c += 1)
// host:   kernel0(c) on (min(min(4, c), (c + 5) / 3) - max(max(0, c - 6), (max(0, c - 3) + 2) / 3) + 1) x (min(4, (2 * c + 1) / 3) - (max(0, 2 * c - 9) + 2) / 3 + 1) blocks
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
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

// S0: A[i][j] = ((((((((A[i - 1][j - 1] + A[i - 1][j]) + A[i - 1][j + 1]) + A[i][j - 1]) + A[i][j]) + A[i][j + 1]) + A[i + 1][j - 1]) + A[i + 1][j]) + A[i + 1][j + 1]) / 9.0;
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel0(__global double *restrict A, const int c)
{
  const int b0 = get_group_id(1) + (antune_max(0, 2 * c - 9) + 2) / 3;
  const int b1 = get_group_id(0) + antune_max(antune_max(0, c - 6), (antune_max(0, c - 3) + 2) / 3);
  if (2 * b1 + 1 >= b0 && b0 + 5 >= 2 * b1) {
    for (int t = antune_max(0, 2 * c - 2 * b0 - 2 * b1); t <= antune_min(4, 2 * c - 2 * b0 - 2 * b1 + 1); ++t) {
      for (int c_ = antune_max(antune_max(8 * b0, 16 * b1 - t - 35), t + 1); c_ <= antune_min(antune_min(8 * b0 + 7, 16 * b1 - t + 14), t + 35); ++c_) {
        double A_before;
        A_before = 0;
        if (antune_max(16 * b1, t + c_ + 1) <= antune_min(16 * b1 + 15, t + c_ + 35)) {
          A_before = A[(c_ - t) * 37 + antune_max(16 * b1, t + c_ + 1) - t - c_ - 1];
        }
        for (int c__ = antune_max(16 * b1, t + c_ + 1); c__ <= antune_min(16 * b1 + 15, t + c_ + 35); ++c__) {
          double A_now;
          A_now = (A[(c_ - t - 1) * 37 + c__ - t - c_ - 1] + A[(c_ - t - 1) * 37 + c__ - t - c_] + A[(c_ - t - 1) * 37 + c__ - t - c_ + 1] + A_before + A[(c_ - t) * 37 + c__ - t - c_] + A[(c_ - t) * 37 + c__ - t - c_ + 1] + A[(c_ - t + 1) * 37 + c__ - t - c_ - 1] + A[(c_ - t + 1) * 37 + c__ - t - c_] + A[(c_ - t + 1) * 37 + c__ - t - c_ + 1]) / 9.0;
          A[(c_ - t) * 37 + c__ - t - c_] = A_now;
          A_before = A_now;
        }
      }
    }
  }
}
