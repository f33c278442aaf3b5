/* Streaming of a lattice-Boltzmann method: every cell sends what it holds to the neighbours that tables name. */
#include <stdio.h>

#define WAYS 9
#ifdef SMALL
#define ROWS 8
#define COLUMNS 12
#else
#define ROWS 128
#define COLUMNS 128
#endif

static const int down[WAYS] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int right[WAYS] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static float held[ROWS][COLUMNS][WAYS], sent[ROWS][COLUMNS][WAYS];
static float density[ROWS][COLUMNS];

int main(void)
{
  double total = 0;

  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++)
      for (int w = 0; w < WAYS; w++)
        held[r][c][w] = (r * 13 + c * 7 + w) % 17 / 16.0f;
#pragma scop
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++) {
      float mass = 0;
      for (int w = 0; w < WAYS; w++)
        mass += held[r][c][w];
      density[r][c] = mass;
      for (int w = 0; w < WAYS; w++)
        sent[(r + down[w] + ROWS) % ROWS][(c + right[w] + COLUMNS) % COLUMNS][w] =
            0.9f * held[r][c][w] + 0.1f * mass / WAYS;
    }
#pragma endscop
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++)
      for (int w = 0; w < WAYS; w++)
        total += (r + 1) * (w + 1) * sent[r][c][w] + density[r][c];
  printf("%.6g\n", total);
  return 0;
}
