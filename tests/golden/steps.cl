
// S0, S1, S2: light(x, y) = uint16(image(x, y)) * 3  blurred(x, y) = light(x, y - 1) + light(x, y) + light(x, y + 1)  out(x, y) = blurred(x, y) + blurred(x + 1, y + 1)
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void kernel0(__global const uchar *restrict image, __global ushort *restrict out)
{
  const int b0 = get_group_id(1);
  __local ushort light_here[152];
  __local ushort blurred_here[152];
  for (int y_step = 0; y_step <= 7; ++y_step) { // steps of this block along y
    for (int e0 = y_step == 0 ? 8 * b0 + y_step : 8 * b0 + y_step + 3; e0 < 8 * b0 + y_step + 4; ++e0) { // this thread computes what is new of light_here (4 x 38 elements)
      for (int e1 = 0; e1 < 38; ++e1) {
        light_here[(e0 & 3) * 38 + e1] = image[e0 * 38 + e1] * 3;
      }
    }
    for (int e0 = y_step == 0 ? 8 * b0 + y_step : 8 * b0 + y_step + 1; e0 < 8 * b0 + y_step + 2; ++e0) { // this thread computes what is new of blurred_here (2 x 38 elements)
      for (int e1 = 0; e1 < 38; ++e1) {
        blurred_here[(e0 & 3) * 38 + e1] = (unsigned short)((unsigned short)(light_here[(e0 & 3) * 38 + e1] + light_here[(e0 + 1 & 3) * 38 + e1]) + light_here[(e0 + 2 & 3) * 38 + e1]);
      }
    }
    for (int x_point = 0; x_point <= 36; ++x_point) { // points of this thread along x
      out[(8 * b0 + y_step) * 37 + x_point] = (unsigned short)(blurred_here[(8 * b0 + y_step & 3) * 38 + x_point] + blurred_here[(8 * b0 + y_step + 1 & 3) * 38 + x_point + 1]);
    }
  }
}
