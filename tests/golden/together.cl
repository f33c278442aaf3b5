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

// S0, S1, S2, S3: light(x, y) = uint16(image(x, y)) * 3  across(x, y) = light(x + 1, y) - light(x - 1, y)  down(x, y) = 0  down(x, y) = down(x, y) + light(x, y + r)
__kernel __attribute__((reqd_work_group_size(8, 4, 1)))
void kernel0(__global ushort *restrict across, __global ushort *restrict down, __global const uchar *restrict image)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local ushort light_here[10][18];
  int light_at0;
  light_at0 = b0 == 2 ? 13 : 8 * b0;
  int light_at1;
  light_at1 = b1 == 2 ? 21 : 16 * b1;
  for (int e0 = t0; e0 < 10; e0 += 4) { // all threads compute light_here (10 x 18 elements)
    for (int e1 = t1; e1 < 18; e1 += 8) {
      light_here[e0][e1] = image[(light_at0 + e0 - 1 + 1) * 39 + light_at1 + e1 - 1 + 1] * 3;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int y_point = 0; y_point <= min(1, 5 - 2 * b0 - (t0 + 3) / 4); ++y_point) { // points of this thread along y
    for (int x_point = 0; x_point <= min(1, 4 - 2 * b1 - (t1 + 3) / 8); ++x_point) { // points of this thread along x
      across[(8 * b0 + t0 + 4 * y_point) * 37 + 16 * b1 + t1 + 8 * x_point] = (unsigned short)(light_here[8 * b0 + t0 + 4 * y_point - light_at0 + 1][16 * b1 + t1 + 8 * x_point - light_at1 + 2] - light_here[8 * b0 + t0 + 4 * y_point - light_at0 + 1][16 * b1 + t1 + 8 * x_point - light_at1]);
      down[(8 * b0 + t0 + 4 * y_point) * 37 + 16 * b1 + t1 + 8 * x_point] = 0;
      for (int r0 = -1; r0 <= 1; ++r0) {
        down[(8 * b0 + t0 + 4 * y_point) * 37 + 16 * b1 + t1 + 8 * x_point] += light_here[8 * b0 + t0 + 4 * y_point + r0 - light_at0 + 1][16 * b1 + t1 + 8 * x_point - light_at1 + 1];
      }
    }
  }
}
