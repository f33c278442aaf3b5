static __device__ inline void antune_add_double(double *place, double value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
  atomicAdd(place, value);
#else
  union { unsigned long long bits; double number; } seen, made;
#ifdef ANTUNE_NO_PLAIN_READ
  seen.bits = 0;
#else
  seen.number = *place;
#endif
  unsigned long long before;
  do {
    before = seen.bits;
    const double old = seen.number;
    (void)old;
    made.number = old + value;
    seen.bits = atomicCAS((unsigned long long *)place, before, made.bits);
  } while (seen.bits != before);
#endif
}
static __device__ inline void antune_add_int(int *place, int value) {
  atomicAdd(place, value);
}

// S0: h[i] = 0;
extern "C" __global__ __launch_bounds__(8)
void kernel0(int *__restrict__ h)
{
  const int b0 = blockIdx.x;
  const int t0 = threadIdx.x;
  for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
    h[32 * b0 + t0 + 8 * i_point] = 0;
  }
}

// S1: h[b[i][j]] += 1;
extern "C" __global__ __launch_bounds__(256)
void kernel1(const unsigned char *__restrict__ b, int *__restrict__ h)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ int h_block[256];
  // all threads fill h_block (256 elements)
  h_block[t0 * 32 + t1] = 0;
  __syncthreads();
  for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 3; ++j_point) { // points of this thread along j
      antune_add_int(&h_block[b[(32 * b0 + t0 + 8 * i_point) * 512 + 128 * b1 + t1 + 32 * j_point]], 1);
    }
  }
  __syncthreads();
  // all threads combine h_block with h
  if (h_block[t0 * 32 + t1] != 0) {
    antune_add_int(&h[t0 * 32 + t1], h_block[t0 * 32 + t1]);
  }
}

// S2: w[i / 8][b[i][j] / 16] += v[i][j];
extern "C" __global__ __launch_bounds__(256)
void kernel2(const unsigned char *__restrict__ b, const double *__restrict__ v, double *__restrict__ w)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ double w_block[4][16];
  // all threads fill w_block (4 x 16 elements)
  if (t0 < 4) {
    if (t1 < 16) {
      w_block[t0][t1] = 0;
    }
  }
  __syncthreads();
  for (int i_point = 0; i_point <= 3; ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 3; ++j_point) { // points of this thread along j
      antune_add_double(&w_block[(32 * b0 + t0 + 8 * i_point) / 8 - 4 * b0][b[(32 * b0 + t0 + 8 * i_point) * 512 + 128 * b1 + t1 + 32 * j_point] / 16], v[(32 * b0 + t0 + 8 * i_point) * 512 + 128 * b1 + t1 + 32 * j_point]);
    }
  }
  __syncthreads();
  // all threads combine w_block with w
  if (t0 < 4) {
    if (t1 < 16) {
      if (w_block[t0][t1] != 0) {
        antune_add_double(&w[(4 * b0 + t0) * 16 + t1], w_block[t0][t1]);
      }
    }
  }
}
