// host: for (c = 0; c <= 10; c += 1)
// host:   kernel0(c) on (min(min(4, c), (c + 5) / 3) - max(max(0, c - 6), (max(0, c - 3) + 2) / 3) + 1) x (min(4, (2 * c + 1) / 3) - (max(0, 2 * c - 9) + 2) / 3 + 1) blocks

// S0: A[i][j] = ((((((((A[i - 1][j - 1] + A[i - 1][j]) + A[i - 1][j + 1]) + A[i][j - 1]) + A[i][j]) + A[i][j + 1]) + A[i + 1][j - 1]) + A[i + 1][j]) + A[i + 1][j + 1]) / 9.0;
extern "C" __global__ __launch_bounds__(1)
void kernel0(double *__restrict__ A, const int c)
{
  const int b0 = blockIdx.y + (max(0, 2 * c - 9) + 2) / 3;
  const int b1 = blockIdx.x + max(max(0, c - 6), (max(0, c - 3) + 2) / 3);
  if (2 * b1 + 1 >= b0 && b0 + 5 >= 2 * b1) {
    for (int t = max(0, 2 * c - 2 * b0 - 2 * b1); t <= min(4, 2 * c - 2 * b0 - 2 * b1 + 1); ++t) {
      for (int c_ = max(max(8 * b0, 16 * b1 - t - 35), t + 1); c_ <= min(min(8 * b0 + 7, 16 * b1 - t + 14), t + 35); ++c_) {
        double A_before;
        A_before = 0;
        if (max(16 * b1, t + c_ + 1) <= min(16 * b1 + 15, t + c_ + 35)) {
          A_before = A[(c_ - t) * 37 + max(16 * b1, t + c_ + 1) - t - c_ - 1];
        }
        for (int c__ = max(16 * b1, t + c_ + 1); c__ <= min(16 * b1 + 15, t + c_ + 35); ++c__) {
          double A_now;
          A_now = (A[(c_ - t - 1) * 37 + c__ - t - c_ - 1] + A[(c_ - t - 1) * 37 + c__ - t - c_] + A[(c_ - t - 1) * 37 + c__ - t - c_ + 1] + A_before + A[(c_ - t) * 37 + c__ - t - c_] + A[(c_ - t) * 37 + c__ - t - c_ + 1] + A[(c_ - t + 1) * 37 + c__ - t - c_ - 1] + A[(c_ - t + 1) * 37 + c__ - t - c_] + A[(c_ - t + 1) * 37 + c__ - t - c_ + 1]) / 9.0;
          A[(c_ - t) * 37 + c__ - t - c_] = A_now;
          A_before = A_now;
        }
      }
    }
  }
}
