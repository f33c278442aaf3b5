#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
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

// S0, S1, S2: one(x, y) = uint16(image(x, y)) * 3 + uint16(image(x + 1, y))  two(x, y) = one(x, y - 1) + one(x, y) * 5 + one(x, y + 1)  out(x, y) = two(x, y) - two(x + 1, y + 1) + one(x, y)
__kernel __attribute__((reqd_work_group_size(32, 2, 1))) __attribute__((intel_reqd_sub_group_size(32)))
void kernel0(__global const uchar *restrict image, __global ushort *restrict out)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local ushort one_here[11][38];
  __local ushort two_here[2][5][38];
  int one_at0;
  one_at0 = b0 == 3 ? 18 : 8 * b0;
  for (int e0 = t0; e0 < 11; e0 += 2) { // all threads compute one_here (11 x 38 elements)
    for (int e1 = t1; e1 < 38; e1 += 32) {
      one_here[e0][e1] = image[(one_at0 + e0 - 1 + 1) * 39 + e1] * 3 + image[(one_at0 + e0 - 1 + 1) * 39 + e1 + 1];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (b0 * 2 + t0 < 7) {
    int two_at0;
    two_at0 = b0 * 2 + t0 == 6 ? 22 : 4 * (b0 * 2 + t0);
    for (int e0 = 0; e0 < 5; ++e0) { // all threads compute two_here (5 x 38 elements)
      for (int e1 = t1; e1 < 38; e1 += 32) {
        two_here[t0][e0][e1] = (unsigned short)((unsigned short)(one_here[two_at0 + e0 - one_at0][e1] + (unsigned short)(one_here[two_at0 + e0 + 1 - one_at0][e1] * 5)) + one_here[two_at0 + e0 + 2 - one_at0][e1]);
      }
    }
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    if (b1 * 32 + t1 < 19) {
      for (int y_point = 0; y_point <= min(3, 25 - 4 * (b0 * 2 + t0)); ++y_point) { // points of this thread along y
        for (int x_point = 0; x_point <= min(1, 36 - 2 * (b1 * 32 + t1)); ++x_point) { // points of this thread along x
          out[(4 * (b0 * 2 + t0) + y_point) * 37 + 2 * (b1 * 32 + t1) + x_point] = (unsigned short)((unsigned short)(two_here[t0][4 * (b0 * 2 + t0) + y_point - two_at0][64 * b1 + 2 * t1 + x_point] - two_here[t0][4 * (b0 * 2 + t0) + y_point - two_at0 + 1][64 * b1 + 2 * t1 + x_point + 1]) + one_here[4 * (b0 * 2 + t0) + y_point - one_at0 + 1][64 * b1 + 2 * t1 + x_point]);
        }
      }
    }
  }
}
