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

// S0, S1, S2, S3, S4: doubled(x, y) = uint16(image(x, y)) * 2  rows(x, y) = doubled(x, y) + doubled(x + 1, y)  total(x, y) = 0  total(x, y) = total(x, y) + rows(x, y + r)  out(x, y) = total(x, y) - select(x % 2 == 0, rows(x, y), doubled(x, y))
__kernel __attribute__((reqd_work_group_size(8, 4, 1)))
void kernel0(__global const uchar *restrict image, __global ushort *restrict out)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local ushort rows_here[10][16];
  int rows_at0;
  rows_at0 = b0 == 2 ? 13 : 8 * b0;
  int rows_at1;
  rows_at1 = b1 == 2 ? 21 : 16 * b1;
  for (int e0 = t0; e0 < 10; e0 += 4) { // all threads compute rows_here (10 x 16 elements)
    #pragma unroll 2
    for (int e1 = t1; e1 < 16; e1 += 8) {
      ushort doubled_0;
      doubled_0 = image[(rows_at0 + e0) * 38 + rows_at1 + e1] * 2;
      ushort doubled_1;
      doubled_1 = image[(rows_at0 + e0) * 38 + rows_at1 + e1 + 1] * 2;
      rows_here[e0][e1] = (unsigned short)(doubled_0 + doubled_1);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int y_point = 0; y_point <= min(1, 5 - 2 * b0 - (t0 + 3) / 4); ++y_point) { // points of this thread along y
    for (int x_point = 0; x_point <= min(1, 4 - 2 * b1 - (t1 + 3) / 8); ++x_point) { // points of this thread along x
      ushort total_0;
      total_0 = 0;
      #pragma unroll 2
      for (int r0_0 = 0; r0_0 <= 2; ++r0_0) {
        total_0 += rows_here[8 * b0 + t0 + 4 * y_point + r0_0 - rows_at0][16 * b1 + t1 + 8 * x_point - rows_at1];
      }
      ushort doubled_2;
      doubled_2 = image[(8 * b0 + t0 + 4 * y_point) * 38 + 16 * b1 + t1 + 8 * x_point] * 2;
      out[(8 * b0 + t0 + 4 * y_point) * 37 + 16 * b1 + t1 + 8 * x_point] = (unsigned short)(total_0 - ((16 * b1 + t1 + 8 * x_point) % 2 == 0 ? rows_here[8 * b0 + t0 + 4 * y_point - rows_at0][16 * b1 + t1 + 8 * x_point - rows_at1] : doubled_2));
    }
  }
}
