/* A discrete Fourier transform by its definition, in complex numbers of C99, and the size of what comes out. */
#include <complex.h>
#include <math.h>
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 48
#else
#define N 1024
#endif
#endif

static float complex signal[N], turns[N], spectrum[N];
static float sizes[N];

int main(void)
{
  double sum = 0;

  for (int i = 0; i < N; i++) {
    signal[i] = (i * 7 % 13) * 0.1f + (i * 5 % 11) * 0.05f * I;
    turns[i] = cexpf(-2 * 3.14159265f * I * i / N);
  }
#pragma scop
  for (int k = 0; k < N; k++) {
    spectrum[k] = 0;
    for (int i = 0; i < N; i++)
      spectrum[k] += signal[i] * turns[i * k % N];
    spectrum[k] /= N;
    sizes[k] = cabsf(spectrum[k]);
  }
#pragma endscop
  for (int k = 0; k < N; k++)
    sum += sizes[k];
  printf("%.5g\n", sum);
  return 0;
}
