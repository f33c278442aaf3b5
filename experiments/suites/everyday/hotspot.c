/* Heat in a plate until its source is hot enough: no pragma says which loops take the time. */
#include <stdio.h>

#ifdef SMALL
#define ROWS 48
#define COLUMNS 72
#define STEPS 60
#else
#define ROWS 1200
#define COLUMNS 1600
#define STEPS 200
#endif

static double plate[ROWS][COLUMNS], next[ROWS][COLUMNS], power[ROWS][COLUMNS];

static void start(void)
{
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      plate[i][j] = 20.0 + (i * 7 + j * 3) % 11;
      next[i][j] = 0.0;
      power[i][j] = (i > ROWS / 3 && i < ROWS / 2 && j > COLUMNS / 4 && j < COLUMNS / 3) ? 5.0 : 0.0;
    }
}

static void step(void)
{
  for (int i = 1; i < ROWS - 1; i++)
    for (int j = 1; j < COLUMNS - 1; j++)
      next[i][j] = plate[i][j] + 0.1 * power[i][j] +
                   0.2 * (plate[i - 1][j] + plate[i + 1][j] + plate[i][j - 1] + plate[i][j + 1] - 4.0 * plate[i][j]);
  for (int i = 1; i < ROWS - 1; i++)
    for (int j = 1; j < COLUMNS - 1; j++)
      plate[i][j] = next[i][j];
}

int main(void)
{
  double source = 0.0, sum = 0.0;
  int done = 0;

  start();
  while (done < STEPS && source < 1000.0) {
    step();
    source = plate[ROWS * 5 / 12][COLUMNS * 7 / 24];
    done++;
  }
  for (int i = 0; i < ROWS; i++)
    sum += plate[i][i % COLUMNS];
  printf("%d steps, checksum %.10g\n", done, sum);
  return 0;
}
