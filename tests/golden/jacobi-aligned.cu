
// S0: B[i][j] = 0.2f * ((((A[i][j] + A[i][j - 1]) + A[i][1 + j]) + A[1 + i][j]) + A[i - 1][j]);
extern "C" __global__ __launch_bounds__(32)
void kernel0(const float *__restrict__ A, float *__restrict__ B, const int t)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ __align__(16) float A_shared[10][36];
  for (int e0_turn = 8 * t0 + t1; e0_turn < 90; e0_turn += 32) { // all threads fill A_shared (10 x 36 elements of A)
    if (8 * b0 + e0_turn / 9 < 44 && 32 * b1 + 4 * (e0_turn % 9) < 44) {
      *(float4 *)&A_shared[e0_turn / 9][4 * (e0_turn % 9)] = *(const float4 *)&A[(8 * b0 + e0_turn / 9) * 44 + 32 * b1 + 4 * (e0_turn % 9)];
    }
  }
  __syncthreads();
  for (int i_point = 0; i_point <= min(1, 10 - 2 * b0 - (t0 + 2) / 4); ++i_point) { // points of this thread along i
    if (3 <= 41 - 32 * b1 - 4 * t1) {
      __align__(16) float A_shared_wide[4];
      *(float4 *)&A_shared_wide[0] = *(const float4 *)&A_shared[t0 + 4 * i_point + 1][4 * t1];
      #pragma unroll 2
      for (int j_next = 0; j_next < 4; j_next += 2) { // neighbours of this thread along j
        __align__(8) float A_shared_wide_[2];
        *(float2 *)&A_shared_wide_[0] = *(const float2 *)&A_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + 2];
        #pragma unroll 2
        for (int j_next_lane = 0; j_next_lane < 2; ++j_next_lane) {
          B[(8 * b0 + t0 + 4 * i_point + 1) * 44 + 32 * b1 + 4 * t1 + j_next + j_next_lane + 1] = 0.2f * (A_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + j_next_lane + 1] + A_shared_wide[j_next + j_next_lane] + A_shared_wide_[j_next_lane] + A_shared[t0 + 4 * i_point + 2][4 * t1 + j_next + j_next_lane + 1] + A_shared[t0 + 4 * i_point][4 * t1 + j_next + j_next_lane + 1]);
        }
      }
    } else {
      for (int j_next = 0; j_next <= min(3, 41 - 32 * b1 - 4 * t1); ++j_next) { // neighbours of this thread along j
        B[(8 * b0 + t0 + 4 * i_point + 1) * 44 + 32 * b1 + 4 * t1 + j_next + 1] = 0.2f * (A_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + 1] + A_shared[t0 + 4 * i_point + 1][4 * t1 + j_next] + A_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + 2] + A_shared[t0 + 4 * i_point + 2][4 * t1 + j_next + 1] + A_shared[t0 + 4 * i_point][4 * t1 + j_next + 1]);
      }
    }
  }
}

// S1: A[i][j] = 0.2f * ((((B[i][j] + B[i][j - 1]) + B[i][1 + j]) + B[1 + i][j]) + B[i - 1][j]);
extern "C" __global__ __launch_bounds__(32)
void kernel1(float *__restrict__ A, const float *__restrict__ B, const int t)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ __align__(16) float B_shared[10][36];
  for (int e0_turn = 8 * t0 + t1; e0_turn < 90; e0_turn += 32) { // all threads fill B_shared (10 x 36 elements of B)
    if (8 * b0 + e0_turn / 9 < 44 && 32 * b1 + 4 * (e0_turn % 9) < 44) {
      *(float4 *)&B_shared[e0_turn / 9][4 * (e0_turn % 9)] = *(const float4 *)&B[(8 * b0 + e0_turn / 9) * 44 + 32 * b1 + 4 * (e0_turn % 9)];
    }
  }
  __syncthreads();
  for (int i_point = 0; i_point <= min(1, 10 - 2 * b0 - (t0 + 2) / 4); ++i_point) { // points of this thread along i
    if (3 <= 41 - 32 * b1 - 4 * t1) {
      __align__(16) float B_shared_wide[4];
      *(float4 *)&B_shared_wide[0] = *(const float4 *)&B_shared[t0 + 4 * i_point + 1][4 * t1];
      #pragma unroll 2
      for (int j_next = 0; j_next < 4; j_next += 2) { // neighbours of this thread along j
        __align__(8) float B_shared_wide_[2];
        *(float2 *)&B_shared_wide_[0] = *(const float2 *)&B_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + 2];
        #pragma unroll 2
        for (int j_next_lane = 0; j_next_lane < 2; ++j_next_lane) {
          A[(8 * b0 + t0 + 4 * i_point + 1) * 44 + 32 * b1 + 4 * t1 + j_next + j_next_lane + 1] = 0.2f * (B_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + j_next_lane + 1] + B_shared_wide[j_next + j_next_lane] + B_shared_wide_[j_next_lane] + B_shared[t0 + 4 * i_point + 2][4 * t1 + j_next + j_next_lane + 1] + B_shared[t0 + 4 * i_point][4 * t1 + j_next + j_next_lane + 1]);
        }
      }
    } else {
      for (int j_next = 0; j_next <= min(3, 41 - 32 * b1 - 4 * t1); ++j_next) { // neighbours of this thread along j
        A[(8 * b0 + t0 + 4 * i_point + 1) * 44 + 32 * b1 + 4 * t1 + j_next + 1] = 0.2f * (B_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + 1] + B_shared[t0 + 4 * i_point + 1][4 * t1 + j_next] + B_shared[t0 + 4 * i_point + 1][4 * t1 + j_next + 2] + B_shared[t0 + 4 * i_point + 2][4 * t1 + j_next + 1] + B_shared[t0 + 4 * i_point][4 * t1 + j_next + 1]);
      }
    }
  }
}
