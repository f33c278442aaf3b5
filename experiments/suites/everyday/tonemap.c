/* Tone mapping of a picture: small functions of one file, with early returns and local variables. */
#include <math.h>
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 48
#else
#define N 1024
#endif
#endif

static float light[N][N], mapped[N][N];
static unsigned char shown[N][N];

static inline float clamp(float x, float low, float high)
{
  if (x < low)
    return low;
  if (x > high)
    return high;
  return x;
}

static inline float at(float picture[N][N], int i, int j)
{
  if (i < 0)
    i = 0;
  if (j >= N)
    j = N - 1;
  return picture[i][j];
}

static inline float filmic(float x)
{
  float above = x * (2.51f * x + 0.03f);
  float below = x * (2.43f * x + 0.59f) + 0.14f;
  return clamp(above / below, 0, 1);
}

static inline float gamma_of(float x)
{
  if (x <= 0.0031308f)
    return 12.92f * x;
  return 1.055f * powf(x, 1 / 2.4f) - 0.055f;
}

int main(void)
{
  double sum = 0;

  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      light[i][j] = (i * 37 % 101 + j * 11 % 53) * 0.02f;
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float around = 0.5f * (at(light, i - 1, j) + at(light, i, j + 1));
      mapped[i][j] = gamma_of(filmic(light[i][j] + 0.2f * (light[i][j] - around)));
      shown[i][j] = 255 * mapped[i][j] / 2 + 1;
    }
#pragma endscop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      sum += mapped[i][j];
  printf("%.6g\n", sum);
  return 0;
}
