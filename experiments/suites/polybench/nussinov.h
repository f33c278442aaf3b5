/* nussinov: dataset sizes (PolyBench/C 4.2.1) and element type.

   Choose a class with -DMINI_DATASET ... -DEXTRALARGE_DATASET (LARGE_DATASET if none), or any size with
   -DN=...; the element type is int, or with
   -DDATA_TYPE_IS_FLOAT or -DDATA_TYPE_IS_DOUBLE a floating one. */
#ifndef PB_NUSSINOV_H
#define PB_NUSSINOV_H

#if !defined(MINI_DATASET) && !defined(SMALL_DATASET) && !defined(MEDIUM_DATASET) && \
    !defined(LARGE_DATASET) && !defined(EXTRALARGE_DATASET)
#define LARGE_DATASET
#endif

#if defined(MINI_DATASET)
#define N_OF_CLASS 60
#elif defined(SMALL_DATASET)
#define N_OF_CLASS 180
#elif defined(MEDIUM_DATASET)
#define N_OF_CLASS 500
#elif defined(LARGE_DATASET)
#define N_OF_CLASS 2500
#elif defined(EXTRALARGE_DATASET)
#define N_OF_CLASS 5500
#endif

#ifndef N
#define N N_OF_CLASS
#endif

#define _PB_N POLYBENCH_LOOP_BOUND(N, n)

#if defined(DATA_TYPE_IS_FLOAT)
#define DATA_TYPE float
#define DATA_PRINTF_MODIFIER "%0.2f "
#elif defined(DATA_TYPE_IS_DOUBLE)
#define DATA_TYPE double
#define DATA_PRINTF_MODIFIER "%0.2lf "
#else
#define DATA_TYPE int
#define DATA_PRINTF_MODIFIER "%d "
#endif

#endif
