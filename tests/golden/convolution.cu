
// S0, S1: conv(co, x, y, n) = bias(co)  conv(co, x, y, n) = conv(co, x, y, n) + weights(co, r.y, r.z, r.x) * image(r.x, x + r.y, y + r.z, n)
extern "C" __global__ __launch_bounds__(256)
void kernel0(const float *__restrict__ bias, float *__restrict__ conv, const float *__restrict__ image, const float *__restrict__ weights, const int n)
{
  const int b0 = blockIdx.z;
  const int b1 = blockIdx.y;
  const int b2 = blockIdx.x;
  const int t0 = threadIdx.z;
  const int t1 = threadIdx.y;
  const int t2 = threadIdx.x;
  __shared__ __align__(16) float image_shared[1][1][128][16];
  __shared__ __align__(16) float weights_shared[16][1][1][128];
  float conv_here[8][2][4];
  #pragma unroll 8
  for (int conv_1 = 0; conv_1 < 8; ++conv_1) {
    #pragma unroll 2
    for (int conv_2 = 0; conv_2 < 2; ++conv_2) {
      if (t1 + 16 * conv_1 <= 99) {
        __align__(16) float conv_wide[4];
        *(float4 *)&conv_wide[0] = *(const float4 *)&conv[((n * 80 + b0) * 100 + t1 + 16 * conv_1) * 128 + 4 * t2 + 64 * conv_2];
        #pragma unroll 4
        for (int conv_2_next = 0; conv_2_next < 4; ++conv_2_next) {
          conv_here[conv_1][conv_2][conv_2_next] = conv_wide[conv_2_next];
        }
      } else {
        #pragma unroll 4
        for (int conv_2_next = 0; conv_2_next < 4; ++conv_2_next) {
          conv_here[conv_1][conv_2][conv_2_next] = 0;
        }
      }
    }
  }
  #pragma unroll 8
  for (int x_point = 0; x_point <= 7; ++x_point) { // points of this thread along x
    #pragma unroll 2
    for (int co_point = 0; co_point <= 1; ++co_point) { // points of this thread along co
      __align__(16) float bias_wide[4];
      *(float4 *)&bias_wide[0] = *(const float4 *)&bias[4 * t2 + 64 * co_point];
      #pragma unroll 4
      for (int co_next = 0; co_next < 4; ++co_next) { // neighbours of this thread along co
        conv_here[x_point][co_point][co_next] = bias_wide[co_next];
      }
    }
  }
  for (int r2_value = 0; r2_value <= 2; ++r2_value) { // values of r2 around the copies
    for (int r1_value = 0; r1_value <= 2; ++r1_value) { // values of r1 around the copies
      for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // all threads fill image_shared (1 x 1 x 128 x 16 elements of image)
        *(float4 *)&image_shared[(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512 % 1][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 4 % 128][4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 4)] = *(const float4 *)&image[(((n + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512) * 82 + b0 + r2_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512 % 1) * 102 + min(128 * b1 + r1_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 4 % 128, 101)) * 128 + 4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 4)];
      }
      for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // all threads fill weights_shared (16 x 1 x 1 x 128 elements of weights)
        *(float4 *)&weights_shared[(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1][4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 32)] = *(const float4 *)&weights[(((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 * 3 + r2_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1) * 3 + r1_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1) * 128 + 128 * b2 + 4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 32)];
      }
      for (int r0_tile = 0; r0_tile <= 7; ++r0_tile) { // tile of r0
        __syncthreads();
        __align__(16) float image_shared_next[2][4];
        __align__(16) float weights_shared_next[2][4];
        if (r0_tile + 1 <= 7) {
          #pragma unroll 2
          for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // image_shared: this thread loads its part of the next tile
            *(float4 *)&image_shared_next[e0_turn][0] = *(const float4 *)&image[(((n + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512) * 82 + b0 + r2_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512 % 1) * 102 + min(128 * b1 + r1_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 4 % 128, 101)) * 128 + 16 * r0_tile + 4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 4) + 16];
          }
          #pragma unroll 2
          for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // weights_shared: this thread loads its part of the next tile
            *(float4 *)&weights_shared_next[e0_turn][0] = *(const float4 *)&weights[(((16 * r0_tile + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 + 16) * 3 + r2_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1) * 3 + r1_value + (256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1) * 128 + 128 * b2 + 4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 32)];
          }
        }
        for (int co_next = 16 * r0_tile; co_next <= 16 * r0_tile + 15; co_next += 4) { // neighbours of this thread along co
          __align__(16) float image_shared_wide[8][4];
          #pragma unroll 8
          for (int x_point_ = 0; x_point_ <= 7; ++x_point_) { // points of this thread along x
            *(float4 *)&image_shared_wide[x_point_][0] = *(const float4 *)&image_shared[0][0][t1 + 16 * x_point_ - 128 * b1][co_next - 16 * r0_tile];
          }
          #pragma unroll 4
          for (int co_next_lane = 0; co_next_lane < 4; ++co_next_lane) {
            #pragma unroll 8
            for (int x_point_ = 0; x_point_ <= 7; ++x_point_) { // points of this thread along x
              #pragma unroll 2
              for (int co_point_ = 0; co_point_ <= 1; ++co_point_) { // points of this thread along co
                __align__(16) float weights_shared_wide[4];
                *(float4 *)&weights_shared_wide[0] = *(const float4 *)&weights_shared[co_next + co_next_lane - 16 * r0_tile][0][0][4 * t2 + 64 * co_point_ - 128 * b2];
                #pragma unroll 4
                for (int co_next_ = 0; co_next_ < 4; ++co_next_) { // neighbours of this thread along co
                  conv_here[x_point_][co_point_][co_next_] += weights_shared_wide[co_next_] * image_shared_wide[x_point_][co_next_lane];
                }
              }
            }
          }
        }
        __syncthreads();
        if (r0_tile + 1 <= 7) {
          #pragma unroll 2
          for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // image_shared: the next tile
            *(float4 *)&image_shared[(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 512 % 1][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 4 % 128][4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 4)] = *(const float4 *)&image_shared_next[e0_turn][0];
          }
          #pragma unroll 2
          for (int e0_turn = 0; e0_turn < 2; ++e0_turn) { // weights_shared: the next tile
            *(float4 *)&weights_shared[(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1][(256 * t0 + 16 * t1 + t2 + 256 * e0_turn) / 32 % 1][4 * ((256 * t0 + 16 * t1 + t2 + 256 * e0_turn) % 32)] = *(const float4 *)&weights_shared_next[e0_turn][0];
          }
        }
      }
    }
  }
  #pragma unroll 8
  for (int conv_1 = 0; conv_1 < 8; ++conv_1) {
    #pragma unroll 2
    for (int conv_2 = 0; conv_2 < 2; ++conv_2) {
      if (t1 + 16 * conv_1 <= 99) {
        __align__(16) float conv_wide_[4];
        #pragma unroll 4
        for (int conv_2_next = 0; conv_2_next < 4; ++conv_2_next) {
          conv_wide_[conv_2_next] = conv_here[conv_1][conv_2][conv_2_next];
        }
        *(float4 *)&conv[((n * 80 + b0) * 100 + t1 + 16 * conv_1) * 128 + 4 * t2 + 64 * conv_2] = *(const float4 *)&conv_wide_[0];
      }
    }
  }
}

// S2: relu(co, x, y, n) = max(0, conv(co, x, y, n))
extern "C" __global__ __launch_bounds__(64)
void kernel1(const float *__restrict__ conv, float *__restrict__ relu, const int n)
{
  const int b0 = blockIdx.z;
  const int b1 = blockIdx.y;
  const int b2 = blockIdx.x;
  const int t2 = threadIdx.x;
  #pragma unroll 8
  for (int x_point = 0; x_point <= min(7, 99 - 8 * b1); ++x_point) { // points of this thread along x
    relu[((n * 80 + b0) * 100 + 8 * b1 + x_point) * 128 + 64 * b2 + t2] = fmaxf(0.0f, conv[((n * 80 + b0) * 100 + 8 * b1 + x_point) * 128 + 64 * b2 + t2]);
  }
}
