
// S0, S1: repeat_edge(x, y) = image(max(min(x, image.min[0] + image.extent[0] - 1), image.min[0]), max(min(y, image.min[1] + image.extent[1] - 1), image.min[1]))  out(x, y) = max(repeat_edge(x - 1, y), repeat_edge(x + 1, y - 1))
extern "C" __global__ __launch_bounds__(1)
void kernel0(const float *__restrict__ image, float *__restrict__ out)
{
  const int b0 = blockIdx.y;
  const int b1 = blockIdx.x;
  for (int y_point = 0; y_point <= min(3, 20 - 4 * b0); ++y_point) { // points of this thread along y
    for (int x_point = 0; x_point <= min(127, 299 - 128 * b1); ++x_point) { // points of this thread along x
      float repeat_edge_0;
      repeat_edge_0 = image[max(min(4 * b0 + y_point, 20), 0) * 300 + max(min(128 * b1 + x_point - 1, 299), 0)];
      float repeat_edge_1;
      repeat_edge_1 = image[max(min(4 * b0 + y_point - 1, 20), 0) * 300 + max(min(128 * b1 + x_point + 1, 299), 0)];
      out[(4 * b0 + y_point) * 300 + 128 * b1 + x_point] = fmaxf(repeat_edge_0, repeat_edge_1);
    }
  }
}
