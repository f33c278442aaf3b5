
// S0, S1, S2: light(x, y) = uint16(image(x, y)) * 3  blurred(x, y) = light(x, y - 1) + light(x, y) + light(x, y + 1)  out(x, y) = blurred(x, y) + blurred(x + 1, y + 1)
extern "C" __global__ __launch_bounds__(16)
void kernel0(const unsigned char *__restrict__ image, unsigned short *__restrict__ out)
{
  const int b0 = blockIdx.y;
  const int t0 = threadIdx.y;
  const int t1 = threadIdx.x;
  __shared__ unsigned short light_here[8][38];
  __shared__ unsigned short blurred_here[4][38];
  for (int y_step = 0; y_step <= 3; ++y_step) { // steps of this block along y
    for (int e0 = (y_step == 0 ? 8 * b0 + 2 * y_step : 8 * b0 + 2 * y_step + 3) + t0; e0 < 8 * b0 + 2 * y_step + 5; e0 += 2) { // all threads compute what is new of light_here (5 x 38 elements)
      for (int e1 = t1; e1 < 38; e1 += 8) {
        light_here[e0 & 7][e1] = image[e0 * 38 + e1] * 3;
      }
    }
    __syncthreads();
    for (int e0 = (y_step == 0 ? 8 * b0 + 2 * y_step : 8 * b0 + 2 * y_step + 1) + t0; e0 < 8 * b0 + 2 * y_step + 3; e0 += 2) { // all threads compute what is new of blurred_here (3 x 38 elements)
      for (int e1 = t1; e1 < 38; e1 += 8) {
        blurred_here[e0 & 3][e1] = (unsigned short)((unsigned short)(light_here[e0 & 7][e1] + light_here[e0 + 1 & 7][e1]) + light_here[e0 + 2 & 7][e1]);
      }
    }
    __syncthreads();
    for (int x_point = 0; x_point <= 4 - (t1 + 3) / 8; ++x_point) { // points of this thread along x
      out[(8 * b0 + t0 + 2 * y_step) * 37 + t1 + 8 * x_point] = (unsigned short)(blurred_here[8 * b0 + t0 + 2 * y_step & 3][t1 + 8 * x_point] + blurred_here[8 * b0 + t0 + 2 * y_step + 1 & 3][t1 + 8 * x_point + 1]);
    }
    __syncthreads();
  }
}
