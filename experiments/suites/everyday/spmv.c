/* A sparse matrix in compressed rows times a vector: how long a row is, is in the data. */
#include <stdio.h>
#include <stdlib.h>

#ifdef SMALL
#define N 300
#else
#define N 100000
#endif
#define LONGEST 40

static void spmv(int n, const int *row, const int *column, const double *value, const double *x, double *y)
{
#pragma scop
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int k = row[i]; k < row[i + 1]; k++)
      sum += value[k] * x[column[k]];
    y[i] = sum;
  }
#pragma endscop
}

int main(void)
{
  int *row = malloc((N + 1) * sizeof(int)), *column = malloc(N * LONGEST * sizeof(int)), last = 0;
  double *value = malloc(N * LONGEST * sizeof(double)), *x = malloc(N * sizeof(double)), *y = malloc(N * sizeof(double)), sum = 0;

  for (int i = 0; i < N; i++) {
    row[i] = last;
    for (int k = 0; k < (i * 7 + i / 64) % LONGEST; k++, last++) {
      column[last] = (i + k * k * 13) % N;
      value[last] = 1.0 / (1 + k + i % 5);
    }
    x[i] = (i * 37 % 101) * 0.01;
  }
  row[N] = last;
  spmv(N, row, column, value, x, y);
  for (int i = 0; i < N; i++)
    sum += y[i];
  printf("%.10g\n", sum);
  free(row);
  free(column);
  free(value);
  free(x);
  free(y);
  return 0;
}
