
// S0: A[i][j] = ((((((((A[i - 1][j - 1] + A[i - 1][j]) + A[i - 1][j + 1]) + A[i][j - 1]) + A[i][j]) + A[i][j + 1]) + A[i + 1][j - 1]) + A[i + 1][j]) + A[i + 1][j + 1]) / 9.0;
extern "C" __global__ __launch_bounds__(8)
void kernel0(double *__restrict__ A, const int c)
{
  const int b0 = blockIdx.y + (max(0, 2 * c - 9) + 2) / 3;
  const int b1 = blockIdx.x + max(max(0, c - 6), (max(0, c - 3) + 2) / 3);
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  if (0 <= c - b0 - b1 && c - b0 - b1 - 2 <= 0) {
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
      __syncthreads();
    }
  }
}
