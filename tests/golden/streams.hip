#define antune_store(element, value) __builtin_nontemporal_store(value, &(element))

// S0: B[i][j] = 0.2 * ((((A[i][j] + A[i][j - 1]) + A[i][1 + j]) + A[1 + i][j]) + A[i - 1][j]);
extern "C" __global__ __launch_bounds__(64)
void kernel0(const double *__restrict__ A, double *__restrict__ B, const int t)
{
  const int b0 = blockIdx.y;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  for (int i_point = 0; i_point <= min(3, 193 - 4 * b0); ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 12 - (t1 + 28) / 32; ++j_point) { // points of this thread along j
      antune_store(B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1], 0.2 * (A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1] + A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point] + A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 2] + A[(8 * b0 + t0 + 2 * i_point + 2) * 390 + t1 + 32 * j_point + 1] + A[(8 * b0 + t0 + 2 * i_point) * 390 + t1 + 32 * j_point + 1]));
    }
  }
}

// S1: A[i][j] = 0.2 * ((((B[i][j] + B[i][j - 1]) + B[i][1 + j]) + B[1 + i][j]) + B[i - 1][j]);
extern "C" __global__ __launch_bounds__(64)
void kernel1(double *__restrict__ A, const double *__restrict__ B, const int t)
{
  const int b0 = blockIdx.y;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  for (int i_point = 0; i_point <= min(3, 193 - 4 * b0); ++i_point) { // points of this thread along i
    for (int j_point = 0; j_point <= 12 - (t1 + 28) / 32; ++j_point) { // points of this thread along j
      antune_store(A[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1], 0.2 * (B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 1] + B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point] + B[(8 * b0 + t0 + 2 * i_point + 1) * 390 + t1 + 32 * j_point + 2] + B[(8 * b0 + t0 + 2 * i_point + 2) * 390 + t1 + 32 * j_point + 1] + B[(8 * b0 + t0 + 2 * i_point) * 390 + t1 + 32 * j_point + 1]));
    }
  }
}
