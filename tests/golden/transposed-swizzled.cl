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

// S0: B[i][j] = A[j][i];
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void kernel0(__global const float *restrict A, __global float *restrict B)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local float A_shared[32][32];
  for (int e0 = t0; e0 < 32; e0 += 8) { // all threads fill A_shared (32 x 32 elements of A)
    if (32 * b1 + e0 < 50 && 32 * b0 + t1 < 70) {
      A_shared[e0][t1 ^ e0] = A[(32 * b1 + e0) * 70 + 32 * b0 + t1];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (32 * b1 + t1 <= 49) {
    for (int i_point = 0; i_point <= min(3, 9 - 4 * b0 - (t0 + 10) / 8); ++i_point) { // points of this thread along i
      B[(32 * b0 + t0 + 8 * i_point) * 50 + 32 * b1 + t1] = A_shared[t1][t0 + 8 * i_point ^ t1];
    }
  }
}
