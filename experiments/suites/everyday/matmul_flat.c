/* A matrix product as it is written most often: matrices in one dimension, from malloc. */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#ifdef SMALL
#define N 48
#else
#define N 384
#endif
#endif

static void multiply(int n, const float *a, const float *b, float *c)
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      c[i * n + j] = 0;
      for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
#pragma endscop
}

int main(void)
{
  float *a = malloc(sizeof(float) * N * N), *b = malloc(sizeof(float) * N * N), *c = malloc(sizeof(float) * N * N);
  double sum = 0;

  for (int i = 0; i < N * N; i++) {
    a[i] = (i * 7 % 13) * 0.25f;
    b[i] = (i * 5 % 11) * 0.5f;
  }
  multiply(N, a, b, c);
  for (int i = 0; i < N * N; i++)
    sum += c[i];
  printf("%.6g\n", sum);
  free(a);
  free(b);
  free(c);
  return 0;
}
