/* Heat along a grid, double-buffered: two pointers change places after each time step. */
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define N 30
#define STEPS 7
#else
#define N 500
#define STEPS 101
#endif

static void heat(int n, int steps, float *now, float *next)
{
  float *spare;
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        next[i * n + j] = now[i * n + j] + 0.1f * (now[(i - 1) * n + j] + now[(i + 1) * n + j] + now[i * n + j - 1] +
                                                   now[i * n + j + 1] - 4 * now[i * n + j]);
    spare = now;
    now = next;
    next = spare;
  }
#pragma endscop
}

int main(void)
{
  float *a = malloc(sizeof(float) * N * N), *b = malloc(sizeof(float) * N * N);
  double sum = 0;

  for (int i = 0; i < N * N; i++)
    a[i] = b[i] = (i * 37 % 101) * 0.01f;
  heat(N, STEPS, a, b);
  for (int i = 0; i < N * N; i++)
    sum += (STEPS % 2 ? b : a)[i];
  printf("%.6g\n", sum);
  free(a);
  free(b);
  return 0;
}
