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
static inline void antune_add_float(volatile __global float *place, float value) {
  union { uint bits; float number; } seen, made;
#ifdef ANTUNE_NO_PLAIN_READ
  seen.bits = 0;
#else
  seen.number = *place;
#endif
  uint before;
  do {
    before = seen.bits;
    const float old = seen.number;
    (void)old;
    made.number = old + value;
    seen.bits = atomic_cmpxchg((volatile __global uint *)place, before, made.bits);
  } while (seen.bits != before);
}

// S0: v[j] += z[i] * A[i][j];
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void kernel0(__global const float *restrict A, __global float *restrict v, __global const float *restrict z)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local __attribute__((aligned(16))) float float_parts[8][128];
  float v_here[4];
  #pragma unroll 4
  for (int v_1_next = 0; v_1_next < 4; ++v_1_next) {
    v_here[v_1_next] = 0;
  }
  if (b1 < 1) {
    for (int i_point = 0; i_point <= min(3, 4 - 4 * b0 - (t0 + 3) / 8); ++i_point) { // points of this thread along i
      #pragma unroll 2
      for (int j_next = 0; j_next <= 3; j_next += 2) { // neighbours of this thread along j
        __attribute__((aligned(8))) float A_wide[2];
        *(__private float2 *)&A_wide[0] = *(const __global float2 *)&A[(32 * b0 + t0 + 8 * i_point) * 150 + 128 * b1 + 4 * t1 + j_next];
        #pragma unroll 2
        for (int j_next_lane = 0; j_next_lane < 2; ++j_next_lane) {
          v_here[j_next + j_next_lane] += z[32 * b0 + t0 + 8 * i_point] * A_wide[j_next_lane];
        }
      }
    }
  } else {
    for (int i_point = 0; i_point <= min(3, 4 - 4 * b0 - (t0 + 3) / 8); ++i_point) { // points of this thread along i
      #pragma unroll 4
      for (int j_next = 0; j_next <= 3; ++j_next) { // neighbours of this thread along j
        v_here[j_next] += z[32 * b0 + t0 + 8 * i_point] * A[(32 * b0 + t0 + 8 * i_point) * 150 + min(128 * b1 + 4 * t1 + j_next, 149)];
      }
    }
  }
  float v_sum;
  __attribute__((aligned(16))) float float_parts_wide[4];
  #pragma unroll 4
  for (int v_1_next = 0; v_1_next < 4; ++v_1_next) {
    float_parts_wide[v_1_next] = v_here[v_1_next];
  }
  *(__local float4 *)&float_parts[t0][4 * t1] = *(const __private float4 *)&float_parts_wide[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  // threads add up 8 parts of each element
  if (32 * t0 + t1 < 128) {
    v_sum = float_parts[0][32 * t0 + t1];
    #pragma unroll 7
    for (int v_row = 1; v_row < 8; ++v_row) {
      v_sum += float_parts[v_row][32 * t0 + t1];
    }
    if (128 * b1 + 32 * t0 + t1 <= 149) {
      antune_add_float(&v[128 * b1 + 32 * t0 + t1], v_sum);
    }
  }
}
