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
static inline __attribute__((overloadable)) float antune_fmin(float a, float b) { return b < a || a != a ? b : a; }
#ifdef cl_khr_fp64
static inline __attribute__((overloadable)) double antune_fmin(double a, double b) { return b < a || a != a ? b : a; }
#endif
static inline __attribute__((overloadable)) float antune_fmax(float a, float b) { return b > a || a != a ? b : a; }
#ifdef cl_khr_fp64
static inline __attribute__((overloadable)) double antune_fmax(double a, double b) { return b > a || a != a ? b : a; }
#endif
#else
#define antune_min min
#define antune_max max
#define antune_fmin fmin
#define antune_fmax fmax
#endif
#ifdef POCL_DEVICE_ADDRESS_BITS
#undef min
#define min antune_min
#undef max
#define max antune_max
#undef fmin
#define fmin antune_fmin
#undef fmax
#define fmax antune_fmax
#endif

// S0, S1: repeat_edge(x, y) = image(max(min(x, image.min[0] + image.extent[0] - 1), image.min[0]), max(min(y, image.min[1] + image.extent[1] - 1), image.min[1]))  out(x, y) = max(repeat_edge(x - 1, y), repeat_edge(x + 1, y - 1))
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel0(__global const float *restrict image, __global float *restrict out)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  for (int y_point = 0; y_point <= antune_min(3, 20 - 4 * b0); ++y_point) { // points of this thread along y
    for (int x_point = 0; x_point <= antune_min(-(128 * b1), antune_min(127, 299 - 128 * b1)); ++x_point) { // up to a border
      float repeat_edge_0;
      repeat_edge_0 = image[antune_max(antune_min(4 * b0 + y_point, 20), 0) * 300 + antune_max(antune_min(128 * b1 + x_point - 1, 299), 0)];
      float repeat_edge_1;
      repeat_edge_1 = image[antune_max(antune_min(4 * b0 + y_point - 1, 20), 0) * 300 + antune_max(antune_min(128 * b1 + x_point + 1, 299), 0)];
      out[(4 * b0 + y_point) * 300 + 128 * b1 + x_point] = antune_fmax((float)(repeat_edge_0), (float)(repeat_edge_1));
    }
    for (int x_point = antune_max(0, 1 - 128 * b1); x_point <= antune_min(298 - 128 * b1, antune_min(127, 299 - 128 * b1)); ++x_point) { // points of this thread along x
      float repeat_edge_0;
      repeat_edge_0 = image[antune_max(antune_min(4 * b0 + y_point, 20), 0) * 300 + 128 * b1 + x_point - 1];
      float repeat_edge_1;
      repeat_edge_1 = image[antune_max(antune_min(4 * b0 + y_point - 1, 20), 0) * 300 + 128 * b1 + x_point + 1];
      out[(4 * b0 + y_point) * 300 + 128 * b1 + x_point] = antune_fmax((float)(repeat_edge_0), (float)(repeat_edge_1));
    }
    for (int x_point = antune_max(0, 299 - 128 * b1); x_point <= antune_min(127, 299 - 128 * b1); ++x_point) { // from a border on
      float repeat_edge_0;
      repeat_edge_0 = image[antune_max(antune_min(4 * b0 + y_point, 20), 0) * 300 + antune_max(antune_min(128 * b1 + x_point - 1, 299), 0)];
      float repeat_edge_1;
      repeat_edge_1 = image[antune_max(antune_min(4 * b0 + y_point - 1, 20), 0) * 300 + antune_max(antune_min(128 * b1 + x_point + 1, 299), 0)];
      out[(4 * b0 + y_point) * 300 + 128 * b1 + x_point] = antune_fmax((float)(repeat_edge_0), (float)(repeat_edge_1));
    }
  }
}
