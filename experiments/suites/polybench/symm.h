/* symm: dataset sizes (PolyBench/C 4.2.1) and element type.

   Choose a class with -DMINI_DATASET ... -DEXTRALARGE_DATASET (LARGE_DATASET if none), or any size with
   -DN=...; -DDATA_TYPE_IS_FLOAT computes in float. */
#ifndef PB_SYMM_H
#define PB_SYMM_H

#if !defined(MINI_DATASET) && !defined(SMALL_DATASET) && !defined(MEDIUM_DATASET) && \
    !defined(LARGE_DATASET) && !defined(EXTRALARGE_DATASET)
#define LARGE_DATASET
#endif

#if defined(MINI_DATASET)
#define M_OF_CLASS 20
#define N_OF_CLASS 30
#elif defined(SMALL_DATASET)
#define M_OF_CLASS 60
#define N_OF_CLASS 80
#elif defined(MEDIUM_DATASET)
#define M_OF_CLASS 200
#define N_OF_CLASS 240
#elif defined(LARGE_DATASET)
#define M_OF_CLASS 1000
#define N_OF_CLASS 1200
#elif defined(EXTRALARGE_DATASET)
#define M_OF_CLASS 2000
#define N_OF_CLASS 2600
#endif

#ifndef M
#define M M_OF_CLASS
#endif
#ifndef N
#define N N_OF_CLASS
#endif

#define _PB_M POLYBENCH_LOOP_BOUND(M, m)
#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

#ifdef DATA_TYPE_IS_FLOAT
#define DATA_TYPE float
#define DATA_PRINTF_MODIFIER "%0.2f "
#define SCALAR_VAL(x) x##f
#define SQRT_FUN(x) sqrtf(x)
#define EXP_FUN(x) expf(x)
#define POW_FUN(x, y) powf(x, y)
#else
#define DATA_TYPE double
#define DATA_PRINTF_MODIFIER "%0.2lf "
#define SCALAR_VAL(x) x
#define SQRT_FUN(x) sqrt(x)
#define EXP_FUN(x) exp(x)
#define POW_FUN(x, y) pow(x, y)
#endif

#endif
