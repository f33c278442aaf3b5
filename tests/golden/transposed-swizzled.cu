
// S0: B[i][j] = A[j][i];
extern "C" __global__ __launch_bounds__(256)
void kernel0(const float *__restrict__ A, float *__restrict__ B)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ float A_shared[32][32];
  for (int e0 = t0; e0 < 32; e0 += 8) { // all threads fill A_shared (32 x 32 elements of A)
    if (32 * b1 + e0 < 50 && 32 * b0 + t1 < 70) {
      A_shared[e0][t1 ^ e0] = A[(32 * b1 + e0) * 70 + 32 * b0 + t1];
    }
  }
  __syncthreads();
  if (32 * b1 + t1 <= 49) {
    for (int i_point = 0; i_point <= min(3, 9 - 4 * b0 - (t0 + 10) / 8); ++i_point) { // points of this thread along i
      B[(32 * b0 + t0 + 8 * i_point) * 50 + 32 * b1 + t1] = A_shared[t1][t0 + 8 * i_point ^ t1];
    }
  }
}
