// host: for (chunk = 0; chunk < 4; chunk += 1)
// host:   kernel0(chunk) on 3 x 5 blocks
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

// S0, S1: B[i][j] = 0.2 * ((((A[i][j] + A[i][j - 1]) + A[i][1 + j]) + A[1 + i][j]) + A[i - 1][j]);  A[i][j] = 0.2 * ((((B[i][j] + B[i][j - 1]) + B[i][1 + j]) + B[1 + i][j]) + B[i - 1][j]);
__kernel __attribute__((reqd_work_group_size(8, 2, 1)))
void kernel0(__global double *restrict A, __global double *restrict B, __global double *restrict A_next, const int chunk)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local double A_here[16][25];
  __local double B_here[14][23];
  if (chunk % 2 == 0) {
    for (int at0 = max(-4, -(8 * b0)) + t0, last2 = min(11, 38 - 8 * b0); at0 <= last2; at0 += 2) { // all threads fill A_here
      for (int at1 = max(-4, -(16 * b1)) + t1, last3 = min(19, 38 - 16 * b1); at1 <= last3; at1 += 8) {
        A_here[at0 + 4][at1 + 4] = A[(8 * b0 + at0) * 39 + 16 * b1 + at1];
      }
    }
  } else {
    for (int at0 = max(-4, -(8 * b0)) + t0, last2 = min(11, 38 - 8 * b0); at0 <= last2; at0 += 2) { // all threads fill A_here
      for (int at1 = max(-4, -(16 * b1)) + t1, last3 = min(19, 38 - 16 * b1); at1 <= last3; at1 += 8) {
        A_here[at0 + 4][at1 + 4] = A_next[(8 * b0 + at0) * 39 + 16 * b1 + at1];
      }
    }
  }
  // all threads fill the rim of B_here
  if (t0 + 8 * b0 <= 3 && t0 <= 0) {
    int at0;
    at0 = max(-3, -(8 * b0)) + t0;
    for (int at1 = max(-3, -(16 * b1)) + t1, last2 = min(18, 38 - 16 * b1); at1 <= last2; at1 += 8) {
      B_here[at0 + 3][at1 + 3] = B[(8 * b0 + at0) * 39 + 16 * b1 + at1];
    }
  }
  // all threads fill the rim of B_here
  if (t0 <= 8 * b0 - 28 && t0 <= 0) {
    int at0;
    at0 = max(-3, 38 - 8 * b0) + t0;
    for (int at1 = max(-3, -(16 * b1)) + t1, last2 = min(18, 38 - 16 * b1); at1 <= last2; at1 += 8) {
      B_here[at0 + 3][at1 + 3] = B[(8 * b0 + at0) * 39 + 16 * b1 + at1];
    }
  }
  for (int at0 = max(-3, 1 - 8 * b0) + t0, last1 = min(10, 37 - 8 * b0); at0 <= last1; at0 += 2) { // all threads fill the rim of B_here
    if (t1 + 16 * b1 <= 3 && t1 <= 0) {
      int at1;
      at1 = max(-3, -(16 * b1)) + t1;
      B_here[at0 + 3][at1 + 3] = B[(8 * b0 + at0) * 39 + 16 * b1 + at1];
    }
  }
  for (int at0 = max(-3, 1 - 8 * b0) + t0, last1 = min(10, 37 - 8 * b0); at0 <= last1; at0 += 2) { // all threads fill the rim of B_here
    if (t1 <= 16 * b1 - 20 && t1 <= 0) {
      int at1;
      at1 = max(-3, 38 - 16 * b1) + t1;
      B_here[at0 + 3][at1 + 3] = B[(8 * b0 + at0) * 39 + 16 * b1 + at1];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int left = chunk < 3 ? 0 : 1; left >= 0; --left) { // how many time steps of this chunk are to come
    for (int i = max(-(2 * left) - 1, 1 - 8 * b0) + t0, last2 = min(2 * left + 8, 37 - 8 * b0); i <= last2; i += 2) { // all threads compute B_here
      #pragma unroll 2
      for (int j = max(-(2 * left) - 1, 1 - 16 * b1) + t1, last3 = min(2 * left + 16, 37 - 16 * b1); j <= last3; j += 8) {
        B_here[i + 3][j + 3] = 0.2 * (A_here[i + 4][j + 4] + A_here[i + 4][j + 3] + A_here[i + 4][j + 5] + A_here[i + 5][j + 4] + A_here[i + 3][j + 4]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = max(-(2 * left), 1 - 8 * b0) + t0, last2 = min(2 * left + 7, 37 - 8 * b0); i <= last2; i += 2) { // all threads compute A_here
      #pragma unroll 2
      for (int j = max(-(2 * left), 1 - 16 * b1) + t1, last3 = min(2 * left + 15, 37 - 16 * b1); j <= last3; j += 8) {
        A_here[i + 4][j + 4] = 0.2 * (B_here[i + 3][j + 3] + B_here[i + 3][j + 2] + B_here[i + 3][j + 4] + B_here[i + 4][j + 3] + B_here[i + 2][j + 3]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (chunk % 2 == 0) {
    for (int at0 = t0, last2 = min(7, 38 - 8 * b0); at0 <= last2; at0 += 2) { // all threads store their tile of A_here
      for (int at1 = t1, last3 = min(15, 38 - 16 * b1); at1 <= last3; at1 += 8) {
        A_next[(8 * b0 + at0) * 39 + 16 * b1 + at1] = A_here[at0 + 4][at1 + 4];
      }
    }
  } else {
    for (int at0 = t0, last2 = min(7, 38 - 8 * b0); at0 <= last2; at0 += 2) { // all threads store their tile of A_here
      for (int at1 = t1, last3 = min(15, 38 - 16 * b1); at1 <= last3; at1 += 8) {
        A[(8 * b0 + at0) * 39 + 16 * b1 + at1] = A_here[at0 + 4][at1 + 4];
      }
    }
  }
  if (chunk == 3) {
    for (int at0 = max(0, 1 - 8 * b0) + t0, last2 = min(7, 37 - 8 * b0); at0 <= last2; at0 += 2) { // all threads store their tile of B_here
      for (int at1 = max(0, 1 - 16 * b1) + t1, last3 = min(15, 37 - 16 * b1); at1 <= last3; at1 += 8) {
        B[(8 * b0 + at0) * 39 + 16 * b1 + at1] = B_here[at0 + 3][at1 + 3];
      }
    }
  }
}
