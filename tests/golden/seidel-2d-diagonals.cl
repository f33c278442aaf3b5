#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// S0: A[i][j] = ((((((((A[i - 1][j - 1] + A[i - 1][j]) + A[i - 1][j + 1]) + A[i][j - 1]) + A[i][j]) + A[i][j + 1]) + A[i + 1][j - 1]) + A[i + 1][j]) + A[i + 1][j + 1]) / 9.0;
__kernel __attribute__((reqd_work_group_size(4, 2, 1)))
void kernel0(__global double *restrict A, const int c)
{
  const int b0 = get_group_id(1) + (max(0, 2 * c - 9) + 2) / 3;
  const int b1 = get_group_id(0) + max(max(0, c - 6), (max(0, c - 3) + 2) / 3);
  const int t0 = get_local_id(1);
  const int t1 = get_local_id(0);
  for (int diagonal = 0; diagonal < 24; ++diagonal) { // diagonals of the tile, one after the other
    if (c >= 4 && c <= 5 && b0 == 2 && b1 == 2) {
      // threads of the block along a row of the tile
      for (int in1 = t1; in1 < 8; in1 += 4) { // threads of the block along a row of the tile
        if (diagonal >= t0 + in1 && t0 + in1 + 15 >= diagonal) {
          A[(in1 - 2 * c - t0 + 24) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 24] = (A[(in1 - 2 * c - t0 + 23) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 23] + A[(in1 - 2 * c - t0 + 23) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 24] + A[(in1 - 2 * c - t0 + 23) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 25] + A[(in1 - 2 * c - t0 + 24) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 23] + A[(in1 - 2 * c - t0 + 24) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 24] + A[(in1 - 2 * c - t0 + 24) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 25] + A[(in1 - 2 * c - t0 + 25) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 23] + A[(in1 - 2 * c - t0 + 25) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 24] + A[(in1 - 2 * c - t0 + 25) * 37 + diagonal - 2 * c - 2 * t0 - 2 * in1 + 25]) / 9.0;
        }
      }
    } else {
      // threads of the block along a row of the tile
      for (int in1 = t1; in1 < 8; in1 += 4) { // threads of the block along a row of the tile
        if (c >= b0 + b1 && 2 * b0 + 2 * b1 + 4 >= 2 * c + t0 && 10 * b0 + 2 * b1 + in1 >= 2 * c + t0 + 1 && diagonal >= t0 + in1 && t0 + in1 + 15 >= diagonal && 2 * c + t0 + 35 >= 10 * b0 + 2 * b1 + in1 && 18 * b1 + diagonal >= 2 * c + 6 * b0 + 2 * t0 + 2 * in1 + 1 && 2 * c + 6 * b0 + 2 * t0 + 2 * in1 + 35 >= 18 * b1 + diagonal) {
          A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1] = (A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0 - 1) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1 - 1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0 - 1) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0 - 1) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1 + 1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1 - 1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1 + 1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0 + 1) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1 - 1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0 + 1) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1] + A[(10 * b0 + 2 * b1 + in1 - 2 * c - t0 + 1) * 37 + 18 * b1 + diagonal - 2 * c - 6 * b0 - 2 * t0 - 2 * in1 + 1]) / 9.0;
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
}
