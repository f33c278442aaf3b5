/* The nearest centre of every point: local scalars, and a condition on the distance. */
#include <stdio.h>
#include <math.h>

#ifndef N
#ifdef SMALL
#define N 64
#define CENTRES 8
#else
#define N 4096
#define CENTRES 256
#endif
#endif

static float x[N], y[N], z[N], cx[CENTRES], cy[CENTRES], cz[CENTRES], nearest[N];

int main(void)
{
  double sum = 0;

  for (int i = 0; i < N; i++) {
    x[i] = (i * 7 % 101) * 0.01f;
    y[i] = (i * 13 % 97) * 0.02f;
    z[i] = (i * 29 % 89) * 0.03f;
  }
  for (int c = 0; c < CENTRES; c++) {
    cx[c] = (c * 17 % 53) * 0.02f;
    cy[c] = (c * 31 % 47) * 0.03f;
    cz[c] = (c * 11 % 43) * 0.05f;
  }
#pragma scop
  for (int i = 0; i < N; i++) {
    float best = 1e30f;
    for (int c = 0; c < CENTRES; c++) {
      float dx = x[i] - cx[c];
      float dy = y[i] - cy[c];
      float dz = z[i] - cz[c];
      float d = sqrtf(dx * dx + dy * dy + dz * dz);
      if (d < best)
        best = d;
    }
    nearest[i] = best;
  }
#pragma endscop
  for (int i = 0; i < N; i++)
    sum += nearest[i];
  printf("%.4f\n", sum);
  return 0;
}
