/* A blur of a picture in one dimension: pointers to its rows, and subscripts with offsets. */
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define WIDTH 70
#define HEIGHT 40
#else
#define WIDTH 1920
#define HEIGHT 1080
#endif

static void blur(int width, int height, const float *in, float *out)
{
#pragma scop
  for (int y = 1; y < height - 1; y++) {
    const float *above = in + (y - 1) * width, *row = in + y * width, *below = in + (y + 1) * width;
    float *to = out + y * width;
    for (int x = 1; x < width - 1; x++)
      to[x] = (above[x - 1] + 2 * above[x] + above[x + 1] + 2 * row[x - 1] + 4 * row[x] + 2 * row[x + 1] +
               below[x - 1] + 2 * below[x] + below[x + 1]) / 16;
  }
#pragma endscop
}

int main(void)
{
  float *in = malloc(sizeof(float) * WIDTH * HEIGHT), *out = calloc((size_t)WIDTH * HEIGHT, sizeof(float));
  double sum = 0;

  for (int i = 0; i < WIDTH * HEIGHT; i++)
    in[i] = (float)(i * 37 % 251) / 251;
  blur(WIDTH, HEIGHT, in, out);
  for (int i = 0; i < WIDTH * HEIGHT; i++)
    sum += out[i];
  printf("%.6g\n", sum);
  free(in);
  free(out);
  return 0;
}
