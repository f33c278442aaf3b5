
// S0, S1, S2, S3: light(x, y) = uint16(image(x, y)) * 3  across(x, y) = light(x + 1, y) - light(x - 1, y)  down(x, y) = 0  down(x, y) = down(x, y) + light(x, y + r)
extern "C" __global__ __launch_bounds__(32)
void kernel0(unsigned short *__restrict__ across, unsigned short *__restrict__ down, const unsigned char *__restrict__ image)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ unsigned short light_here[10][18];
  int light_at0;
  light_at0 = b0 == 2 ? 13 : 8 * b0;
  int light_at1;
  light_at1 = b1 == 2 ? 21 : 16 * b1;
  for (int e0 = t0; e0 < 10; e0 += 4) { // all threads compute light_here (10 x 18 elements)
    for (int e1 = t1; e1 < 18; e1 += 8) {
      light_here[e0][e1] = image[(light_at0 + e0 - 1 + 1) * 39 + light_at1 + e1 - 1 + 1] * 3;
    }
  }
  __syncthreads();
  for (int y_point = 0; y_point <= min(1, 5 - 2 * b0 - (t0 + 3) / 4); ++y_point) { // points of this thread along y
    for (int x_point = 0; x_point <= min(1, 4 - 2 * b1 - (t1 + 3) / 8); ++x_point) { // points of this thread along x
      across[(8 * b0 + t0 + 4 * y_point) * 37 + 16 * b1 + t1 + 8 * x_point] = (unsigned short)(light_here[8 * b0 + t0 + 4 * y_point - light_at0 + 1][16 * b1 + t1 + 8 * x_point - light_at1 + 2] - light_here[8 * b0 + t0 + 4 * y_point - light_at0 + 1][16 * b1 + t1 + 8 * x_point - light_at1]);
      down[(8 * b0 + t0 + 4 * y_point) * 37 + 16 * b1 + t1 + 8 * x_point] = 0;
      for (int r0 = -1; r0 <= 1; ++r0) {
        down[(8 * b0 + t0 + 4 * y_point) * 37 + 16 * b1 + t1 + 8 * x_point] += light_here[8 * b0 + t0 + 4 * y_point + r0 - light_at0 + 1][16 * b1 + t1 + 8 * x_point - light_at1 + 1];
      }
    }
  }
}
