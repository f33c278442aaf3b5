static __device__ inline void antune_add_float(float *place, float value) {
  atomicAdd(place, value);
}

// S0: v[j] += z[i] * A[i][j];
extern "C" __global__ __launch_bounds__(256)
void kernel0(const float *__restrict__ A, float *__restrict__ v, const float *__restrict__ z)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ __align__(16) float float_parts[8][128];
  float v_here[4];
  #pragma unroll 4
  for (int v_1_next = 0; v_1_next < 4; ++v_1_next) {
    v_here[v_1_next] = 0;
  }
  if (b1 < 1) {
    for (int i_point = 0; i_point <= min(3, 4 - 4 * b0 - (t0 + 3) / 8); ++i_point) { // points of this thread along i
      #pragma unroll 2
      for (int j_next = 0; j_next <= 3; j_next += 2) { // neighbours of this thread along j
        __align__(8) float A_wide[2];
        *(float2 *)&A_wide[0] = *(const float2 *)&A[(32 * b0 + t0 + 8 * i_point) * 150 + 128 * b1 + 4 * t1 + j_next];
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
  __align__(16) float float_parts_wide[4];
  #pragma unroll 4
  for (int v_1_next = 0; v_1_next < 4; ++v_1_next) {
    float_parts_wide[v_1_next] = v_here[v_1_next];
  }
  *(float4 *)&float_parts[t0][4 * t1] = *(const float4 *)&float_parts_wide[0];
  __syncthreads();
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
