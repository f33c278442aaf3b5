/* What a pipeline as sequential C needs around it: files, times, rounding modes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each operand occurs once in what a macro becomes: nested ones would else double the text at every level. */
#define min(a, b) ({ __auto_type antune_a = (a); __auto_type antune_b = (b); antune_a < antune_b ? antune_a : antune_b; })
#define max(a, b) ({ __auto_type antune_a = (a); __auto_type antune_b = (b); antune_a > antune_b ? antune_a : antune_b; })

static inline int antune_popcount(unsigned int x) { return __builtin_popcount(x); }
static inline int antune_popcountl(unsigned long x) { return __builtin_popcountl(x); }
static inline int antune_clz(unsigned int x) { return x ? __builtin_clz(x) : 32; }
static inline int antune_clzl(unsigned long x) { return x ? __builtin_clzl(x) : 64; }
static inline float antune_as_float(unsigned int x) { float y; memcpy(&y, &x, sizeof y); return y; }
static inline double antune_as_double(unsigned long x) { double y; memcpy(&y, &x, sizeof y); return y; }
static inline unsigned int antune_as_uint(float x) { unsigned int y; memcpy(&y, &x, sizeof y); return y; }
static inline unsigned long antune_as_ulong(double x) { unsigned long y; memcpy(&y, &x, sizeof y); return y; }

#define ANTUNE_LEAST_MS 500.0  /* repeats go on for so long, */
#define ANTUNE_MOST_MS 20000.0 /* but not when one takes a part of this */
#define ANTUNE_REPEATS 30

static double antune_fastest_ms = HUGE_VAL;

static double antune_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void antune_fail(const char *what) {
  fprintf(stderr, "error: %s\n", what);
  exit(1);
}

static void *antune_new(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) antune_fail("not enough memory");
  return memory;
}

static void antune_read(const char *name, void *data, size_t count, size_t size) {
  FILE *file = fopen(name, "rb");
  if (!file || fread(data, size, count, file) != count) antune_fail(name);
  fclose(file);
}

static void antune_unwritten(const char *name) {
  fprintf(stderr, "error: %s cannot be written: %s\n", name, strerror(errno));
  exit(1);
}

static void antune_write(const char *name, const void *data, size_t count, size_t size) {
  FILE *file = fopen(name, "wb");
  if (!file || fwrite(data, size, count, file) != count || fclose(file)) antune_unwritten(name);
}

/* Changes inputs by one unit in the last place. */
static void antune_nudge_float(float *data, size_t count) {
  for (size_t i = 0; i < count; i++) data[i] = nextafterf(data[i], i * 2654435761u & 65536 ? 1e30f : -1e30f);
}

static void antune_nudge_double(double *data, size_t count) {
  for (size_t i = 0; i < count; i++) data[i] = nextafter(data[i], i * 2654435761u & 65536 ? 1e300 : -1e300);
}

/* The first run warms up; its time counts only where it takes so long that there is no other. */
#define ANTUNE_TIMED(call) do { \
    FILE *antune_times = fopen("times", "w"); \
    if (!antune_times) antune_unwritten("times"); \
    double antune_all = 0; \
    for (int antune_k = 0; antune_k <= ANTUNE_REPEATS && (antune_k < 2 || antune_all < ANTUNE_LEAST_MS); antune_k++) { \
      const double antune_start = antune_now(); \
      call; \
      const double antune_ms = antune_now() - antune_start; \
      antune_fastest_ms = fmin(antune_fastest_ms, antune_ms); \
      if (antune_k || antune_ms > ANTUNE_MOST_MS) fprintf(antune_times, "%.6f\n", antune_ms); \
      antune_all += antune_k ? antune_ms : 0; \
      if (antune_ms > ANTUNE_MOST_MS) break; \
    } \
    if (fclose(antune_times)) antune_unwritten("times"); \
  } while (0)

/* Runs with another rounding; false when that would take too long. */
#define ANTUNE_ROUNDED(call, down) (antune_fastest_ms < ANTUNE_MOST_MS / 4 && \
    (fesetround((down) ? FE_DOWNWARD : FE_UPWARD), (call), fesetround(FE_TONEAREST), 1))
