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

// S0, S1, S10, S11, S12, S13, S14, S2, S3, S4, S5, S6, S7, S8, S9: float fx = 0.0f;  float fy = 0.0f;  fy += s * dy;  fz += s * dz;  ax[i] = fx;  ay[i] = fy;  az[i] = fz;  float fz = 0.0f;  float dx = x[j] - x[i];  float dy = y[j] - y[i];  float dz = z[j] - z[i];  float r2 = (((dx * dx) + (dy * dy)) + (dz * dz)) + 0.01f;  float inv = 1.0f / (r2 * r2);  float s = m[j] * inv;  fx += s * dx;
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel0(__global float *restrict ax, __global float *restrict ay, __global float *restrict az, __global const float *restrict m, __global const float *restrict x, __global const float *restrict y, __global const float *restrict z)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  __local float m_shared[32];
  __local float x_shared0[32];
  __local float x_shared1[32];
  __local float y_shared0[32];
  __local float y_shared1[32];
  __local float z_shared0[32];
  __local float z_shared1[32];
  float dx_here;
  float dy_here;
  float dz_here;
  float fx_here;
  float fy_here;
  float fz_here;
  float inv_here;
  float r2_here;
  float s_here;
  for (int j_tile = 0; j_tile <= 1; ++j_tile) { // tile of j
    // all threads fill m_shared (32 elements of m)
    if (32 * j_tile + t0 < 37) {
      m_shared[t0] = m[32 * j_tile + t0];
    }
    // all threads fill x_shared0 (32 elements of x)
    if (32 * j_tile + t0 < 37) {
      x_shared0[t0] = x[32 * j_tile + t0];
    }
    // all threads fill x_shared1 (32 elements of x)
    if (32 * b0 + t0 < 37) {
      x_shared1[t0] = x[32 * b0 + t0];
    }
    // all threads fill y_shared0 (32 elements of y)
    if (32 * j_tile + t0 < 37) {
      y_shared0[t0] = y[32 * j_tile + t0];
    }
    // all threads fill y_shared1 (32 elements of y)
    if (32 * b0 + t0 < 37) {
      y_shared1[t0] = y[32 * b0 + t0];
    }
    // all threads fill z_shared0 (32 elements of z)
    if (32 * j_tile + t0 < 37) {
      z_shared0[t0] = z[32 * j_tile + t0];
    }
    // all threads fill z_shared1 (32 elements of z)
    if (32 * b0 + t0 < 37) {
      z_shared1[t0] = z[32 * b0 + t0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (32 * b0 + t0 <= 36 && j_tile == 0) {
      fx_here = 0.0f;
      fz_here = 0.0f;
      fy_here = 0.0f;
    }
    if (32 * b0 + t0 <= 36) {
      for (int j = 32 * j_tile; j <= min(36, 32 * j_tile + 31); ++j) {
        dz_here = z_shared0[j - 32 * j_tile] - z_shared1[t0];
        dy_here = y_shared0[j - 32 * j_tile] - y_shared1[t0];
        dx_here = x_shared0[j - 32 * j_tile] - x_shared1[t0];
        r2_here = dx_here * dx_here + dy_here * dy_here + dz_here * dz_here + 0.01f;
        inv_here = 1.0f / (r2_here * r2_here);
        s_here = m_shared[j - 32 * j_tile] * inv_here;
        fy_here += s_here * dy_here;
        if (j_tile == 1 && j == 36) {
          ay[32 * b0 + t0] = fy_here;
        }
        fx_here += s_here * dx_here;
        if (j_tile == 1 && j == 36) {
          ax[32 * b0 + t0] = fx_here;
        }
        fz_here += s_here * dz_here;
      }
      if (j_tile == 1) {
        az[32 * b0 + t0] = fz_here;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
