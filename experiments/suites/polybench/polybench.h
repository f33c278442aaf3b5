/* What the kernels of this folder share: arrays on the heap, protection against dead-code elimination, a timer.

   The macro names are those that PolyBench/C made a habit, so that its programs and these read alike.

     POLYBENCH_USE_C99_PROTO   array parameters have run-time extents (A[ni][nk]) instead of constant ones
     POLYBENCH_USE_SCALAR_LB   loop bounds are the size macros instead of the function's arguments
     POLYBENCH_STACK_ARRAYS    arrays are automatic variables instead of heap blocks
     POLYBENCH_DUMP_ARRAYS     the results are always printed (stderr)
     POLYBENCH_TIME            the kernel's seconds are printed (stdout) */
#ifndef POLYBENCH_H
#define POLYBENCH_H

#include <stddef.h>

#ifdef __GNUC__ /* compilers do not know `#pragma scop`, and -Wall says so */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

#ifdef POLYBENCH_USE_SCALAR_LB
#define POLYBENCH_LOOP_BOUND(constant, argument) constant
#else
#define POLYBENCH_LOOP_BOUND(constant, argument) argument
#endif

#ifdef POLYBENCH_USE_C99_PROTO
#define POLYBENCH_C99_SELECT(constant, argument) argument
#else
#define POLYBENCH_C99_SELECT(constant, argument) constant
#endif

#ifndef POLYBENCH_PADDING_FACTOR
#define POLYBENCH_PADDING_FACTOR 0
#endif
#define POLYBENCH_EXTENT(constant, argument) \
  POLYBENCH_C99_SELECT(constant, argument) + POLYBENCH_PADDING_FACTOR

/* Array declarators with one to four dimensions; as a parameter `A[NI + 0][NK + 0]`. */
#define POLYBENCH_1D(var, C1, a1) var[POLYBENCH_EXTENT(C1, a1)]
#define POLYBENCH_2D(var, C1, C2, a1, a2) var[POLYBENCH_EXTENT(C1, a1)][POLYBENCH_EXTENT(C2, a2)]
#define POLYBENCH_3D(var, C1, C2, C3, a1, a2, a3) \
  var[POLYBENCH_EXTENT(C1, a1)][POLYBENCH_EXTENT(C2, a2)][POLYBENCH_EXTENT(C3, a3)]
#define POLYBENCH_4D(var, C1, C2, C3, C4, a1, a2, a3, a4) \
  var[POLYBENCH_EXTENT(C1, a1)][POLYBENCH_EXTENT(C2, a2)][POLYBENCH_EXTENT(C3, a3)][POLYBENCH_EXTENT(C4, a4)]

/* A variable that holds an array: on the heap it is a pointer to the whole array. */
#ifdef POLYBENCH_STACK_ARRAYS
#define POLYBENCH_ARRAY(var) var
#define POLYBENCH_FREE_ARRAY(var)
#define POLYBENCH_DECL_VAR(var) var
#define POLYBENCH_ALLOC(var, elements, type)
#else
#define POLYBENCH_ARRAY(var) *var
#define POLYBENCH_FREE_ARRAY(var) polybench_free_data((void *)var);
#define POLYBENCH_DECL_VAR(var) (*var)
#define POLYBENCH_ALLOC(var, elements, type) var = polybench_alloc_data(elements, (int)sizeof(type));
#endif

#define POLYBENCH_COUNT(C1) ((unsigned long long)((C1) + POLYBENCH_PADDING_FACTOR))
#define POLYBENCH_1D_ARRAY_DECL(var, type, C1, a1)   \
  type POLYBENCH_1D(POLYBENCH_DECL_VAR(var), C1, a1); \
  POLYBENCH_ALLOC(var, POLYBENCH_COUNT(C1), type)
#define POLYBENCH_2D_ARRAY_DECL(var, type, C1, C2, a1, a2)    \
  type POLYBENCH_2D(POLYBENCH_DECL_VAR(var), C1, C2, a1, a2); \
  POLYBENCH_ALLOC(var, POLYBENCH_COUNT(C1) * POLYBENCH_COUNT(C2), type)
#define POLYBENCH_3D_ARRAY_DECL(var, type, C1, C2, C3, a1, a2, a3)    \
  type POLYBENCH_3D(POLYBENCH_DECL_VAR(var), C1, C2, C3, a1, a2, a3); \
  POLYBENCH_ALLOC(var, POLYBENCH_COUNT(C1) * POLYBENCH_COUNT(C2) * POLYBENCH_COUNT(C3), type)

/* Printing the results keeps the compiler from dropping the kernel; a run with arguments does not print. */
#ifdef POLYBENCH_DUMP_ARRAYS
#define POLYBENCH_DCE_ONLY_CODE
#else
#define POLYBENCH_DCE_ONLY_CODE if (argc > 42 && !*argv[0])
#endif
#define POLYBENCH_DCE(code) code
#define polybench_prevent_dce(call) POLYBENCH_DCE_ONLY_CODE call

#define POLYBENCH_DUMP_TARGET stderr
#define POLYBENCH_DUMP_START fprintf(POLYBENCH_DUMP_TARGET, "==BEGIN DUMP_ARRAYS==\n")
#define POLYBENCH_DUMP_FINISH fprintf(POLYBENCH_DUMP_TARGET, "==END   DUMP_ARRAYS==\n")
#define POLYBENCH_DUMP_BEGIN(name) fprintf(POLYBENCH_DUMP_TARGET, "begin dump: %s", name)
#define POLYBENCH_DUMP_END(name) fprintf(POLYBENCH_DUMP_TARGET, "\nend   dump: %s\n", name)

#ifdef POLYBENCH_TIME
#define polybench_start_instruments polybench_timer_start();
#define polybench_stop_instruments polybench_timer_stop();
#define polybench_print_instruments polybench_timer_print();
#else
#define polybench_start_instruments
#define polybench_stop_instruments
#define polybench_print_instruments
#endif

/* A zeroed block for `elements` elements; ends the program with a message when there is no memory. */
extern void *polybench_alloc_data(unsigned long long elements, int element_bytes);
extern void polybench_free_data(void *data);

extern void polybench_timer_start(void);
extern void polybench_timer_stop(void);
extern void polybench_timer_print(void);

#endif
