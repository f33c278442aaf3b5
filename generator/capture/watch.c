/* Watch runtime: linked into a copy of a program whose loop nests are timed.

   The copy calls antune_watch_start(K) before and antune_watch_stop(K) behind nest K. At its end the process writes
   "watch.log" into the directory WATCH_DIRECTORY: the program's time, then one line "K seconds entries" for each nest. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double begun[WATCH_NESTS], spent[WATCH_NESTS];
static long long entries[WATCH_NESTS];
static double program_begun;

static double clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void antune_watch_start(int nest) { begun[nest] = clock_s(); }

void antune_watch_stop(int nest) {
  spent[nest] += clock_s() - begun[nest];
  entries[nest] += 1;
}

static void write_log(void) {
  FILE *log = fopen(WATCH_DIRECTORY "/watch.log", "w");
  if (!log) return;
  fprintf(log, "%.9g\n", clock_s() - program_begun);
  for (int k = 0; k < WATCH_NESTS; k++) fprintf(log, "%d %.9g %lld\n", k, spent[k], entries[k]);
  fclose(log);
}

__attribute__((constructor)) static void begin(void) {
  program_begun = clock_s();
  atexit(write_log);
}
