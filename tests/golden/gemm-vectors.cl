
// S0, S1: C[i][j] *= beta;  C[i][j] += (alpha * A[i][k]) * B[k][j];
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void kernel0(__global const float *restrict A, __global const float *restrict B, __global float *restrict C, const float alpha, const float beta)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  __local __attribute__((aligned(16))) float A_shared[32][8];
  __local __attribute__((aligned(16))) float B_shared[8][64];
  float C_here[4][2][4];
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 2
    for (int C_1 = 0; C_1 < 2; ++C_1) {
      if (32 * b0 + t0 + 8 * C_0 <= 59 && 16 * b1 + t1 + 8 * C_1 <= 24) {
        __attribute__((aligned(16))) float C_wide[4];
        *(__private float4 *)&C_wide[0] = *(const __global float4 *)&C[(32 * b0 + t0 + 8 * C_0) * 100 + 64 * b1 + 4 * t1 + 32 * C_1];
        #pragma unroll 4
        for (int C_1_next = 0; C_1_next < 4; ++C_1_next) {
          C_here[C_0][C_1][C_1_next] = C_wide[C_1_next];
        }
      } else {
        #pragma unroll 4
        for (int C_1_next = 0; C_1_next < 4; ++C_1_next) {
          C_here[C_0][C_1][C_1_next] = 0;
        }
      }
    }
  }
  for (int k_tile = 0; k_tile <= 4; ++k_tile) { // tile of k
    // all threads fill A_shared (32 x 8 elements of A)
    if (32 * b0 + (8 * t0 + t1) / 2 < 60) {
      *(__local float4 *)&A_shared[(8 * t0 + t1) / 2][4 * ((8 * t0 + t1) % 2)] = *(const __global float4 *)&A[(32 * b0 + (8 * t0 + t1) / 2) * 40 + 8 * k_tile + 4 * ((8 * t0 + t1) % 2)];
    }
    for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // all threads fill B_shared (8 x 64 elements of B)
      if (64 * b1 + 4 * ((8 * t0 + t1 + 64 * e0_turn) % 16) < 100) {
        *(__local float4 *)&B_shared[(8 * t0 + t1 + 64 * e0_turn) / 16][4 * ((8 * t0 + t1 + 64 * e0_turn) % 16)] = *(const __global float4 *)&B[(8 * k_tile + (8 * t0 + t1 + 64 * e0_turn) / 16) * 100 + 64 * b1 + 4 * ((8 * t0 + t1 + 64 * e0_turn) % 16)];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k_tile == 0) {
      #pragma unroll 4
      for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
        #pragma unroll 2
        for (int j_point = 0; j_point <= 1; ++j_point) { // points of this thread along j
          #pragma unroll 4
          for (int j_next = 0; j_next <= 3; ++j_next) { // neighbours of this thread along j
            C_here[i_point][j_point][j_next] *= beta;
          }
        }
      }
    }
    for (int k = 8 * k_tile; k <= 8 * k_tile + 7; k += 4) {
      __attribute__((aligned(16))) float A_shared_wide[4][4];
      #pragma unroll 4
      for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
        *(__private float4 *)&A_shared_wide[i_point][0] = *(const __local float4 *)&A_shared[t0 + 8 * i_point][k - 8 * k_tile];
      }
      #pragma unroll 4
      for (int k_lane = 0; k_lane < 4; ++k_lane) {
        #pragma unroll 4
        for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
          #pragma unroll 2
          for (int j_point = 0; j_point <= 1; ++j_point) { // points of this thread along j
            __attribute__((aligned(16))) float B_shared_wide[4];
            *(__private float4 *)&B_shared_wide[0] = *(const __local float4 *)&B_shared[k + k_lane - 8 * k_tile][4 * t1 + 32 * j_point];
            #pragma unroll 4
            for (int j_next = 0; j_next < 4; ++j_next) { // neighbours of this thread along j
              C_here[i_point][j_point][j_next] += alpha * A_shared_wide[i_point][k_lane] * B_shared_wide[j_next];
            }
          }
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 2
    for (int C_1 = 0; C_1 < 2; ++C_1) {
      if (32 * b0 + t0 + 8 * C_0 <= 59 && 16 * b1 + t1 + 8 * C_1 <= 24) {
        __attribute__((aligned(16))) float C_wide_[4];
        #pragma unroll 4
        for (int C_1_next = 0; C_1_next < 4; ++C_1_next) {
          C_wide_[C_1_next] = C_here[C_0][C_1][C_1_next];
        }
        *(__global float4 *)&C[(32 * b0 + t0 + 8 * C_0) * 100 + 64 * b1 + 4 * t1 + 32 * C_1] = *(const __private float4 *)&C_wide_[0];
      }
    }
  }
}
