#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <int bytes> static __device__ inline void antune_copy(void *to, const void *from)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
               :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(bytes) : "memory");
}
static __device__ inline void antune_wait_copies()
{
  asm volatile("cp.async.wait_all;" ::: "memory");
}
#elif defined(__CUDACC__)
template <int bytes> static __device__ inline void antune_copy(void *to, const void *from)
{
  for (int k = 0; k < bytes / 4; ++k) ((int *)to)[k] = ((const int *)from)[k];
}
static __device__ inline void antune_wait_copies() {}
#endif

// S0, S1: C[i][j] *= beta;  C[i][j] += (alpha * A[i][k]) * B[k][j];
extern "C" __global__ __launch_bounds__(64)
void kernel0(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, const float alpha, const float beta)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ __align__(16) float A_shared[2][32][8];
  __shared__ __align__(16) float B_shared[2][8][64];
  float C_here[4][2][4];
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 2
    for (int C_1 = 0; C_1 < 2; ++C_1) {
      if (32 * b0 + t0 + 8 * C_0 <= 59 && 16 * b1 + t1 + 8 * C_1 <= 24) {
        __align__(16) float C_wide[4];
        *(float4 *)&C_wide[0] = *(const float4 *)&C[(32 * b0 + t0 + 8 * C_0) * 100 + 64 * b1 + 4 * t1 + 32 * C_1];
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
  // all threads fill A_shared (32 x 8 elements computed from A)
  __align__(16) float A_held[4];
  *(float4 *)&A_held[0] = *(const float4 *)&A[min(32 * b0 + (8 * t0 + t1) / 2, 59) * 40 + 4 * ((8 * t0 + t1) % 2)];
  #pragma unroll 4
  for (int lane = 0; lane < 4; ++lane) {
    A_held[lane] = alpha * A_held[lane];
  }
  *(float4 *)&A_shared[0][(8 * t0 + t1) / 2][4 * ((8 * t0 + t1) % 2)] = *(const float4 *)&A_held[0];
  #pragma unroll 2
  for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // B_shared: this thread starts to copy its part of a tile
    antune_copy<16>(&B_shared[0][(8 * t0 + t1 + 64 * e0_turn) / 16][4 * ((8 * t0 + t1 + 64 * e0_turn) % 16)], &B[(8 * t0 + t1 + 64 * e0_turn) / 16 * 100 + min(64 * b1 + 4 * ((8 * t0 + t1 + 64 * e0_turn) % 16), 96)]);
  }
  for (int k_tile = 0; k_tile <= 4; ++k_tile) { // tile of k
    antune_wait_copies();
    __syncthreads();
    __align__(16) float A_shared_next[1][4];
    if (k_tile + 1 <= 4) {
      #pragma unroll 2
      for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // B_shared: this thread starts to copy its part of a tile
        antune_copy<16>(&B_shared[(k_tile + 1) % 2][(8 * t0 + t1 + 64 * e0_turn) / 16][4 * ((8 * t0 + t1 + 64 * e0_turn) % 16)], &B[(8 * k_tile + (8 * t0 + t1 + 64 * e0_turn) / 16 + 8) * 100 + min(64 * b1 + 4 * ((8 * t0 + t1 + 64 * e0_turn) % 16), 96)]);
      }
      // A_shared: this thread loads its part of the next tile
      *(float4 *)&A_shared_next[0][0] = *(const float4 *)&A[min(32 * b0 + (8 * t0 + t1) / 2, 59) * 40 + 8 * k_tile + 4 * ((8 * t0 + t1) % 2) + 8];
    }
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
      __align__(16) float A_shared_wide[4][4];
      #pragma unroll 4
      for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
        *(float4 *)&A_shared_wide[i_point][0] = *(const float4 *)&A_shared[k_tile % 2][t0 + 8 * i_point][k - 8 * k_tile];
      }
      #pragma unroll 4
      for (int k_lane = 0; k_lane < 4; ++k_lane) {
        #pragma unroll 4
        for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
          #pragma unroll 2
          for (int j_point = 0; j_point <= 1; ++j_point) { // points of this thread along j
            __align__(16) float B_shared_wide[4];
            *(float4 *)&B_shared_wide[0] = *(const float4 *)&B_shared[k_tile % 2][k + k_lane - 8 * k_tile][4 * t1 + 32 * j_point];
            #pragma unroll 4
            for (int j_next = 0; j_next < 4; ++j_next) { // neighbours of this thread along j
              C_here[i_point][j_point][j_next] += A_shared_wide[i_point][k_lane] * B_shared_wide[j_next];
            }
          }
        }
      }
    }
    if (k_tile + 1 <= 4) {
      // A_shared: the next tile
      __align__(16) float A_shared_next_held[4];
      *(float4 *)&A_shared_next_held[0] = *(const float4 *)&A_shared_next[0][0];
      #pragma unroll 4
      for (int lane_ = 0; lane_ < 4; ++lane_) {
        A_shared_next_held[lane_] = alpha * A_shared_next_held[lane_];
      }
      *(float4 *)&A_shared[(k_tile + 1) % 2][(8 * t0 + t1) / 2][4 * ((8 * t0 + t1) % 2)] = *(const float4 *)&A_shared_next_held[0];
    }
  }
  #pragma unroll 4
  for (int C_0 = 0; C_0 < 4; ++C_0) {
    #pragma unroll 2
    for (int C_1 = 0; C_1 < 2; ++C_1) {
      if (32 * b0 + t0 + 8 * C_0 <= 59 && 16 * b1 + t1 + 8 * C_1 <= 24) {
        __align__(16) float C_wide_[4];
        #pragma unroll 4
        for (int C_1_next = 0; C_1_next < 4; ++C_1_next) {
          C_wide_[C_1_next] = C_here[C_0][C_1][C_1_next];
        }
        *(float4 *)&C[(32 * b0 + t0 + 8 * C_0) * 100 + 64 * b1 + 4 * t1 + 32 * C_1] = *(const float4 *)&C_wide_[0];
      }
    }
  }
}
