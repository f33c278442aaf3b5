/* lu: A = L U without pivoting, both in place of A; the diagonal of L is one. */
#include <math.h>
#include <stdio.h>

#include "polybench.h"
#include "lu.h"

/* A = L L^T with L[i][j] = 1 - j / n below the diagonal and 1 on it: symmetric and positive definite.

   Every row needs only those above it, so that going upwards the product can take the place of L. */
static void init_array(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n)) {
  int i, j, k;
  for (i = 0; i < n; i++) {
    for (j = 0; j < i; j++) A[i][j] = (DATA_TYPE)(-j % n) / n + 1;
    A[i][i] = 1;
  }
  for (i = n - 1; i >= 0; i--)
    for (j = i; j >= 0; j--) {
      DATA_TYPE product = 0;
      for (k = 0; k <= j; k++) product += A[i][k] * A[j][k];
      A[i][j] = product;
      A[j][i] = product;
    }
}

/* Prints what is alive after the kernel, twenty numbers a line. */
static void print_array(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n)) {
  int i, j;
  POLYBENCH_DUMP_START;
  POLYBENCH_DUMP_BEGIN("A");
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) {
      if ((i * n + j) % 20 == 0) fprintf(POLYBENCH_DUMP_TARGET, "\n");
      fprintf(POLYBENCH_DUMP_TARGET, DATA_PRINTF_MODIFIER, A[i][j]);
    }
  POLYBENCH_DUMP_END("A");
  POLYBENCH_DUMP_FINISH;
}

/* The computation that is tuned; called once. */
static void kernel_lu(int n, DATA_TYPE POLYBENCH_2D(A, N, N, n, n)) {
  int i, j, k;
#pragma scop
  for (i = 0; i < _PB_N; i++) {
    for (j = 0; j < i; j++) {
      for (k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];
      A[i][j] /= A[j][j];
    }
    for (j = i; j < _PB_N; j++)
      for (k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j];
  }
#pragma endscop
}

int main(int argc, char **argv) {
  int n = N;
  POLYBENCH_2D_ARRAY_DECL(A, DATA_TYPE, N, N, n, n);

  init_array(n, POLYBENCH_ARRAY(A));

  polybench_start_instruments;
  kernel_lu(n, POLYBENCH_ARRAY(A));
  polybench_stop_instruments;
  polybench_print_instruments;

  polybench_prevent_dce(print_array(n, POLYBENCH_ARRAY(A)));

  POLYBENCH_FREE_ARRAY(A);
  (void)argc;
  (void)argv;
  return 0;
}
