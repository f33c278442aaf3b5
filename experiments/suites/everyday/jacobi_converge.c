/* Jacobi's method until nothing changes any more: the number of steps is in the data. */
#include <math.h>
#include <stdio.h>

#ifdef SMALL
#define N 30
#define MOST 60
#define ENOUGH 0.5
#else
#define N 500
#define MOST 200
#define ENOUGH 0.3
#endif

static double now[N][N], next[N][N];

static double solve(void)
{
  double change = 0.0;
#pragma scop
  for (int step = 0; step < MOST; step++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        next[i][j] = 0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
    change = 0.0;
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        change = fmax(change, fabs(next[i][j] - now[i][j]));
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        now[i][j] = next[i][j];
    if (change < ENOUGH)
      break;
  }
#pragma endscop
  return change;
}

int main(void)
{
  for (int j = 0; j < N; j++)
    now[0][j] = next[0][j] = 100.0;
  printf("%.6g\n", solve());
  printf("%.6g\n", now[3][3]);
  return 0;
}
