/* The functions behind polybench.h. */
#define _POSIX_C_SOURCE 200809L
#include "polybench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ALIGNMENT = 4096 };

static double started_s, stopped_s;

void *polybench_alloc_data(unsigned long long elements, int element_bytes) {
  unsigned long long bytes = elements * (unsigned long long)element_bytes;
  unsigned long long rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  unsigned char *data = NULL;
  unsigned long long i;
  if (posix_memalign((void **)&data, ALIGNMENT, rounded ? rounded : ALIGNMENT)) {
    fprintf(stderr, "cannot allocate %llu bytes\n", bytes);
    exit(1);
  }
  for (i = 0; i < bytes; i++) data[i] = 0;
  return data;
}

void polybench_free_data(void *data) { free(data); }

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void polybench_timer_start(void) { started_s = now_s(); }

void polybench_timer_stop(void) { stopped_s = now_s(); }

void polybench_timer_print(void) { printf("%0.6f\n", stopped_s - started_s); }
