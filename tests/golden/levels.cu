
// S0, S1, S2: one(x, y) = uint16(image(x, y)) * 3 + uint16(image(x + 1, y))  two(x, y) = one(x, y - 1) + one(x, y) * 5 + one(x, y + 1)  out(x, y) = two(x, y) - two(x + 1, y + 1) + one(x, y)
extern "C" __global__ __launch_bounds__(64)
void kernel0(const unsigned char *__restrict__ image, unsigned short *__restrict__ out)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ unsigned short one_here[11][38];
  __shared__ unsigned short two_here[2][5][38];
  int one_at0;
  one_at0 = b0 == 3 ? 18 : 8 * b0;
  for (int e0 = t0; e0 < 11; e0 += 2) { // all threads compute one_here (11 x 38 elements)
    for (int e1 = t1; e1 < 38; e1 += 32) {
      one_here[e0][e1] = image[(one_at0 + e0 - 1 + 1) * 39 + e1] * 3 + image[(one_at0 + e0 - 1 + 1) * 39 + e1 + 1];
    }
  }
  __syncthreads();
  if (b0 * 2 + t0 < 7) {
    int two_at0;
    two_at0 = b0 * 2 + t0 == 6 ? 22 : 4 * (b0 * 2 + t0);
    for (int e0 = 0; e0 < 5; ++e0) { // all threads compute two_here (5 x 38 elements)
      for (int e1 = t1; e1 < 38; e1 += 32) {
        two_here[t0][e0][e1] = (unsigned short)((unsigned short)(one_here[two_at0 + e0 - one_at0][e1] + (unsigned short)(one_here[two_at0 + e0 + 1 - one_at0][e1] * 5)) + one_here[two_at0 + e0 + 2 - one_at0][e1]);
      }
    }
    __syncwarp();
    if (b1 * 32 + t1 < 19) {
      for (int y_point = 0; y_point <= min(3, 25 - 4 * (b0 * 2 + t0)); ++y_point) { // points of this thread along y
        for (int x_point = 0; x_point <= min(1, 36 - 2 * (b1 * 32 + t1)); ++x_point) { // points of this thread along x
          out[(4 * (b0 * 2 + t0) + y_point) * 37 + 2 * (b1 * 32 + t1) + x_point] = (unsigned short)((unsigned short)(two_here[t0][4 * (b0 * 2 + t0) + y_point - two_at0][64 * b1 + 2 * t1 + x_point] - two_here[t0][4 * (b0 * 2 + t0) + y_point - two_at0 + 1][64 * b1 + 2 * t1 + x_point + 1]) + one_here[4 * (b0 * 2 + t0) + y_point - one_at0 + 1][64 * b1 + 2 * t1 + x_point]);
        }
      }
    }
  }
}
