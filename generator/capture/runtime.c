/* Capture runtime: linked into an instrumented copy of the tuned program.

   The copy calls antune_capture_* around its SCoP. On the first arrival the runtime writes, into the directory
   antune_capture_directory, a line-oriented log ("capture.log"), the data of every variable at the entry ("in_K.bin")
   and of the written ones at the exit ("out_K.bin"), times the SCoP over several repeats that all start from the
   same data, and ends the process. The antune_harness_* half makes seeded data for a function without a caller.

   After the last sample come pairs of repeats with all arithmetic rounded up and rounded down ("up0_K.bin",
   "down0_K.bin"): what rounding errors do to the results. From the second pair on the inputs are changed by one unit
   in the last place too, which gives other rounding errors.

   The instrumented copy defines `antune_capture_directory` and the other settings, so that this file is compiled once. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <dirent.h>
#include <omp.h>
#endif

enum { TIMING, PROCESS, ROUNDING };
extern const char *const antune_capture_directory;
extern const double antune_capture_limits_ms[]; /* for timing beyond the second sample, until the process is killed, for rounded repeats */
extern const unsigned long long antune_capture_seed;
extern const int antune_capture_rounded_pairs, antune_capture_dominant;
/* Linked into a probing run only (blocks.c). */
extern size_t antune_blocks_room(const void *) __attribute__((weak));

enum { MOST_SAMPLES = 20, FEWEST_SAMPLES = 5, FEWEST_WHEN_SLOW = 2, LONGEST_PATH = 4200 };
/* Where a machine cannot round otherwise, all runs give the same and no result is found to depend on it. */
#if defined FE_UPWARD && defined FE_DOWNWARD
enum { ROUND_UP = FE_UPWARD, ROUND_DOWN = FE_DOWNWARD };
#else
enum { ROUND_UP = FE_TONEAREST, ROUND_DOWN = FE_TONEAREST };
#endif
static const double ENOUGH_MS = 1000.0;
static const size_t UNKNOWN_BYTES = (size_t)1 << 26;

/* What is kept of one variable: an array has its `address`, what is written a copy of its data at the entry.
   `real`: the size of a floating element, 0 for integers. Members of structures lie in pieces of `piece` bytes, `stride`
   bytes from each other; stride 0: in one piece. Copies are in one piece. */
struct variable {
  void *address;
  void *copy;
  size_t bytes;
  size_t real;
  size_t stride;
  size_t piece;
};

static struct variable *variables;
static int variable_count;
static FILE *log_stream;
static int arrived, active, runs, samples;
static int rounded = -1; /* the number of the repeat among those with another rounding; -1: not there yet */
static double entered_ms, started_ms, elapsed_ms, total_ms, sample_ms[MOST_SAMPLES];

static double clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* The path of a file: `name`, or NAME_K.bin. */
static const char *in_directory(char *path, const char *name, int k) {
  if (k < 0) snprintf(path, LONGEST_PATH, "%s/%s", antune_capture_directory, name);
  else snprintf(path, LONGEST_PATH, "%s/%s_%d.bin", antune_capture_directory, name, k);
  return path;
}

/* One line of the log, flushed: it tells how far a program came that does not survive. */
static void note(const char *format, ...) {
  va_list arguments;
  char path[LONGEST_PATH];
  if (!log_stream) log_stream = fopen(in_directory(path, "capture.log", -1), "w");
  if (!log_stream) {
    fprintf(stderr, "cannot write to %s\n", antune_capture_directory);
    _exit(97);
  }
  va_start(arguments, format);
  vfprintf(log_stream, format, arguments);
  va_end(arguments);
  fputc('\n', log_stream);
  fflush(log_stream);
}

/* Ends the process; `k` is the variable at fault, -1 for none. */
static void fail(const char *what, int k) {
  note("error %d %s", k, what);
  _exit(97);
}

static void dump(const char *direction, int k, const void *data, size_t bytes) {
  char path[LONGEST_PATH];
  FILE *file = fopen(in_directory(path, direction, k), "wb");
  if (!file) fail("cannot create a file for the captured data", k);
  errno = 0;
  if (fwrite(data, 1, bytes, file) != bytes || fclose(file))
    fail(errno == EFAULT ? "its memory is smaller than its declaration says" : strerror(errno), k);
}

/* The address of the byte `offset` of a variable's data. */
static char *place_of(const struct variable *v, size_t offset) {
  return (char *)v->address + (v->stride ? offset / v->piece * v->stride + offset % v->piece : offset);
}

/* Copies a variable's data to `copy`, or back (`out`). */
static void move(const struct variable *v, void *copy, int out) {
  size_t offset, piece = v->stride ? v->piece : v->bytes;
  for (offset = 0; offset < v->bytes; offset += piece) {
    char *there = place_of(v, offset);
    memcpy(out ? (char *)copy + offset : there, out ? there : (char *)copy + offset, piece);
  }
}

/* The data of a variable in pieces are put together first. */
static void dump_variable(const char *direction, int k, const struct variable *v) {
  void *together;
  if (!v->stride) {
    dump(direction, k, v->address, v->bytes);
    return;
  }
  together = malloc(v->bytes ? v->bytes : 1);
  if (!together) fail("out of memory", k);
  move(v, together, 1);
  dump(direction, k, together, v->bytes);
  free(together);
}

/* `data` NULL: nothing is kept but the place. */
static void keep(int k, void *address, const void *data, size_t bytes, size_t real) {
  if (k >= variable_count) {
    variables = realloc(variables, (size_t)(k + 1) * sizeof *variables);
    if (!variables) fail("out of memory", k);
    memset(variables + variable_count, 0, (size_t)(k + 1 - variable_count) * sizeof *variables);
    variable_count = k + 1;
  }
  variables[k].address = address;
  variables[k].bytes = bytes;
  variables[k].real = real;
  if (!data) return;
  variables[k].copy = malloc(bytes ? bytes : 1);
  if (!variables[k].copy) fail("out of memory for a copy of the data", k);
  memcpy(variables[k].copy, data, bytes);
}

/* The number of elements; an extent below zero is an error. */
static size_t element_count(int k, int dims, const long long *extents) {
  size_t count = 1;
  int d;
  for (d = 0; d < dims; d++) {
    if (extents[d] < 0) fail("an extent below zero", k);
    count *= (size_t)extents[d];
  }
  return count;
}

/* Built with OpenMP: how many threads the program has used so far; they stay for the next parallel region. */
static void note_threads(void) {
#ifdef _OPENMP
  DIR *tasks = opendir("/proc/self/task");
  struct dirent *entry;
  int count = 0;
  while (tasks && (entry = readdir(tasks))) count += entry->d_name[0] != '.';
  if (tasks) closedir(tasks);
  note("threads %d", count ? count : omp_get_max_threads());
#endif
}

/* True on the first arrival at the SCoP only. */
int antune_capture_begin(void) {
#ifdef _OPENMP
  if (omp_in_parallel()) {
#pragma omp critical(antune_capture) /* of the threads that come here, one writes the log and ends all */
    fail("it lies inside a parallel region of the program", -1);
  }
#endif
  if (arrived) return 0;
  arrived = active = 1;
  return 1;
}

/* Before any data are read: an element of another size than `expected` ends the process, as reading and restoring that
   many bytes per element would reach memory of other variables, also of this file. */
void antune_capture_size(int k, unsigned long element, unsigned long expected) {
  if (element == expected) return;
  note("size %d %lu", k, element);
  _exit(97);
}

void antune_capture_parameter(const char *name, long long value) { note("parameter %s %lld", name, value); }

/* In a probing run that has recorded what was allocated (blocks.c): how many bytes lie behind a pointer, 0 where unknown. */
void antune_capture_room(const char *name, const void *address, unsigned long unit) {
  if (unit && antune_blocks_room) note("room %s %llu", name, (unsigned long long)(antune_blocks_room(address) / unit));
}

/* The end of a probing run, which only asks for the parameters and how much memory there is. */
void antune_capture_leave(void) {
  note("done");
  _exit(0);
}

void antune_capture_array(int k, const void *address, unsigned long element, int dims, const long long *extents,
                          int written, int real, unsigned long stride, unsigned long piece) {
  size_t bytes = element_count(k, dims, extents) * element;
  struct variable found = {(void *)address, NULL, bytes, real ? element : 0, stride, piece};
  int d;
  note("variable %d %lu %llu %d", k, element, (unsigned long long)(size_t)address, dims);
  for (d = 0; d < dims; d++) note("extent %d %lld", k, extents[d]);
  if (stride) note("pieces %d %lu %lu", k, stride, piece);
  dump_variable("in", k, &found);
  keep(k, (void *)address, NULL, bytes, real ? element : 0);
  variables[k].stride = stride;
  variables[k].piece = piece;
  if (written) {
    variables[k].copy = malloc(bytes ? bytes : 1);
    if (!variables[k].copy) fail("out of memory for a copy of the data", k);
    move(&variables[k], variables[k].copy, 1);
  }
  note("saved %d", k);
}

/* A scalar comes as a copy: taking its own address would keep the compiler from holding it in a register. */
void antune_capture_scalar(int k, const void *copy, unsigned long bytes, unsigned long declared, int written) {
  note("variable %d %lu 0 0", k, declared);
  dump("in", k, copy, bytes);
  if (written) keep(k, NULL, copy, bytes, 0);
  note("saved %d", k);
}

/* A counter-based generator (splitmix64): the value depends on stream and position alone. */
static unsigned long long mixed(unsigned long long stream, unsigned long long position) {
  unsigned long long z = stream + (position + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/* True when the array's memory can be written: reading a file into memory reports what a store would die of. */
static int writable(int k) {
  char path[LONGEST_PATH];
  const struct variable *v = &variables[k];
  size_t done = 0;
  ssize_t got = 1;
  int file;
  file = open(in_directory(path, "in", k), O_RDONLY);
  if (file < 0) return 0;
  while (done < v->bytes && got > 0) {
    size_t most = v->stride ? v->piece - done % v->piece : v->bytes - done;
    got = read(file, place_of(v, done), most);
    if (got > 0) done += (size_t)got;
  }
  close(file);
  return done == v->bytes;
}

/* Moves every floating element but 0 to one of its neighbours: one unit in the last place up or down. An infinity or
   the greatest number stays. */
static void perturb(int k, unsigned long long stream) {
  size_t i, count = variables[k].real ? variables[k].bytes / variables[k].real : 0;
  for (i = 0; i < count; i++) {
    int step = mixed(stream, i) & 1 ? 1 : -1;
    if (variables[k].real == sizeof(float)) {
      uint32_t *bits = (uint32_t *)place_of(&variables[k], i * sizeof(float)), size = *bits & 0x7FFFFFFFu;
      if (size && size < 0x7F7FFFFFu) *bits += (uint32_t)step;
    } else {
      uint64_t *bits = (uint64_t *)place_of(&variables[k], i * sizeof(double)), size = *bits & 0x7FFFFFFFFFFFFFFFu;
      if (size && size < 0x7FEFFFFFFFFFFFFFu) *bits += (uint64_t)(int64_t)step;
    }
  }
}

/* Both repeats of a pair get the same inputs. */
static void perturb_inputs(void) {
  int k, fresh = rounded % 2 == 0;
  for (k = 0; k < variable_count; k++)
    if (variables[k].address && variables[k].real && (variables[k].copy || (fresh && writable(k))))
      perturb(k, mixed(antune_capture_seed + (unsigned long long)(rounded / 2), (unsigned long long)k));
}

/* Before every run but the first: puts the arrays back and says that the scalars need it too. */
int antune_capture_repeating(void) {
  int k;
  if (!active || runs == 0) return 0;
  for (k = 0; k < variable_count; k++)
    if (variables[k].address && variables[k].copy) move(&variables[k], variables[k].copy, 0);
  if (rounded >= 2) perturb_inputs();
  return 1;
}

void antune_capture_value(int k, void *target) { memcpy(target, variables[k].copy, variables[k].bytes); }

void antune_capture_start(void) {
  if (!active) return;
  if (rounded >= 0) fesetround(rounded % 2 ? ROUND_DOWN : ROUND_UP);
  started_ms = clock_ms();
  if (runs == 0) entered_ms = started_ms;
}

void antune_capture_stop(void) {
  elapsed_ms = clock_ms() - started_ms;
  if (rounded >= 0) fesetround(FE_TONEAREST);
  runs++;
}

/* True after the first run, whose results are the reference, and after those with another rounding. */
int antune_capture_wanted(void) { return active && (runs == 1 || rounded >= 0); }

/* `copy`: of a scalar; NULL for an array. */
static void dump_result(int k, const void *copy) {
  char direction[32] = "out";
  if (rounded >= 0) snprintf(direction, sizeof direction, "%s%d", rounded % 2 ? "down" : "up", rounded / 2);
  if (copy) dump(direction, k, copy, variables[k].bytes);
  else dump_variable(direction, k, &variables[k]);
}

void antune_capture_result(int k, const void *copy) { dump_result(k, copy); }

void antune_capture_results(void) {
  int k;
  for (k = 0; k < variable_count; k++)
    if (variables[k].address && variables[k].copy) dump_result(k, NULL);
  note(rounded < 0 ? "results" : rounded % 2 ? "down %d" : "up %d", rounded / 2);
}

static void take_sample(void) {
  sample_ms[samples++] = elapsed_ms;
  total_ms += elapsed_ms;
}

static int another_run(void) {
  double spent = clock_ms() - entered_ms;
  if (samples == MOST_SAMPLES) return 0;
  if (samples < FEWEST_WHEN_SLOW) return spent + 1.2 * elapsed_ms < antune_capture_limits_ms[PROCESS] || samples == 0;
  if (samples < FEWEST_SAMPLES) return spent + elapsed_ms < antune_capture_limits_ms[TIMING];
  return total_ms < ENOUGH_MS;
}

/* True while a repeat with another rounding is wanted. A pair is begun only when there is time for both. */
static int another_rounding(void) {
  static double began_ms;
  double now = clock_ms();
  if (rounded < 0) began_ms = now;
  if (++rounded % 2) return 1;
  return rounded < 2 * antune_capture_rounded_pairs && now - began_ms + 2 * elapsed_ms < antune_capture_limits_ms[ROUNDING] &&
         now - entered_ms + 2.4 * elapsed_ms < antune_capture_limits_ms[PROCESS];
}

/* True while another repeat is wanted; ends the process when enough is known. Once "done" is written nothing that
   follows can spoil the capture. */
int antune_capture_more(void) {
  int i;
  if (!active) return 0;
  if (rounded < 0) {
    if (runs > 1 || elapsed_ms > antune_capture_limits_ms[TIMING]) take_sample(); /* a very long first run needs no warm-up */
    if (another_run()) return 1;
    for (i = 0; i < samples; i++) note("time %.9g", sample_ms[i]);
    note_threads();
    note("done");
  }
  if (another_rounding()) return 1;
  note("complete");
  _exit(0);
}

/* ---- data for a function that is called without its program ---- */

/* The values depend on seed, name and position alone. */
static unsigned long long stream_of(const char *name) {
  unsigned long long hash = 0xCBF29CE484222325ULL ^ mixed(antune_capture_seed, 0);
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3ULL;
  return hash;
}

/* In [0.5, 1.5), exact in a float: products of thousands of factors and sums of them stay finite. */
static double real_at(unsigned long long stream, unsigned long long position) {
  return 0.5 + (double)(mixed(stream, position) >> 41) / 8388608.0;
}

double antune_harness_real(const char *name) { return real_at(stream_of(name), 0); }

/* In 1..7: fits every integer type and may divide. */
long long antune_harness_integer(const char *name) { return 1 + (long long)(mixed(stream_of(name), 0) % 7); }

static int all_zero(const unsigned char *data, size_t bytes) {
  size_t i;
  for (i = 0; i < bytes; i++)
    if (data[i]) return 0;
  return 1;
}

static void fill_integers(unsigned long long stream, void *data, unsigned long element, size_t count) {
  size_t i;
  for (i = 0; i < count; i++) {
    long long value = 1 + (long long)(mixed(stream, i) % 7);
    switch (element) {
      case 1: ((signed char *)data)[i] = (signed char)value; break;
      case 2: ((short *)data)[i] = (short)value; break;
      case 4: ((int *)data)[i] = (int)value; break;
      default: ((long long *)data)[i] = value; break;
    }
  }
}

static void fill_reals(unsigned long long stream, void *data, unsigned long element, size_t count, size_t dominant) {
  size_t i;
  for (i = 0; i < count; i++) {
    double value = real_at(stream, i);
    if (dominant && i % (dominant + 1) == 0) value += 2.0 * (double)dominant;
    if (element == sizeof(float)) ((float *)data)[i] = (float)value;
    else ((double *)data)[i] = value;
  }
}

/* Fills an array unless the program gave it values. With antune_capture_dominant a square matrix gets a dominant diagonal:
   factorisations need one to stay finite. */
void antune_harness_fill(const char *name, void *data, unsigned long element, int real, int dims,
                         const long long *extents) {
  size_t count = element_count(-1, dims, extents);
  int square = dims == 2 && extents[0] == extents[1];
  if (!all_zero(data, count * element)) return;
  if (real) fill_reals(stream_of(name), data, element, count, antune_capture_dominant && square ? (size_t)extents[0] : 0);
  else fill_integers(stream_of(name), data, element, count);
}

/* Zeroed memory for something whose size is not known (yet). */
void *antune_harness_space(void) {
  void *memory = calloc(UNKNOWN_BYTES, 1);
  if (!memory) fail("out of memory", -1);
  return memory;
}

void *antune_harness_array(const char *name, unsigned long element, int real, int dims, const long long *extents) {
  size_t count = element_count(-1, dims, extents);
  void *memory = calloc(count ? count : 1, element);
  if (!memory) fail("out of memory for the arrays", -1);
  antune_harness_fill(name, memory, element, real, dims, extents);
  return memory;
}

/* A size chosen for the caller (`chosen`: nobody asked for it, say so); opaque, so that no loop is specialised on it. */
long long antune_harness_parameter(const char *name, long long value, int chosen) {
  if (chosen) note("default %s %lld", name, value);
  return value;
}
