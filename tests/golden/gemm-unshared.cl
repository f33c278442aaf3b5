#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// S0, S1: C[i][j] *= beta;  C[i][j] += (alpha * A[i][k]) * B[k][j];
__kernel __attribute__((reqd_work_group_size(16, 32, 1)))
void kernel0(__global const double *restrict A, __global const double *restrict B, __global double *restrict C, const double alpha, const double beta)
{
  const int b0 = get_group_id(1);
  const int b1 = get_group_id(0);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  if (32 * b0 + t0 <= 44) {
    for (int j_point = 0; j_point <= min(1, 4 - 2 * b1 - (t1 + 9) / 16); ++j_point) { // points of this thread along j
      C[(32 * b0 + t0) * 71 + 32 * b1 + t1 + 16 * j_point] *= beta;
      #pragma unroll 4
      for (int k = 0; k <= 52; ++k) {
        C[(32 * b0 + t0) * 71 + 32 * b1 + t1 + 16 * j_point] += alpha * A[(32 * b0 + t0) * 53 + k] * B[k * 71 + 32 * b1 + t1 + 16 * j_point];
      }
    }
  }
}
