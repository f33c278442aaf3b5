#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
static inline void antune_add_double(volatile __global double *place, double value) {
  union { ulong bits; double number; } seen, made;
#ifdef ANTUNE_NO_PLAIN_READ
  seen.bits = 0;
#else
  seen.number = *place;
#endif
  ulong before;
  do {
    before = seen.bits;
    const double old = seen.number;
    (void)old;
    made.number = old + value;
    seen.bits = atom_cmpxchg((volatile __global ulong *)place, before, made.bits);
  } while (seen.bits != before);
}
static inline void antune_add_double_shared(volatile __local double *place, double value) {
  union { ulong bits; double number; } seen, made;
#ifdef ANTUNE_NO_PLAIN_READ
  seen.bits = 0;
#else
  seen.number = *place;
#endif
  ulong before;
  do {
    before = seen.bits;
    const double old = seen.number;
    (void)old;
    made.number = old + value;
    seen.bits = atom_cmpxchg((volatile __local ulong *)place, before, made.bits);
  } while (seen.bits != before);
}
static inline void antune_add_int(volatile __global int *place, int value) {
  union { uint bits; int number; } seen, made;
#ifdef ANTUNE_NO_PLAIN_READ
  seen.bits = 0;
#else
  seen.number = *place;
#endif
  uint before;
  do {
    before = seen.bits;
    const int old = seen.number;
    (void)old;
    made.number = old + value;
    seen.bits = atomic_cmpxchg((volatile __global uint *)place, before, made.bits);
  } while (seen.bits != before);
}
static inline void antune_add_int_shared(volatile __local int *place, int value) {
  union { uint bits; int number; } seen, made;
#ifdef ANTUNE_NO_PLAIN_READ
  seen.bits = 0;
#else
  seen.number = *place;
#endif
  uint before;
  do {
    before = seen.bits;
    const int old = seen.number;
    (void)old;
    made.number = old + value;
    seen.bits = atomic_cmpxchg((volatile __local uint *)place, before, made.bits);
  } while (seen.bits != before);
}

// S0: h[i] = 0;
__kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void kernel0(__global int *restrict h)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
    h[32 * b0 + t0 + 8 * i_point] = 0;
  }
}

// S1: h[b[i][j]] += 1;
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void kernel1(__global const uchar *restrict b, __global int *restrict h)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local int h_block[256];
  // all threads fill h_block (256 elements)
  h_block[t0 * 32 + t1] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 3; ++j_point) { // points of this thread along j
      antune_add_int_shared(&h_block[b[(32 * b0 + t0 + 8 * i_point) * 512 + 128 * b1 + t1 + 32 * j_point]], 1);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // all threads combine h_block with h
  if (h_block[t0 * 32 + t1] != 0) {
    antune_add_int(&h[t0 * 32 + t1], h_block[t0 * 32 + t1]);
  }
}

// S2: w[i / 8][b[i][j] / 16] += v[i][j];
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void kernel2(__global const uchar *restrict b, __global const double *restrict v, __global double *restrict w)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local double w_block[4][16];
  // all threads fill w_block (4 x 16 elements)
  if (t0 < 4) {
    if (t1 < 16) {
      w_block[t0][t1] = 0;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 3; ++j_point) { // points of this thread along j
      antune_add_double_shared(&w_block[(32 * b0 + t0 + 8 * i_point) / 8 - 4 * b0][b[(32 * b0 + t0 + 8 * i_point) * 512 + 128 * b1 + t1 + 32 * j_point] / 16], v[(32 * b0 + t0 + 8 * i_point) * 512 + 128 * b1 + t1 + 32 * j_point]);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // all threads combine w_block with w
  if (t0 < 4) {
    if (t1 < 16) {
      if (w_block[t0][t1] != 0) {
        antune_add_double(&w[(4 * b0 + t0) * 16 + t1], w_block[t0][t1]);
      }
    }
  }
}
