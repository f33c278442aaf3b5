#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// S1: x2[i] = x2[i] + (A[j][i] * y_2[j]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel0(__global const double *restrict A, __global double *restrict x2, __global const double *restrict y_2)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  if (32 * b0 + t0 <= 66) {
    #pragma unroll 4
    for (int j = 0; j <= 66; ++j) {
      x2[32 * b0 + t0] = x2[32 * b0 + t0] + A[j * 67 + 32 * b0 + t0] * y_2[j];
    }
  }
}

// S0: x1[i] = x1[i] + (A[i][j] * y_1[j]);
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void kernel1(__global const double *restrict A, __global double *restrict x1, __global const double *restrict y_1)
{
  const int b0 = get_group_id(0);
  const int t0 = get_local_id(0);
  if (32 * b0 + t0 <= 66) {
    #pragma unroll 4
    for (int j = 0; j <= 66; ++j) {
      x1[32 * b0 + t0] = x1[32 * b0 + t0] + A[(32 * b0 + t0) * 67 + j] * y_1[j];
    }
  }
}
